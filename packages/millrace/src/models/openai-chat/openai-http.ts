import type { ModelCapabilities } from '../../protocol/index.ts'
import type { HttpModel, HttpModelOptions } from '../wire/http-model.ts'
import { baseUrlOf, httpModel } from '../wire/http-model.ts'
import type { Dialect } from './dialects.ts'
import { dialectOf } from './dialects.ts'

/** What OpenAI's two APIs share: the address, its API key, and how the key is sent. */
export function openaiHttp(
  { op, id, path }: { readonly op: string; readonly id: string; readonly path: string },
  options: HttpModelOptions,
  capabilities: (dialect: Dialect) => Pick<ModelCapabilities, 'reasoning' | 'structuredOutput'>,
): { readonly http: HttpModel; readonly dialect: Dialect } {
  const endpoint = { op, name: 'OPENAI_BASE_URL', defaultURL: 'https://api.openai.com/v1' }
  const { baseURL, fromEnvironment } = baseUrlOf(options, endpoint)
  const dialect = dialectOf(baseURL)
  const http = httpModel(
    {
      op,
      id,
      path,
      provider: dialect.provider,
      baseURL,
      // If the address comes from the environment, the key next to it belongs to it.
      keyName: dialect.keyName ?? (fromEnvironment ? 'OPENAI_API_KEY' : undefined),
      needsKey: dialect.needsKey,
      keyHeaders: (key) =>
        dialect.keyHeader === 'api-key' ? { 'api-key': key } : { authorization: `Bearer ${key}` },
      capabilities: { tools: true, images: true, files: true, streaming: true, ...capabilities(dialect) },
    },
    options,
  )
  return { http, dialect }
}
