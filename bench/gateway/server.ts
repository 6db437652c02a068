import { createServer, type RequestListener } from 'node:http'
import type { Wire } from '../contract.ts'
import { answer, configOf, usage } from '../harness/answer.ts'
import { listen } from '../server/serve.ts'
import type { WayName } from './ways.ts'

// The measured gateway, in its own process.

export interface ServerConfig {
  readonly way: WayName
  readonly client: Wire
  readonly provider: Wire
  /** The address of the provider, which ends in `/v1`. */
  readonly baseURL: string
  /** An empty folder, for gateways that store something. */
  readonly folder: string
}

/** How a client reaches the gateway. */
export interface Opened {
  /** Without `/v1`. */
  readonly url: string
  readonly model: string
  readonly headers?: Readonly<Record<string, string>>
}

const modelOf: Readonly<Record<Wire, string>> = {
  chat: 'gpt-4.1-mini',
  responses: 'gpt-4.1-mini',
  messages: 'claude-sonnet-4-5',
}

const config = configOf<ServerConfig>()
const model = modelOf[config.provider]

// Loads only what is used: what the others cost to load must not be measured.
const open: Readonly<Record<WayName, () => Promise<Opened>>> = {
  proxy: async () => serve((await import('./proxy.ts')).proxy(config)),
  portkey: async () => (await import('./peers.ts')).portkey(config, model),
  llms: async () => (await import('./peers.ts')).llms(config, model),
  'ai-sdk': async () => serve((await import('./ai-sdk.ts')).byHand(config, model)),
  memory: async () => ({ url: await (await import('./millrace.ts')).inMemory(config, model), model }),
  sqlite: async () => ({ url: await (await import('./millrace.ts')).durable(config, model), model }),
}

const serve = async (listener: RequestListener) => ({ url: await listen(createServer(listener)), model })

const asked = { open: () => open[config.way](), usage: usage() }
export type ServerAnswers = typeof asked
answer(asked)
