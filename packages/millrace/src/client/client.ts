import type {
  AgentDetails,
  AgentInfo,
  ExportedThread,
  SpendingOptions,
  SpendingRow,
  ThreadPage,
} from '../protocol/index.ts'
import { invalidInput, isMillraceError, nameOf, someText } from '../protocol/index.ts'
import { http as httpTo } from './http.ts'
import { messageJson } from './message.ts'
import { createThread } from './new-thread.ts'
import type {
  ClientOptions,
  CreateThreadOptions,
  ImportThreadOptions,
  ListThreadsOptions,
} from './options.ts'
import { checkClientOptions, checkFor, threadId } from './options.ts'
import type { RemoteThread } from './remote-thread.ts'
import { remoteThread } from './remote-thread.ts'
import { withDefaults } from './retry.ts'
import { transport as transportTo } from './transport.ts'

export type LimitsUsage = Readonly<Record<string, { readonly used: number; readonly limit: number }>>

/**
 * The threads of one server. Connections are only open while a thread is followed, so there is no
 * `close`.
 */
export interface Client {
  /** An existing thread. No request is sent. */
  thread(id: string): RemoteThread
  create(options?: CreateThreadOptions): Promise<RemoteThread>
  /** Lists the threads that this client may see, page by page. */
  threads(options?: ListThreadsOptions): Promise<ThreadPage>
  /** Lists the agents. The first one is the default for new threads. */
  agents(): Promise<readonly AgentInfo[]>
  /**
   * How an agent is set up: its prompt, tools, models, rules and limits. Rejects with `auth` if this
   * client may not inspect.
   */
  agent(name: string): Promise<AgentDetails>
  /**
   * Creates a thread from what `exportThread()` returned. Runs that had not ended are stopped, and
   * approvals that were remembered are not.
   */
  import(exported: ExportedThread, options?: ImportThreadOptions): Promise<RemoteThread>
  /**
   * How much of its quotas and limits the caller uses, by option name. Empty if there are no
   * limits.
   */
  usage(): Promise<LimitsUsage>
  /**
   * What was spent, in the order of the keys in `by`; without `by`, one row with the total. Only the
   * caller's own spending, unless the caller may see and inspect the threads of others.
   */
  spending(options?: SpendingOptions): Promise<readonly SpendingRow[]>
  /** Whether the server supports speech output and speech input. */
  voice(): Promise<{ readonly speak: boolean; readonly listen: boolean }>
}

/**
 * A client for the server at `url`, which may be relative to the page. Throws `invalid_input` if it
 * is invalid.
 */
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
      if (problem) throw invalidInput('client.thread', `the thread id ${problem}`)
      return remoteThread(id, remote)
    },

    async create(createOptions = {}) {
      checkFor('create', createOptions)
      const { id, messages, ...rest } = createOptions
      const body = { ...rest, messages: messages?.map(messageJson) }
      return remoteThread(
        await createThread(http, { op: 'client.create', path: '/threads', body, id }),
        remote,
      )
    },

    async import(exported, importOptions = {}) {
      const op = 'client.import'
      checkFor('import', importOptions)
      const { id, agent } = importOptions
      const body = { ...exported, agent }
      return remoteThread(await createThread(http, { op, path: '/import', body, id }), remote)
    },

    async threads(listOptions = {}) {
      checkFor('threads', listOptions)
      // A URL cannot contain lone surrogates.
      const query = { ...listOptions, search: listOptions.search?.toWellFormed() }
      return (await http.request({
        op: 'client.threads',
        path: '/threads',
        query,
        repeatable: true,
      })) as ThreadPage
    },

    async agents() {
      const found = await http.request({ op: 'client.agents', path: '/agents', repeatable: true })
      return (found as { agents: readonly AgentInfo[] }).agents
    },

    async agent(name) {
      const problem = someText(name)
      if (problem) throw invalidInput('client.agent', `the agent name ${problem}`)
      const path = `/agents/${encodeURIComponent(name)}`
      return (await http.request({ op: 'client.agent', path, repeatable: true })) as AgentDetails
    },

    async usage() {
      const answer = await http.request({ op: 'client.usage', path: '/usage', repeatable: true })
      return (answer as { usage: LimitsUsage }).usage
    },

    async spending(spendingOptions = {}) {
      checkFor('spending', spendingOptions)
      const query = { ...spendingOptions, by: spendingOptions.by?.join() }
      const answer = await http.request({ op: 'client.spending', path: '/spending', query, repeatable: true })
      return (answer as { spending: readonly SpendingRow[] }).spending
    },

    async voice() {
      const response = http.request({ op: 'client.voice', path: '/voice', repeatable: true })
      const { speak, listen } = (await response.catch(emptyIfNotFound)) as {
        speak?: unknown
        listen?: unknown
      }
      return { speak: speak === true, listen: listen === true }
    },
  }
}

/** For older servers, which do not have this route. */
function emptyIfNotFound(error: unknown): object {
  if (isMillraceError(error) && error.status === 404) return {}
  throw error
}

function baseOf(url: string): string {
  const page = globalThis.location?.href
  const parsed = URL.canParse(url, page) ? new URL(url, page) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.search || parsed.hash)
    throw invalidInput('client', `the url must look like 'http://127.0.0.1:7070', not ${nameOf(url)}`)
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}
