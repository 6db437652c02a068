import type { JsonObject, Model, OptionTable, RunRequest, ToolSpec } from '../protocol/index.ts'
import {
  anObject,
  anything,
  checkOptions,
  closest,
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
  model: someText,
  tools: (value) => !Array.isArray(value) && `must be an array, not ${kindOf(value)}`,
  system: someText,
  settings: settingsProblem,
  toolChoice: toolChoiceProblem,
  output: anObject,
  replace: anObject,
  metadata: anObject,
}

const replaceTable: OptionTable<NonNullable<RunRequest['replace']>> = {
  system: (value) => typeof value !== 'string' && `must be a string, not ${kindOf(value)}`,
  tools: (value) =>
    !(Array.isArray(value) && value.every((name) => typeof name === 'string')) &&
    `must be an array of names of tools, not ${kindOf(value)}`,
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
  'models' | 'choices' | 'tools' | 'system' | 'settings' | 'toolChoice' | 'output'
>

/**
 * Checks what came with a message, as JSON. Throws `invalid_input` before anything is written, so
 * that a run never fails because of it.
 */
export function readRequest<Context>(request: RunRequest, options: Changed<Context>, op: string): RunRequest {
  if (!isObject(request as unknown))
    throw invalidInput(op, `'request' must be an object, not ${kindOf(request)}`)
  checkOptions(request, requestTable, { op, what: 'the field request.' })
  if (request.replace) checkOptions(request.replace, replaceTable, { op, what: 'the field request.replace.' })
  checkNames(options, request, op)
  const model = modelOf(options, request)
  if (request.tools?.length && !model.capabilities.tools)
    throw invalidInput(op, `the model '${model.id}' does not support tools: leave out 'request.tools'`)
  withRequest(options, request, op)
  return toJson(request) as RunRequest
}

/** The model that answers a message with this request. */
export function modelOf(
  { models, choices }: Pick<Changed<never>, 'models' | 'choices'>,
  request: RunRequest | undefined,
): Model {
  const chosen = request?.model === undefined ? undefined : choices.find(({ id }) => id === request.model)
  return chosen ?? (models[0] as Model)
}

function checkNames<Context>({ choices, tools }: Changed<Context>, request: RunRequest, op: string) {
  const ids = choices.map(({ id }) => id)
  if (request.model !== undefined && !ids.includes(request.model))
    throw invalidInput(op, unknownName('model', request.model, ids))
  const names = tools().map(({ name }) => name)
  const unknown = request.replace?.tools?.find((name) => !names.includes(name))
  if (unknown !== undefined) throw invalidInput(op, unknownName('tool', unknown, names))
}

function unknownName(what: 'model' | 'tool', name: string, known: readonly string[]): string {
  const like = closest(name, known)
  const suggestion = like ? ` Did you mean '${like}'?` : ''
  const list = known.length > 0 ? ` It has: ${known.join(', ')}.` : ''
  return `the agent has no ${what} named '${name}'.${suggestion}${list}`
}

/**
 * The options of a round, with what came with the messages that it answers. Models and tools that
 * the agent had when the message was sent, but no longer has, are ignored: its code may have changed
 * before the run was resumed, and toolboxes change their tools.
 */
export function withRequest<Context>(
  options: Changed<Context>,
  request: RunRequest | undefined,
  op = 'thread.run',
): Changed<Context> {
  if (!request) return options
  const { tools: specs = [], system, settings, toolChoice, output, replace = {} } = request
  const added = specs.map((spec) => clientTool<Context>(spec, op))
  const offered = replace.tools && new Set(replace.tools)
  const own = () => (offered ? options.tools().filter(({ name }) => offered.has(name)) : options.tools())
  const tools = () => withMore(own(), added)
  const model = modelOf(options, request)
  checkChoice(toolChoice, tools(), op)
  return {
    ...options,
    models: model === options.models[0] ? options.models : [model, ...fallbacks(options, model)],
    tools,
    system: [replace.system ?? options.system, system].filter(Boolean).join('\n\n') || undefined,
    settings: settings ? mergeSettings(options.settings, settings) : options.settings,
    toolChoice: toolChoice ?? options.toolChoice,
    output: output ? compileSchema({ jsonSchema: output }, { op, what: 'request.output' }) : options.output,
  }
}

function fallbacks({ models }: Pick<Changed<never>, 'models'>, chosen: Model): Model[] {
  return models.slice(1).filter((model) => model !== chosen)
}

function clientTool<Context>(spec: ToolSpec, op: string): Tool<Context> {
  if (!isObject(spec as unknown))
    throw invalidInput(op, `a tool must be { name, description, inputSchema }, not ${kindOf(spec)}`)
  checkOptions(spec, specTable, { op, what: 'the field request.tools[].' })
  const { name, description, inputSchema, strict } = spec
  const input = { jsonSchema: (inputSchema ?? {}) as JsonObject }
  return tool({ name, description, input, ...(strict !== undefined && { strict }) })
}
