import type { Agent } from '../agent/index.ts'
import { internalsOf, onlookers, telemetryProblem } from '../agent/index.ts'
import type { Budget, Quotas, ThreadStore } from '../log/index.ts'
import { budget, groupCommit, memoryStore, threadFollowers, threadLogs } from '../log/index.ts'
import type {
  AppTelemetry,
  JsonObject,
  MillraceError,
  OptionTable,
  Problem,
  Telemetry,
  ThreadInfo,
  ThreadPage,
  ThreadStatus,
} from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  closest,
  invalidInput,
  isObject,
  kindOf,
  oneOf,
  searchWords,
  someText,
  wholeNumber,
} from '../protocol/index.ts'
import { dispatcher } from './dispatcher.ts'
import { errorListener } from './error-listener.ts'
import { exchangeRecorder } from './exchanges/recorder.ts'
import type { ExchangeStore } from './exchanges/store.ts'
import { openThread } from './open-thread.ts'
import type { Thread } from './thread.ts'
import { checkThreadId } from './thread-id.ts'

export interface AppOptions {
  /** One, or several by name; the first is the one of a thread that names none. */
  readonly agents: Agent<never, unknown> | Readonly<Record<string, Agent<never, unknown>>>
  /** In memory if absent: then nothing survives the process. */
  readonly store?: ThreadStore | undefined
  /** Where the requests to models and their answers are kept, system prompts included. Nowhere if absent. */
  readonly exchanges?: ExchangeStore | undefined
  /** What tools and hooks of a thread's runs are handed. */
  readonly context?: ((thread: ThreadInfo) => unknown) | undefined
  /** How long a thread is left to a process that gives no sign of life. */
  readonly leaseMs?: number | undefined
  /** How often it looks for threads that others left behind. */
  readonly recoverMs?: number | undefined
  /** How long words wait for others, to be written with them; the first after a pause do not. */
  readonly flushMs?: number | undefined
  /** So many processes may be lost over one run before it is given up. */
  readonly maxLosses?: number | undefined
  /** How many threads this process works on at once; those beyond wait. */
  readonly maxRuns?: number | undefined
  /** How many bytes the logs of those threads may have in all; those beyond wait. A larger thread runs alone. */
  readonly maxRunBytes?: number | undefined
  /** How many bytes of threads used lately are kept in memory, so that the next message need not open them. */
  readonly keptBytes?: number | undefined
  /** What each caller may use, over all processes: see `ThreadOptions.caller`. */
  readonly quotas?: Partial<Quotas> | undefined
  /** Looks on at all of it: `otel()` of `@millrace/otel`, `logs()`, or several. */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  /** Told of what goes wrong in the background, such as a store that cannot be written. On stderr if absent. */
  readonly onError?: ((error: MillraceError) => void) | undefined
}

interface ThreadOptions {
  /** The first of the app's if absent. */
  readonly agent?: string | undefined
  /** Whose it is. */
  readonly user?: string | undefined
  /** Whom quotas count it for; `user` if absent. Where that is absent too, nothing is limited. */
  readonly caller?: string | undefined
  readonly metadata?: JsonObject | undefined
}

export interface ThreadsOptions {
  /** 50 if absent, 1000 at most. */
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
  readonly user?: string | undefined
  readonly agent?: string | undefined
  readonly status?: ThreadStatus | undefined
  /**
   * Words that must all occur, in upper or lower case, anywhere in title, id, agent or the values of the metadata. With SQLite a search
   * among 100,000 threads that finds nothing takes about 0.1 s, in steps of a few milliseconds between
   * which everything else goes on.
   */
  readonly search?: string | undefined
}

type QuotaUsage = {
  readonly [Name in keyof Quotas]: { readonly used: number; readonly limit: number }
}

/** Conversations over a store. Works on what is to be done as long as it is open. */
export interface App {
  /** The names of its agents; the first is that of a thread that names none. */
  readonly agents: readonly string[]
  /**
   * What people should know of the tools of an agent (the first if absent) on this machine, such as that commands run without a sandbox.
   * Rejects if they refuse to work on it.
   */
  notices(agent?: string): Promise<readonly string[]>
  /** A handle to a conversation; of a new one, if no id is given. Nothing is read or written yet. The options are for one that is made by it. */
  thread(id?: string, options?: ThreadOptions): Thread
  /** Those changed last come first. */
  threads(options?: ThreadsOptions): Promise<ThreadPage>
  /** What a caller uses of each quota. */
  usage(caller: string): Promise<QuotaUsage>
  /** Counts what a limit of a server refused, for the metrics. */
  refused(limit: string): void
  /** The bytes that this process holds for clients: those of followers that name a caller, and what a server counts beside them. */
  readonly buffer: Budget
  /**
   * Ends well: takes nothing up any more, lets running tools finish for `graceMs` (10 s), leaves what is not done to the next
   * process, and ends all followers. A store that was handed in stays open: whoever opened it closes it.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

const atLeast = (least: number) => (value: unknown) =>
  !(typeof value === 'number' && value >= least && value < 2 ** 31) &&
  `must be a number of milliseconds, at least ${least}`

const appTable: OptionTable<AppOptions> = {
  agents: anObject,
  store: (value) => !(isObject(value) && typeof value.append === 'function') && 'must be a ThreadStore',
  exchanges: (value) =>
    !(isObject(value) && [value.put, value.read, value.delete].every((part) => typeof part === 'function')) &&
    'must be an ExchangeStore, such as memoryExchanges() makes',
  context: aFunction,
  leaseMs: atLeast(50),
  recoverMs: atLeast(10),
  flushMs: atLeast(0),
  maxLosses: wholeNumber(0),
  maxRuns: wholeNumber(1),
  maxRunBytes: wholeNumber(1),
  keptBytes: wholeNumber(0),
  quotas: anObject,
  telemetry: telemetryProblem,
  onError: aFunction,
}

/** It comes with every list and every run, so it is for labels. What is larger is said in the conversation. */
const mostMetadata = 16 * 1024

function metadataProblem(value: unknown): Problem {
  const problem = anObject(value)
  if (problem) return problem
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length
  return bytes > mostMetadata && `must be at most ${mostMetadata} bytes of JSON, not ${bytes}`
}

const threadTable: OptionTable<ThreadOptions> = {
  agent: someText,
  user: someText,
  caller: someText,
  metadata: metadataProblem,
}

const listTable: OptionTable<ThreadsOptions> = {
  limit: (value) => wholeNumber(1)(value) || (Number(value) > 1000 && 'must be at most 1000'),
  cursor: someText,
  user: someText,
  agent: someText,
  status: oneOf('idle', 'queued', 'running', 'waiting'),
  search: someText,
}

const mebibyte = 1024 * 1024

/** For runs, in each process. */
export const defaultRoom = { maxRuns: 1000, maxRunBytes: 512 * mebibyte, keptBytes: 64 * mebibyte }

const defaultQuotas: Quotas = {
  runs: 20,
  waiting: 200,
  storedBytes: 1024 * mebibyte,
  bytesPerMinute: 64 * mebibyte,
  tokensPerMinute: 5_000_000,
}

const quotasTable: OptionTable<Quotas> = {
  runs: wholeNumber(1),
  waiting: wholeNumber(1),
  storedBytes: wholeNumber(1),
  bytesPerMinute: wholeNumber(1),
  tokensPerMinute: wholeNumber(1),
}

/** What a process holds for its clients, unless a server says otherwise. */
const defaultBufferBytes = 256 * mebibyte

const closeTable: OptionTable<{ graceMs?: number | undefined }> = { graceMs: atLeast(0) }

/** Opens an app. Throws `invalid_input` if the options cannot be used, agents included. */
export function millrace(options: AppOptions): App {
  const op = 'millrace'
  if (!isObject(options as unknown))
    throw invalidInput(op, `millrace() takes one object of options, not ${kindOf(options)}`)
  checkOptions({ ...options, agents: options.agents ?? null }, appTable, { op, what: 'the option' })
  const {
    store = memoryStore(),
    context = () => undefined,
    leaseMs = 5000,
    recoverMs = 2000,
    flushMs = 20,
    maxLosses = 5,
    maxRuns = defaultRoom.maxRuns,
    maxRunBytes = defaultRoom.maxRunBytes,
    keptBytes = defaultRoom.keptBytes,
  } = options
  checkOptions(options.quotas ?? {}, quotasTable, { op, what: 'the option quotas.' })
  const quotas = { ...defaultQuotas, ...options.quotas }
  const telemetry = onlookers(options.telemetry)
  let watching: AppTelemetry | undefined
  const listener = errorListener(options.onError)
  const onError = (error: MillraceError) => {
    listener(error)
    watching?.failed(error)
  }
  const agents = readAgents(options.agents, op)
  const [firstAgent] = [...agents.keys()] as [string]
  const exchanges = options.exchanges && exchangeRecorder({ store: options.exchanges, onError })
  const buffer = budget(defaultBufferBytes)
  const followers = threadFollowers(store, buffer)
  const commits = groupCommit({
    store,
    flushMs,
    patienceMs: leaseMs,
    onFlushed: telemetry && ((flush) => watching?.flushed(flush)),
  })
  const logs = threadLogs({ store, followers, commits, keptBytes })
  const work = dispatcher({
    store,
    logs,
    changed: followers.changed,
    agents,
    context,
    exchanges,
    telemetry,
    leaseMs,
    recoverMs,
    maxLosses,
    maxRuns,
    maxRunBytes,
    runsOfCaller: quotas.runs,
    onError,
  })
  watching = telemetry?.open?.({
    followers: () => followers.listeners().count,
    lag: () => followers.listeners().lag,
    running: () => work.counts().running,
    waiting: () => work.counts().waiting,
    buffered: () => buffer.used,
  })
  const refused = (limit: string) => watching?.refused?.(limit)
  let closing: Promise<void> | undefined

  async function close(graceMs: number) {
    await work.close(graceMs)
    await exchanges?.settled()
    followers.close()
    watching?.closed()
    if (!options.store) await store.close()
  }

  const shared = {
    store,
    logs,
    followers,
    agents,
    exchanges,
    telemetry,
    wake: work.wake,
    quotas,
    refused,
    checkOpen(op: string) {
      if (closing) throw invalidInput(op, 'the app is closed')
    },
  }

  return {
    agents: [...agents.keys()],
    buffer,
    refused,
    async usage(caller) {
      const { runs, waiting, storedBytes, bytesThisMinute, tokensThisMinute } = await store.usage(caller)
      return {
        runs: { used: runs, limit: quotas.runs },
        waiting: { used: waiting, limit: quotas.waiting },
        storedBytes: { used: storedBytes, limit: quotas.storedBytes },
        bytesPerMinute: { used: bytesThisMinute, limit: quotas.bytesPerMinute },
        tokensPerMinute: { used: tokensThisMinute, limit: quotas.tokensPerMinute },
      }
    },
    async notices(agent = firstAgent) {
      const found = agents.get(agent)
      if (!found) throw unknownAgent(agent, [...agents.keys()], 'app.notices')
      return found.notices()
    },
    thread(id = `thread_${crypto.randomUUID()}`, options = {}) {
      const op = 'app.thread'
      checkThreadId(id, op)
      checkOptions(options, threadTable, { op, what: 'the option' })
      const { agent = firstAgent, user, caller = user, metadata } = options
      if (!agents.has(agent)) throw unknownAgent(agent, [...agents.keys()], op)
      return openThread(
        {
          id,
          agent,
          ...(user !== undefined && { user }),
          ...(caller !== undefined && { caller }),
          ...(metadata && { metadata }),
        },
        shared,
      )
    },
    async threads(options = {}) {
      const op = 'app.threads'
      checkOptions(options, listTable, { op, what: 'the option' })
      shared.checkOpen(op)
      const search = options.search === undefined ? undefined : searchWords(options.search)
      return store.list({ ...options, search, limit: options.limit ?? 50 })
    },
    close(options = {}) {
      checkOptions(options, closeTable, { op: 'app.close', what: 'the option' })
      closing ??= close(options.graceMs ?? 10_000)
      return closing
    },
  }
}

function readAgents(given: AppOptions['agents'], op: string) {
  const isOne = typeof (given as { stream?: unknown }).stream === 'function'
  const named = isOne ? { [(given as Agent).name]: given } : (given as Record<string, Agent>)
  const agents = new Map(Object.entries(named).map(([name, agent]) => [name, internalsOf(agent, name)]))
  if (agents.size === 0) throw invalidInput(op, 'agents is empty: an app needs at least one')
  return agents
}

function unknownAgent(name: string, names: readonly string[], op: string): MillraceError {
  const like = closest(name, names)
  const suggestion = like ? ` Did you mean '${like}'?` : ''
  return invalidInput(op, `there is no agent named '${name}' here.${suggestion} Agents: ${names.join(', ')}.`)
}
