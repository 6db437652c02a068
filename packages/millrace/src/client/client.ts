import type { ThreadPage } from '../protocol/index.ts'
import { invalidInput, isMillraceError, nameOf } from '../protocol/index.ts'
import { http as httpTo } from './http.ts'
import { makeThread } from './new-thread.ts'
import type { ClientOptions, CreateThreadOptions, ListThreadsOptions } from './options.ts'
import { checkClientOptions, checkFor, threadId } from './options.ts'
import { withDefaults } from './patience.ts'
import type { RemoteThread } from './remote-thread.ts'
import { remoteThread } from './remote-thread.ts'
import { transport as transportTo } from './transport.ts'

export interface AgentInfo {
  readonly name: string
  /** What to know of its tools where they run, for those who may inspect; absent if that is nothing. */
  readonly notices?: readonly string[]
}

export type LimitsUsage = Readonly<Record<string, { readonly used: number; readonly limit: number }>>

/** The threads of one server. Nothing is open unless something is being followed, so there is nothing to close. */
export interface Client {
  /** A thread that is there; nothing is sent. */
  thread(id: string): RemoteThread
  create(options?: CreateThreadOptions): Promise<RemoteThread>
  /** Those that the server lets this client see, page by page. */
  threads(options?: ListThreadsOptions): Promise<ThreadPage>
  /** Whom a thread can be made for; the first is that of a thread that names none. */
  agents(): Promise<readonly AgentInfo[]>
  /** What this client's caller uses of its quotas and limits, by their names. Empty where nothing is limited. */
  usage(): Promise<LimitsUsage>
  /** Whether the server's threads can be heard, and hear. */
  voice(): Promise<{ readonly speak: boolean; readonly listen: boolean }>
}

/** Threads of the server at `url`, which may be relative to the page. Throws `invalid_input` if it cannot be used. */
export function client(url: string, options: ClientOptions = {}): Client {
  checkClientOptions(options)
  const {
    token,
    headers,
    fetch = (...request) => globalThis.fetch(...request),
    WebSocket = globalThis.WebSocket,
    transport = headers ? 'sse' : 'auto',
    retry = {},
    timeoutMs = 30_000,
    openMs = 10_000,
    silenceMs = 45_000,
    onRetry,
    onOpen,
  } = options
  const base = baseOf(url)
  const http = httpTo({
    base,
    token,
    headers,
    fetch,
    retry: withDefaults(retry),
    timeoutMs,
    openMs,
    onRetry,
  })
  const sockets = { url: base.replace(/^http/, 'ws'), WebSocket, headers, openMs, silenceMs }
  const remote = {
    http,
    sockets,
    transport: transportTo({ http, sockets, transport }),
    retry,
    onRetry,
    onOpen,
  }

  return {
    thread(id) {
      const problem = threadId(id)
      if (problem) throw invalidInput('client.thread', `the id of a thread ${problem}`)
      return remoteThread(id, remote)
    },

    async create(createOptions = {}) {
      checkFor('create', createOptions)
      const { id, ...body } = createOptions
      return remoteThread(await makeThread(http, { op: 'client.create', path: '/threads', body, id }), remote)
    },

    async threads(listOptions = {}) {
      checkFor('threads', listOptions)
      // An address has no lone surrogates.
      const query = { ...listOptions, search: listOptions.search?.toWellFormed() }
      return (await http.ask({
        op: 'client.threads',
        path: '/threads',
        query,
        repeatable: true,
      })) as ThreadPage
    },

    async agents() {
      const found = await http.ask({ op: 'client.agents', path: '/agents', repeatable: true })
      return (found as { agents: readonly AgentInfo[] }).agents
    },

    async usage() {
      const answer = await http.ask({ op: 'client.usage', path: '/usage', repeatable: true })
      return (answer as { usage: LimitsUsage }).usage
    },

    async voice() {
      const asked = http.ask({ op: 'client.voice', path: '/voice', repeatable: true })
      const { speak, listen } = (await asked.catch(noneIfNotFound)) as { speak?: unknown; listen?: unknown }
      return { speak: speak === true, listen: listen === true }
    },
  }
}

/** A server without a voice, or one from before there were any. */
function noneIfNotFound(error: unknown): object {
  if (isMillraceError(error) && error.status === 404) return {}
  throw error
}

function baseOf(url: string): string {
  const page = globalThis.location?.href
  const parsed = URL.canParse(url, page) ? new URL(url, page) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.search || parsed.hash)
    throw invalidInput('client', `the address must be like 'http://127.0.0.1:7070', not ${nameOf(url)}`)
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}
