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
import { streamAnswer } from './ai-sdk/answer.ts'
import { mergeExtra, toCallOptions } from './ai-sdk/call-options.ts'
import type { Download } from './ai-sdk/media.ts'
import type { AISDKCallOptions, AISDKModel, AISDKTool, SupportedUrls } from './ai-sdk/spec.ts'
import { checkModel } from './ai-sdk/spec.ts'

export type { AISDKCallOptions, AISDKModel, AISDKTool, Download, SupportedUrls }

/**
 * Settings are defaults for every request; the settings of a request override them. `extra` is
 * keyed by provider: `{ openai: { … } }`.
 */
export interface AISDKOptions extends ModelSettings {
  /** The model's display name; the SDK's `modelId` by default. */
  readonly id?: string | undefined
  readonly capabilities?: Partial<ModelCapabilities> | undefined
  /**
   * Tools that the provider defines, by name:
   * `{ web_search: anthropic.tools.webSearch_20250305() }`.
   */
  readonly tools?: Readonly<Record<string, AISDKTool>> | undefined
  /**
   * Fetches images and files at URLs that the provider does not fetch itself. Without it, such URLs
   * are rejected.
   */
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
      return `must hold provider tools (with id and args), but '${name}' is not one: pass your own tools to agent({ tools })`
  return undefined
}

/** Anthropic pauses a turn when its own tools take long. Guards against endless pauses. */
const maxPauses = 20

/**
 * Wraps a model of any AI SDK provider. Provider data that comes with the answer (signatures,
 * encrypted reasoning, item ids) is sent back with it in later requests. Throws `invalid_input` if
 * `model` is not an AI SDK model, or on bad options.
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
    let priorUsage: Usage = noUsage
    for (let pauses = 0; pauses <= maxPauses; pauses++) {
      const call = () =>
        toCallOptions({ ...request, messages, settings }, { model, version, tools, download, signal })
      const draft = assistantDraft()
      for await (const event of streamAnswer(model, call, { settings, toolNames, signal })) {
        if (event.type === 'paused') {
          priorUsage = addUsage(priorUsage, event.usage)
        } else if (event.type !== 'done') {
          draft.push(event)
          yield event
        } else {
          return yield pauses === 0 ? event : { ...event, usage: addUsage(priorUsage, event.usage ?? {}) }
        }
      }
      const message = draft.message()
      if (message) messages = [...messages, message]
    }
    throw new MillraceError({
      op: 'model.stream',
      code: 'llm_error',
      message: `${model.provider} paused its turn ${maxPauses} times without finishing`,
    })
  }

  return {
    id,
    provider: model.provider,
    address: addressOf(model),
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

/**
 * Where the requests go. The specification has no field for it, but the SDK's own models keep it in
 * their configuration, as `baseURL` or `url({ path, modelId })`.
 */
function addressOf(model: AISDKModel & { readonly config?: unknown }): string | undefined {
  const { modelId, config } = model
  if (!isObject(config)) return undefined
  try {
    const url = typeof config.url === 'function' ? config.url({ path: '', modelId }) : config.baseURL
    return typeof url === 'string' ? new URL(url).origin : undefined
  } catch {
    return undefined
  }
}
