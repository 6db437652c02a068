import { createServer, type RequestListener } from 'node:http'
import { answer, configOf, usage } from '../harness/answer.ts'
import { listen } from '../server/serve.ts'
import type { WayName } from './ways.ts'

// The measured server, in its own process: what `useChat` posts comes in, a UI message stream goes
// out.

export interface ServerConfig {
  readonly way: WayName
  /** Where the Chat Completions provider is. */
  readonly baseURL: string
}

const { way, baseURL } = configOf<ServerConfig>()

// Loads only what is used: what the others cost to load must not be measured.
const open: Readonly<Record<WayName, () => Promise<string>>> = {
  floor: async () => serve((await import('./floor.ts')).byHand(baseURL)),
  'ai-sdk': async () => serve(await routeHandler((await import('./ai-sdk.ts')).respond(baseURL))),
  'ai-sdk-pipe': async () => serve((await import('./ai-sdk.ts')).pipe(baseURL)),
  response: async () => serve(await routeHandler((await import('./millrace.ts')).respond(baseURL))),
  protocol: async () => (await import('./millrace.ts')).served(baseURL),
}

const serve = (listener: RequestListener) => listen(createServer(listener))

/** A route handler of web standards, as Hono runs it on Node. */
async function routeHandler(handle: (request: Request) => Promise<Response>): Promise<RequestListener> {
  const { getRequestListener } = await import('@hono/node-server')
  return getRequestListener(handle)
}

const asked = { open: () => open[way](), usage: usage() }
export type ServerAnswers = typeof asked
answer(asked)
