import type { JsonObject, JsonValue, Model, Usage } from '../../protocol/index.ts'
import { addUsage, MillraceError, noUsage } from '../../protocol/index.ts'
import type { HttpModelOptions } from '../wire/http-model.ts'
import { baseUrlOf, checkHttpOptions, httpModel } from '../wire/http-model.ts'
import { streamEvents } from '../wire/stream.ts'
import type { CacheTime } from './cache-marks.ts'
import { anthropicMessageCache } from './messages.ts'
import type { AnthropicReader } from './reader.ts'
import { anthropicReader } from './reader.ts'
import { anthropicBody, containerField } from './request.ts'
import { traitsOf } from './traits.ts'

/**
 * Further fields of the Messages API; fields that are not listed are sent too. `tools` are added to
 * the agent's own.
 */
export interface AnthropicExtra {
  readonly container?: JsonValue
  readonly context_management?: JsonObject
  readonly inference_geo?: string
  readonly mcp_servers?: readonly JsonObject[]
  readonly metadata?: { readonly user_id?: string }
  readonly output_config?: JsonObject
  readonly service_tier?: 'auto' | 'standard_only'
  readonly thinking?: JsonObject
  /** Tools that the provider runs: `{ type: 'web_search_20250305', name: 'web_search' }`. */
  readonly tools?: readonly JsonObject[]
  readonly top_k?: number
  readonly [field: string]: JsonValue | undefined
}

export interface AnthropicOptions extends HttpModelOptions<AnthropicExtra> {
  /** How long the prompt cache is kept, `5m` by default. `false` turns caching off. */
  readonly cache?: CacheTime | false | undefined
}

/** How often a provider may pause for its own tools in one round. */
const maxPauses = 20

/**
 * A Claude model over Anthropic's Messages API, or any model of a compatible server. Throws
 * `invalid_input` on bad options.
 */
export function anthropic(model: string, options: AnthropicOptions = {}): Model {
  const op = 'anthropic'
  checkHttpOptions(options, op, {
    cache: (value) => value !== false && value !== '5m' && value !== '1h' && "must be '5m', '1h' or false",
  })
  const endpoint = { op, name: 'ANTHROPIC_BASE_URL', defaultURL: 'https://api.anthropic.com' }
  const { baseURL, fromEnvironment } = baseUrlOf(options, endpoint)
  const { pathname, hostname } = new URL(baseURL)
  // The key from the environment is sent only to Anthropic, or to the address in the environment.
  const usesEnvKey = fromEnvironment || /(^|\.)anthropic\.com$/.test(hostname)
  const traits = traitsOf(typeof model === 'string' ? model : '')
  const http = httpModel(
    {
      op,
      id: model,
      provider: 'anthropic',
      baseURL,
      // The official SDK's base URLs have no version; others do.
      path: /\/v1\/?$/.test(pathname) ? '/messages' : '/v1/messages',
      keyName: usesEnvKey ? 'ANTHROPIC_API_KEY' : undefined,
      needsKey: usesEnvKey,
      keyHeaders: (key) => ({ 'x-api-key': key }),
      headers: { 'anthropic-version': '2023-06-01' },
      capabilities: {
        tools: true,
        images: true,
        files: true,
        reasoning: traits.thinking !== 'none',
        streaming: true,
        structuredOutput: traits.structuredOutput,
      },
    },
    options as HttpModelOptions,
  )
  const { provider, id, address, capabilities } = http
  const cache = options.cache === false ? undefined : (options.cache ?? '5m')
  const convert = anthropicMessageCache(provider)
  return {
    id,
    address,
    provider,
    capabilities,
    stream(request, { signal, wire }) {
      const settings = http.settings(request.settings)
      let reader: AnthropicReader | undefined
      let priorUsage: Usage = noUsage
      let pauses = 0
      let container: string | undefined
      /** The content generated before the latest pause. */
      const priorContent: JsonObject[] = []
      return streamEvents({
        async prepare() {
          const body = anthropicBody(request, { model, convert, traits, settings, cache })
          const { messages, ...rest } = body
          const continuation = priorContent.length > 0 ? [{ role: 'assistant', content: priorContent }] : []
          return http.call(
            {
              ...rest,
              ...(container !== undefined && { container: containerField(container, settings.extra) }),
              messages: [...(messages as JsonValue[]), ...continuation],
            },
            { settings, signal, wire },
          )
        },
        open(events, { secrets }) {
          reader = anthropicReader(events, { provider, secrets, priorUsage })
          return reader
        },
        needsAnother() {
          if (!reader?.paused) return false
          priorContent.push(...reader.paused.content)
          container = reader.paused.container ?? container
          priorUsage = addUsage(priorUsage, reader.paused.usage)
          if (++pauses > maxPauses)
            throw new MillraceError({
              op: 'model.stream',
              code: 'llm_error',
              message: `${provider} paused more than ${maxPauses} times for its own tools without finishing`,
            })
          return true
        },
      })
    },
  }
}
