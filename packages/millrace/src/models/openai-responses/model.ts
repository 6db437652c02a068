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
import { customTools, responsesBody } from './request.ts'

/** What Responses knows besides; anything else may stand here too. `tools` are added to the agent's own. */
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
    /** Efforts that only some models know; the others are the setting `reasoning`. */
    readonly effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
    readonly summary?: 'auto' | 'concise' | 'detailed'
  }
  readonly safety_identifier?: string
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | 'fast' | 'ultrafast'
  /** Keeps the answers with the provider; by default nothing is kept there. */
  readonly store?: boolean
  readonly text?: { readonly verbosity?: 'low' | 'medium' | 'high' }
  /** Tools that the provider runs, or that it declares in its own way: `{ type: 'web_search' }`, `{ type: 'shell' }`. */
  readonly tools?: readonly JsonObject[]
  readonly truncation?: 'auto' | 'disabled'
  readonly [field: string]: JsonValue | undefined
}

export interface OpenAIOptions extends HttpModelOptions<ResponsesExtra> {
  /**
   * Lets the provider generate without a connection, so that a run that loses its connection or its process continues the same
   * generation and does not pay for it twice. Off by default: it needs `store: true`, which keeps every answer with the provider,
   * and the first word takes longer.
   */
  readonly background?: boolean | undefined
}

/** A model over OpenAI's Responses API, at OpenAI or wherever `baseURL` leads. Throws `invalid_input` on bad options. */
export function openai(model: string, options: OpenAIOptions = {}): Model {
  const op = 'openai'
  checkHttpOptions(options, op, { background: yesOrNo })
  if (options.background && options.extra?.store === false)
    throw invalidInput(
      op,
      'background: true needs answers to be stored with the provider: remove store: false from extra, or background',
    )
  const { http } = openaiHttp({ op, id: model, path: '/responses' }, options as HttpModelOptions, () => ({
    reasoning: reasons(model),
    structuredOutput: true,
  }))
  const { provider, id, address, capabilities } = http
  const { background = false } = options

  function generate(request: ModelRequest, { signal, wire }: StreamOptions, from?: Checkpoint): ModelStream {
    const settings = http.settings(request.settings)
    return streamEvents({
      async prepare() {
        const body = responsesBody(request, {
          model,
          provider,
          settings,
          reasons: capabilities.reasoning,
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

/** By its name: GPT-3.5 and GPT-4 do not, nor do the `chat` models; the o-series and everything since GPT-5 does. */
function reasons(model: string): boolean {
  const name = String(model).replace(/^.*\//, '')
  return /^(o\d|gpt-([5-9]|\d\d)|gpt-oss|codex|computer-use)/.test(name) && !/-chat(-|$)/.test(name)
}
