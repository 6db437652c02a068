import { join } from 'node:path'
import { agent, type Model } from 'millrace'
import { anthropic } from 'millrace/anthropic'
import { openai, openaiChat } from 'millrace/openai'
import { anthropicApi, exchangeFolder, openaiApi, type ServeOptions, serve } from 'millrace/server'
import { sqliteStore } from 'millrace/sqlite'
import type { Wire } from '../contract.ts'
import type { ServerConfig } from './server.ts'

const models: Readonly<Record<Wire, (baseURL: string, id: string) => Model>> = {
  chat: (baseURL, id) => openaiChat(id, { baseURL, apiKey: 'none' }),
  responses: (baseURL, id) => openai(id, { baseURL, apiKey: 'none' }),
  messages: (baseURL, id) => anthropic(id, { baseURL, apiKey: 'none' }),
}

/** All answers are for one caller, so limits per caller must not apply. */
const most = 2 ** 40

/** What `millrace serve --gateway` serves. */
async function gateway(
  { provider, baseURL }: ServerConfig,
  id: string,
  options: Pick<ServeOptions, 'store' | 'exchanges'>,
): Promise<string> {
  const app = serve({
    agents: { [id]: agent({ name: id, model: models[provider](baseURL, id) }) },
    protocols: [openaiApi(), anthropicApi()],
    clientOptions: ['tools', 'system', 'settings', 'toolChoice', 'output'],
    limits: { streams: most, requestsPerSecond: most, requestsAtOnce: most, bufferBytes: most },
    quotas: { runs: most, waiting: most, storedBytes: most, bytesPerMinute: most, tokensPerMinute: most },
    ...options,
  })
  return (await app.listen()).url
}

export const inMemory = (config: ServerConfig, id: string) => gateway(config, id, { exchanges: false })

/** As on the command line: threads in a SQLite file, requests and answers recorded next to it. */
export const durable = (config: ServerConfig, id: string) =>
  gateway(config, id, {
    store: sqliteStore(join(config.folder, 'threads.db')),
    exchanges: exchangeFolder(join(config.folder, 'threads.db-exchanges')),
  })
