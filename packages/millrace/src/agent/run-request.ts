import type { JsonObject, OptionTable, RunRequest, ToolSpec } from '../protocol/index.ts'
import {
  anObject,
  anything,
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  mergeSettings,
  settingsProblem,
  someText,
  toJson,
} from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { compileSchema, tool } from '../tools/index.ts'
import { toolChoiceProblem } from './option-checks.ts'
import type { LoopOptions } from './options.ts'
import { checkChoice, withMore } from './options.ts'

const requestTable: OptionTable<RunRequest> = {
  tools: (value) => !Array.isArray(value) && `must be an array, not ${kindOf(value)}`,
  system: someText,
  settings: settingsProblem,
  toolChoice: toolChoiceProblem,
  output: anObject,
  metadata: anObject,
}

const specTable: OptionTable<ToolSpec> = {
  name: anything,
  description: anything,
  inputSchema: anObject,
  strict: anything,
}

/** The options that a request changes. */
type Changed<Context> = Pick<
  LoopOptions<Context>,
  'models' | 'tools' | 'system' | 'settings' | 'toolChoice' | 'output'
>

/**
 * Checks what came with a message, as JSON. Throws `invalid_input` before anything is written, so
 * that a run never fails because of it.
 */
export function readRequest<Context>(request: RunRequest, options: Changed<Context>, op: string): RunRequest {
  if (!isObject(request as unknown))
    throw invalidInput(op, `'request' must be an object, not ${kindOf(request)}`)
  checkOptions(request, requestTable, { op, what: 'the field request.' })
  const model = options.models[0]
  if (request.tools?.length && !model?.capabilities.tools)
    throw invalidInput(op, `the model '${model?.id}' does not support tools: leave out 'request.tools'`)
  withRequest(options, request, op)
  return toJson(request) as RunRequest
}

/** The options of a round, with what came with the messages that it answers. */
export function withRequest<Context>(
  options: Changed<Context>,
  request: RunRequest | undefined,
  op = 'thread.run',
): Changed<Context> {
  if (!request) return options
  const { tools: specs = [], system, settings, toolChoice, output } = request
  const added = specs.map((spec) => clientTool<Context>(spec, op))
  const tools = () => withMore(options.tools(), added)
  checkChoice(toolChoice, tools(), op)
  return {
    ...options,
    tools,
    system: [options.system, system].filter(Boolean).join('\n\n') || undefined,
    settings: settings ? mergeSettings(options.settings, settings) : options.settings,
    toolChoice: toolChoice ?? options.toolChoice,
    output: output ? compileSchema({ jsonSchema: output }, { op, what: 'request.output' }) : options.output,
  }
}

function clientTool<Context>(spec: ToolSpec, op: string): Tool<Context> {
  if (!isObject(spec as unknown))
    throw invalidInput(op, `a tool must be { name, description, inputSchema }, not ${kindOf(spec)}`)
  checkOptions(spec, specTable, { op, what: 'the field request.tools[].' })
  const { name, description, inputSchema, strict } = spec
  const input = { jsonSchema: (inputSchema ?? {}) as JsonObject }
  return tool({ name, description, input, ...(strict !== undefined && { strict }) })
}
