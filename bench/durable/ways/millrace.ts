import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { WayConfig } from '../ways.ts'

/** All runs are of one caller, so limits per caller must not apply. */
const most = 2 ** 40

/**
 * `serve()` over SQLite with its defaults, as in production, where requests are not recorded. The
 * packages are those of this checkout, or of the one at `from`.
 */
export async function open({ provider, folder, from }: WayConfig): Promise<string> {
  const require = createRequire(from === undefined ? import.meta.url : join(from, 'bench/durable/way.ts'))
  const load = (name: string) => import(pathToFileURL(require.resolve(name)).href)
  const { agent }: typeof import('millrace') = await load('millrace')
  const { openaiChat }: typeof import('millrace/openai') = await load('millrace/openai')
  const { serve }: typeof import('millrace/server') = await load('millrace/server')
  const { sqliteStore }: typeof import('millrace/sqlite') = await load('millrace/sqlite')
  const app = serve({
    agents: { talk: agent({ model: openaiChat('gpt-4.1-mini', { baseURL: provider, apiKey: 'none' }) }) },
    store: sqliteStore(`${folder}/millrace.db`),
    exchanges: false,
    maxRuns: 10_000,
    maxRunBytes: most,
    limits: {
      streams: most,
      requestsPerSecond: most,
      requestsAtOnce: most,
      responseBytes: most,
      bufferBytes: most,
    },
    quotas: { runs: most, waiting: most, storedBytes: most, bytesPerMinute: most, tokensPerMinute: most },
  })
  return (await app.listen()).url
}
