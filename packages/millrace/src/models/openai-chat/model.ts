import type { JsonValue, Model } from '../../protocol/index.ts'
import { oneOf } from '../../protocol/index.ts'
import type { HttpModelOptions } from '../wire/http-model.ts'
import { checkHttpOptions } from '../wire/http-model.ts'
import { streamEvents } from '../wire/stream.ts'
import { openaiHttp } from './openai-http.ts'
import { chatReader } from './reader.ts'
import type { SendReasoning } from './request.ts'
import { chatBody, chatMessageCache } from './request.ts'

/** Further fields of Chat Completions; fields that are not listed are sent too. */
export interface ChatExtra {
  readonly frequency_penalty?: number
  readonly presence_penalty?: number
  readonly logit_bias?: Readonly<Record<string, number>>
  readonly logprobs?: boolean
  readonly top_logprobs?: number
  readonly metadata?: Readonly<Record<string, string>>
  readonly prompt_cache_key?: string
  readonly service_tier?: 'auto' | 'default' | 'flex' | 'scale' | 'priority' | 'fast'
  readonly store?: boolean
  readonly user?: string
  readonly verbosity?: 'low' | 'medium' | 'high'
  readonly [field: string]: JsonValue | undefined
}

export interface OpenAIChatOptions extends HttpModelOptions<ChatExtra> {
  /**
   * Which reasoning is sent back to the provider that generated it. By default that of messages
   * with calls, as DeepSeek and Moonshot require; older reasoning models reject any.
   */
  readonly sendReasoning?: SendReasoning | undefined
}

/**
 * A model over OpenAI's Chat Completions API, at OpenAI or any compatible `baseURL`: Azure, Ollama,
 * vLLM, LM Studio, llama.cpp, Groq, DeepSeek, Mistral, xAI, Alibaba, Moonshot, OpenRouter, Gemini's
 * compatible endpoint, … Throws `invalid_input` on bad options.
 */
export function openaiChat(model: string, options: OpenAIChatOptions = {}): Model {
  const op = 'openaiChat'
  checkHttpOptions(options, op, { sendReasoning: oneOf('calls', 'always', 'never') })
  const { http, dialect } = openaiHttp(
    { op, id: model, path: '/chat/completions' },
    options as HttpModelOptions,
    ({ structuredOutput }) => ({ reasoning: true, structuredOutput }),
  )
  const { provider, id, address, capabilities } = http
  const { sendReasoning = 'calls' } = options
  const convert = chatMessageCache({ provider, dialect, sendReasoning })
  return {
    id,
    address,
    provider,
    capabilities,
    stream(request, { signal, wire }) {
      const settings = http.settings(request.settings)
      const tools = new Set(request.tools.map(({ name }) => name))
      return streamEvents({
        async prepare() {
          const body = chatBody(request, { model, dialect, settings, convert })
          return http.call(body, { settings, signal, wire })
        },
        open: (events, { secrets }) => chatReader(events, { provider, tools, secrets }),
      })
    },
  }
}
