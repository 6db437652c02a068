import type {
  Model,
  ModelCapabilities,
  ModelEvent,
  ModelRequest,
  ModelSettings,
  OptionTable,
  Problem,
  Usage,
} from '../protocol/index.ts'
import {
  addUsage,
  aFunction,
  assistantDraft,
  capabilitiesProblem,
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  MillraceError,
  mergeSettings,
  noUsage,
  settingsTable,
  someText,
} from '../protocol/index.ts'
import { answerOf } from './ai-sdk/answer.ts'
import { mergeExtra, toCallOptions } from './ai-sdk/call-options.ts'
import type { Download } from './ai-sdk/media.ts'
import type { AISDKCallOptions, AISDKModel, AISDKTool, SupportedUrls } from './ai-sdk/spec.ts'
import { checkModel } from './ai-sdk/spec.ts'

export type { AISDKCallOptions, AISDKModel, AISDKTool, Download, SupportedUrls }

/** Settings are defaults for every call, and those of a call lie over them. `extra` is by provider: `{ openai: { … } }`. */
export interface AISDKOptions extends ModelSettings {
  /** The model's name as people know it; else the SDK's. */
  readonly id?: string | undefined
  readonly capabilities?: Partial<ModelCapabilities> | undefined
  /** Tools that the provider defines, by the names they go by: `{ web_search: anthropic.tools.webSearch_20250305() }`. */
  readonly tools?: Readonly<Record<string, AISDKTool>> | undefined
  /** Fetches images and files at URLs that the provider does not fetch itself. Without it they are refused. */
  readonly download?: Download | undefined
}

const table: OptionTable<AISDKOptions> = {
  ...settingsTable,
  id: someText,
  capabilities: capabilitiesProblem,
  tools: toolsProblem,
  download: aFunction,
}

function toolsProblem(value: unknown): Problem {
  if (!isObject(value) || Array.isArray(value)) return `must be an object of tools, not ${kindOf(value)}`
  for (const [name, tool] of Object.entries(value))
    if (!isObject(tool) || typeof tool.id !== 'string' || !isObject(tool.args))
      return `has at '${name}' no tool of a provider (with id and args): your own tools go to agent({ tools })`
  return undefined
}

/** Anthropic pauses a turn in which its own tools take long. It has never been seen to do so for ever. */
const maxPauses = 20

/**
 * A model of any AI SDK provider as one of ours. What came with the model's words (signatures, encrypted reasoning, item ids)
 * goes back with them next time. Throws `invalid_input` on anything else, and on bad options.
 */
export function fromAISDK(model: AISDKModel, options: AISDKOptions = {}): Model {
  const version = checkModel(model)
  if (!isObject(options as unknown))
    throw invalidInput('fromAISDK', `the options of fromAISDK() must be an object, not ${kindOf(options)}`)
  checkOptions(options, table, { op: 'fromAISDK', what: 'the option of fromAISDK()' })
  const { id = model.modelId, capabilities, tools = {}, download, ...defaults } = options

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
    const settings = mergeExtra(mergeSettings(defaults, request.settings), defaults, request.settings)
    const toolNames = new Set(request.tools.map(({ name }) => name))
    let { messages } = request
    let before: Usage = noUsage
    for (let pauses = 0; pauses <= maxPauses; pauses++) {
      const call = () =>
        toCallOptions({ ...request, messages, settings }, { model, version, tools, download, signal })
      const draft = assistantDraft()
      for await (const event of answerOf(model, call, { settings, toolNames, signal })) {
        if (event.type === 'paused') {
          before = addUsage(before, event.usage)
        } else if (event.type !== 'done') {
          draft.push(event)
          yield event
        } else {
          return yield pauses === 0 ? event : { ...event, usage: addUsage(before, event.usage ?? {}) }
        }
      }
      const said = draft.message()
      if (said) messages = [...messages, said]
    }
    throw new MillraceError({
      op: 'model.stream',
      code: 'llm_error',
      message: `${model.provider} paused its turn ${maxPauses} times and came to no end`,
    })
  }

  return {
    id,
    provider: model.provider,
    capabilities: {
      tools: true,
      images: true,
      files: true,
      reasoning: true,
      streaming: true,
      structuredOutput: true,
      ...capabilities,
    },
    stream: (request, { signal }) => stream(request, signal),
  }
}
