import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Agent } from '../agent/index.ts'
import { storyteller } from '../protocols/protocols.test-kit.ts'
import type { App, AppOptions, Thread } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import type { ServedApp, ServerOptions } from './index.ts'
import { serveApp } from './serve-app.ts'

export interface Served {
  readonly app: ServedApp
  /** Sends a request without a port. */
  ask(method: string, path: string, more?: AskOptions): Promise<Response>
  /** How many followers of threads the server has. */
  followers(): number
}

interface AskOptions {
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly as?: string | undefined
}

/** An app with a server, closed at the end of the test. */
export function served(
  agents: Agent | Record<string, Agent> = storyteller(),
  options: ServerOptions = {},
  more: Omit<AppOptions, 'agents'> = {},
): Served {
  const counted = countFollowers(millrace({ agents, flushMs: 0, onError: () => {}, ...more }))
  const app = serveApp(counted.app, options)
  onTestFinished(() => app.close({ graceMs: 0 }))
  return {
    app,
    ask: (method, path, more) => app.fetch(requestFor(`http://localhost${path}`, method, more)),
    followers: counted.followers,
  }
}

function requestFor(url: string, method: string, { body, headers = {}, as }: AskOptions = {}): Request {
  return new Request(url, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(as !== undefined && { authorization: `Bearer ${as}` }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
}

/** The token is the name of the user. */
export function byToken(request: Request) {
  const [, user] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
  return user === undefined ? null : { user }
}

/** Counts followers that have started and have neither ended nor been canceled. */
function countFollowers(app: App): { app: App; followers: () => number } {
  let count = 0
  const counting = (thread: Thread): Thread => ({
    ...thread,
    follow(options) {
      const entries = thread.follow(options)
      count++
      let open = true
      const leave = () => {
        if (open) count--
        open = false
      }
      options?.signal?.addEventListener('abort', leave)
      return {
        ...entries,
        async next() {
          const result = await entries.next()
          if (result.done) leave()
          return result
        },
        async return() {
          leave()
          return (await entries.return?.()) ?? { done: true, value: undefined }
        },
        [Symbol.asyncIterator]() {
          return this
        },
      }
    },
  })
  return {
    app: { ...app, thread: (id, options) => counting(app.thread(id, options)) },
    followers: () => count,
  }
}

/** The response to a WebSocket upgrade that is rejected. */
export function rejectedUpgrade(
  url: string,
  { headers, protocols = [] }: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url.replace(/^http/, 'ws'), protocols, headers && { headers })
    ws.on('open', () => {
      ws.terminate()
      reject(new Error('the upgrade was accepted'))
    })
    ws.on('error', () => {})
    ws.on('unexpected-response', (_, response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body, headers: response.headers }))
    })
  })
}
