import type {
  JsonObject,
  JsonValue,
  Model,
  ModelRequest,
  ModelStream,
  StreamOptions,
} from '../../protocol/index.ts'
import { invalidInput, yesOrNo } from '../../protocol/index.ts'
import { openaiHttp } from '../openai-chat/openai-http.ts'
import type { HttpModelOptions } from '../wire/http-model.ts'
import { checkHttpOptions } from '../wire/http-model.ts'
import { streamEvents } from '../wire/stream.ts'
import { cancelResponse, checkpointOf, resumeCall } from './background.ts'
import type { Checkpoint } from './reader.ts'
import { responsesReader } from './reader.ts'
import { customTools, responsesBody, responsesMessageCache } from './request.ts'

/**
 * Further fields of the Responses API; fields that are not listed are sent too. `tools` are added
 * to the agent's own.
 */
export interface ResponsesExtra {
  readonly include?: readonly (
    | 'code_interpreter_call.outputs'
    | 'computer_call_output.output.image_url'
    | 'file_search_call.results'
    | 'message.input_image.image_url'
    | 'message.output_text.logprobs'
    | 'reasoning.encrypted_content'
    | 'web_search_call.action.sources'
    | 'web_search_call.results'
  )[]
  readonly max_tool_calls?: number
  readonly metadata?: Readonly<Record<string, string>>
  readonly prompt_cache_key?: string
  readonly prompt_cache_retention?: 'in_memory' | '24h'
  readonly reasoning?: {
    /** For efforts that only some models support. Otherwise use the setting `reasoning`. */
    readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
    readonly summary?: 'auto' | 'concise' | 'detailed'
  }
  readonly safety_identifier?: string
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | 'fast' | 'ultrafast'
  /** Stores answers at the provider. Off by default. */
  readonly store?: boolean
  readonly text?: { readonly verbosity?: 'low' | 'medium' | 'high' }
  /** Tools that the provider runs or defines: `{ type: 'web_search' }`, `{ type: 'shell' }`. */
  readonly tools?: readonly JsonObject[]
  readonly truncation?: 'auto' | 'disabled'
  readonly [field: string]: JsonValue | undefined
}

export interface OpenAIOptions extends HttpModelOptions<ResponsesExtra> {
  /**
   * Generates in the background at the provider, so that a run that loses its connection or its
   * process continues the same generation instead of paying for it twice. Off by default: it needs
   * `store: true`, which stores every answer at the provider, and the first token takes longer.
   */
  readonly background?: boolean | undefined
}

/**
 * A model over OpenAI's Responses API, at OpenAI or any compatible `baseURL`. Throws
 * `invalid_input` on bad options.
 */
export function openai(model: string, options: OpenAIOptions = {}): Model {
  const op = 'openai'
  checkHttpOptions(options, op, { background: yesOrNo })
  if (options.background && options.extra?.store === false)
    throw invalidInput(
      op,
      'background: true stores answers at the provider: remove either background or store: false',
    )
  const { http } = openaiHttp({ op, id: model, path: '/responses' }, options as HttpModelOptions, () => ({
    reasoning: isReasoningModel(model),
    structuredOutput: true,
  }))
  const { provider, id, address, capabilities } = http
  const { background = false } = options
  const convert = responsesMessageCache({ provider, canReason: capabilities.reasoning })

  function generate(request: ModelRequest, { signal, wire }: StreamOptions, from?: Checkpoint): ModelStream {
    const settings = http.settings(request.settings)
    return streamEvents({
      async prepare() {
        const body = responsesBody(request, {
          model,
          settings,
          convert,
          canReason: capabilities.reasoning,
          background,
        })
        const call = await http.call(body, { settings, signal, wire })
        return from ? resumeCall(call, from, body.include) : call
      },
      open: (events, { secrets }) =>
        responsesReader(events, { provider, secrets, custom: customTools(settings.extra), from }),
    })
  }

  return {
    id,
    address,
    provider,
    capabilities,
    stream: generate,
    ...(background && {
      background: {
        resume: (checkpoint, request, streamOptions) =>
          generate(request, streamOptions, checkpointOf(checkpoint)),
        async cancel(checkpoint, settings) {
          const from = checkpointOf(checkpoint)
          if (from) await cancelResponse(http, from, settings)
        },
      },
    }),
  }
}

/** By name: the o-series and everything since GPT-5, but not the `chat` models. */
function isReasoningModel(model: string): boolean {
  const name = String(model).replace(/^.*\//, '')
  return /^(o\d|gpt-([5-9]|\d\d)|gpt-oss|codex|computer-use)/.test(name) && !/-chat(-|$)/.test(name)
}
