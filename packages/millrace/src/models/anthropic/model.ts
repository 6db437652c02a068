import type { JsonObject, JsonValue, Model, Usage } from '../../protocol/index.ts'
import { addUsage, MillraceError, noUsage } from '../../protocol/index.ts'
import type { HttpModelOptions } from '../wire/http-model.ts'
import { baseUrlOf, checkHttpOptions, httpModel } from '../wire/http-model.ts'
import { streamEvents } from '../wire/stream.ts'
import type { CacheTime } from './cache-marks.ts'
import type { AnthropicReader } from './reader.ts'
import { anthropicReader } from './reader.ts'
import { anthropicBody, containerField } from './request.ts'
import { traitsOf } from './traits.ts'

/** What Messages knows besides; anything else may stand here too. `tools` are added to the agent's own. */
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
  /** How long the prompt cache is kept, `5m` by default; `false` sets no marks. */
  readonly cache?: CacheTime | false | undefined
}

/** How often a provider may pause for its own tools within one generation. */
const mostPauses = 20

/** A Claude model over Anthropic's Messages, or whoever else speaks it. Throws `invalid_input` on bad options. */
export function anthropic(model: string, options: AnthropicOptions = {}): Model {
  const op = 'anthropic'
  checkHttpOptions(options, op, {
    cache: (value) => value !== false && value !== '5m' && value !== '1h' && "must be '5m', '1h' or false",
  })
  const place = { op, name: 'ANTHROPIC_BASE_URL', usual: 'https://api.anthropic.com' }
  const { baseURL, fromEnvironment } = baseUrlOf(options, place)
  const { pathname, hostname } = new URL(baseURL)
  // The key of the environment goes nowhere else, unless the environment says where.
  const atHome = fromEnvironment || /(^|\.)anthropic\.com$/.test(hostname)
  const traits = traitsOf(typeof model === 'string' ? model : '')
  const http = httpModel(
    {
      op,
      id: model,
      provider: 'anthropic',
      baseURL,
      // The official SDK's addresses leave the version out, others' have it.
      path: /\/v1\/?$/.test(pathname) ? '/messages' : '/v1/messages',
      keyName: atHome ? 'ANTHROPIC_API_KEY' : undefined,
      needsKey: atHome,
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
  return {
    id,
    address,
    provider,
    capabilities,
    stream(request, { signal, wire }) {
      const settings = http.settings(request.settings)
      let reader: AnthropicReader | undefined
      let spent: Usage = noUsage
      let pauses = 0
      let container: string | undefined
      /** What was said before the latest pause. */
      const said: JsonObject[] = []
      return streamEvents({
        async prepare() {
          const body = anthropicBody(request, { model, provider, traits, settings, cache })
          const { messages, ...rest } = body
          const goesOn = said.length > 0 ? [{ role: 'assistant', content: said }] : []
          return http.call(
            {
              ...rest,
              ...(container !== undefined && { container: containerField(container, settings.extra) }),
              messages: [...(messages as JsonValue[]), ...goesOn],
            },
            { settings, signal, wire },
          )
        },
        open(events, { secrets }) {
          reader = anthropicReader(events, { provider, secrets, spent })
          return reader
        },
        goesOn() {
          if (!reader?.paused) return false
          said.push(...reader.paused.content)
          container = reader.paused.container ?? container
          spent = addUsage(spent, reader.paused.usage)
          if (++pauses > mostPauses)
            throw new MillraceError({
              op: 'model.stream',
              code: 'llm_error',
              message: `${provider} paused more than ${mostPauses} times for its own tools without coming to an end`,
            })
          return true
        },
      })
    },
  }
}
