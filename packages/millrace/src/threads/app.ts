import type { Agent, Budget, RunExtension } from '../agent/index.ts'
import { checkBudget, combineTelemetry, internalsOf, telemetryProblem } from '../agent/index.ts'
import type { Budget as Buffer, KeyedEntry, Priority, Quotas, ThreadStore } from '../log/index.ts'
import { budget, groupCommit, memoryStore, threadFollowers, threadLogs } from '../log/index.ts'
import type {
  AgentDetails,
  AppTelemetry,
  JsonObject,
  MillraceError,
  OptionTable,
  SpendingOptions,
  SpendingRow,
  Telemetry,
  ThreadFilters,
  ThreadInfo,
  ThreadPage,
} from '../protocol/index.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  closest,
  errorListener,
  invalidInput,
  isObject,
  kindOf,
  metadataProblem,
  oneOf,
  outcomes,
  searchWords,
  someText,
  toNanos,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import { withDeadlines } from './deadlines.ts'
import type { Dispatcher } from './dispatcher.ts'
import { localDispatcher } from './dispatcher.ts'
import { exchangeRecorder } from './exchanges/recorder.ts'
import type { ExchangeStore } from './exchanges/store.ts'
import { openThread } from './open-thread.ts'
import { deleteThreadsOf, startRetention } from './retention.ts'
import { runPool } from './run-pool.ts'
import type { Thread } from './thread.ts'
import { checkThreadId } from './thread-id.ts'

export interface AppOptions {
  /** One agent, or several by name. A thread that names none uses the first. */
  readonly agents: Agent<never, unknown> | Readonly<Record<string, Agent<never, unknown>>>
  /** Where threads are stored. Default: in memory, where nothing survives the process. */
  readonly store?: ThreadStore | undefined
  /**
   * Where model requests and responses are stored, including system prompts. Default: not stored.
   */
  readonly exchanges?: ExchangeStore | undefined
  /** Returns the context passed to the tools and hooks of a thread's runs. */
  readonly context?: ((thread: ThreadInfo) => unknown) | undefined
  /** How long a thread stays with a process that does not respond. */
  readonly leaseMs?: number | undefined
  /** Interval of scans for threads left behind by other processes. */
  readonly recoverMs?: number | undefined
  /**
   * How long text waits for more, to be written in one commit. The first text after a pause does
   * not wait.
   */
  readonly flushMs?: number | undefined
  /** How many processes may be lost over one run before it fails. */
  readonly maxLosses?: number | undefined
  /** How many threads this process works on at a time; others wait. */
  readonly maxRuns?: number | undefined
  /** Limit for the total log bytes of these threads; others wait. A larger thread runs alone. */
  readonly maxRunBytes?: number | undefined
  /**
   * How many bytes of recently used threads are cached, so that the next message need not load
   * them.
   */
  readonly cacheBytes?: number | undefined
  /**
   * How threads that have something to do reach a process that works on them. Default: each process
   * works on those it writes to, and scans the store for others.
   */
  readonly dispatcher?: Dispatcher | undefined
  /** False if this process only serves threads, and others run their agents. Default: true. */
  readonly works?: boolean | undefined
  /** How long a call of the store may take before it counts as failed. */
  readonly storeTimeoutMs?: number | undefined
  /** How many runs each agent may have at a time, across all processes. Default: no limit. */
  readonly maxAgentRuns?: Readonly<Record<string, number>> | undefined
  /**
   * Threads that have not changed for this many days are deleted, with everything in them, also
   * those that wait for an approval. Default: threads are kept until they are deleted.
   */
  readonly keepDays?: number | undefined
  /** What each caller may use, across all processes: see `ThreadOptions.caller`. */
  readonly quotas?: Partial<Quotas> | undefined
  /** Replaces limits of the budget of each agent. */
  readonly budget?: Budget | undefined
  /** Telemetry for the app: `otel()` from `@millrace/otel`, `logs()`, or several. */
  readonly telemetry?: Telemetry | readonly Telemetry[] | undefined
  /**
   * Called with errors in the background, such as a store that cannot be written. Default: writes
   * to stderr.
   */
  readonly onError?: ((error: MillraceError) => void) | undefined
}

interface ThreadOptions {
  /** Default: the first agent of the app. */
  readonly agent?: string | undefined
  /** The user who owns the thread. */
  readonly user?: string | undefined
  /**
   * The caller whose quotas it counts toward. Default: `user`. Without either, nothing is limited.
   */
  readonly caller?: string | undefined
  readonly metadata?: JsonObject | undefined
  /** A `batch` runs when no `interactive` thread waits. Default: `interactive`. */
  readonly priority?: Priority | undefined
}

export interface ThreadsOptions extends ThreadFilters {
  /** Default: 50. At most 1000. */
  readonly limit?: number | undefined
  /** The `next` of the previous page. */
  readonly cursor?: string | undefined
  readonly user?: string | undefined
}

type QuotaUsage = {
  readonly [Name in keyof Quotas]: { readonly used: number; readonly limit: number }
}

/** An app: agents, and threads in a store. It works on runnable threads as long as it is open. */
export interface App {
  /** The names of its agents. A thread that names none uses the first. */
  readonly agents: readonly string[]
  /**
   * What users should know about the tools of an agent (default: the first) on this machine, such
   * as that commands run without a sandbox. Rejects if the tools cannot work on this machine.
   */
  notices(agent?: string): Promise<readonly string[]>
  /** How an agent (default: the first) is set up, with its current tools. */
  describe(agent?: string): AgentDetails
  /**
   * Returns a handle to a conversation; without an id, to a new one. Does not read or write
   * anything yet. The options apply when the handle creates the thread.
   */
  thread(id?: string, options?: ThreadOptions): Thread
  /** Lists threads, the most recently changed first. */
  threads(options?: ThreadsOptions): Promise<ThreadPage>
  /**
   * Deletes all threads of a user, also those that are running or are created meanwhile. Returns how
   * many. If it rejects, some may be left: repeat it.
   */
  deleteThreads(options: { readonly user: string }): Promise<number>
  /** Returns what a caller uses of each quota. */
  usage(caller: string): Promise<QuotaUsage>
  /**
   * Returns what was spent in all threads, deleted ones included, in the order of the keys in `by`.
   * Takes the same time however long the threads are.
   */
  spending(options?: SpendingOptions): Promise<readonly SpendingRow[]>
  /**
   * Takes no more threads in this process until `resume()`; runs in progress go on. For a
   * deployment that waits for them to end.
   */
  pause(): void
  resume(): void
  /** Counts a rejection by a limit of the server, for metrics. */
  rejected(limit: string): void
  /**
   * Counts the bytes that this process holds for clients: those of followers with a caller, and
   * what the server adds.
   */
  readonly buffer: Buffer
  /**
   * Shuts down gracefully: starts nothing new, lets running tools finish for `graceMs` (10 s),
   * leaves unfinished work to the next process, and ends all followers. A store that was passed in
   * stays open; its creator closes it.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

/** Shared by all copies of this package, so that a server of one copy works with an app of another. */
const appInternals = Symbol.for('millrace.appInternals')

interface AppInternals {
  findInputs(key: string, limit: number): Promise<readonly KeyedEntry[]>
  extendRuns(extension: (thread: ThreadInfo) => RunExtension | undefined): void
}

const internalsOfApp = (app: App) => (app as App & { readonly [appInternals]: AppInternals })[appInternals]

/**
 * The inputs that were sent with an idempotency key, in the threads of all users: those created last
 * come first. For the server, which hides the threads that a caller may not see.
 */
export function findInputs(app: App, key: string, limit: number): Promise<readonly KeyedEntry[]> {
  return internalsOfApp(app).findInputs(key, limit)
}

/** Adds something to all runs that start or are resumed in this process from now on. */
export function extendRuns(app: App, extension: (thread: ThreadInfo) => RunExtension | undefined): void {
  internalsOfApp(app).extendRuns(extension)
}

const atLeast = (min: number) => (value: unknown) =>
  !(typeof value === 'number' && value >= min && value < 2 ** 31) &&
  `must be a number of milliseconds, at least ${min}`

const appTable: OptionTable<AppOptions> = {
  agents: anObject,
  store: (value) => !(isObject(value) && typeof value.append === 'function') && 'must be a ThreadStore',
  exchanges: (value) =>
    !(isObject(value) && [value.put, value.read, value.delete].every((part) => typeof part === 'function')) &&
    'must be an ExchangeStore, such as memoryExchanges()',
  context: aFunction,
  leaseMs: atLeast(50),
  recoverMs: atLeast(10),
  flushMs: atLeast(0),
  maxLosses: wholeNumber(0),
  maxRuns: wholeNumber(1),
  maxRunBytes: wholeNumber(1),
  cacheBytes: wholeNumber(0),
  dispatcher: (value) => !(isObject(value) && typeof value.wake === 'function') && 'must be a Dispatcher',
  works: yesOrNo,
  storeTimeoutMs: atLeast(50),
  maxAgentRuns: anObject,
  keepDays: (value) =>
    !(typeof value === 'number' && value > 0 && Number.isFinite(value)) &&
    'must be a positive number of days',
  quotas: anObject,
  budget: anObject,
  telemetry: telemetryProblem,
  onError: aFunction,
}

const threadTable: OptionTable<ThreadOptions> = {
  agent: someText,
  user: someText,
  caller: someText,
  metadata: metadataProblem,
  priority: oneOf('interactive', 'batch'),
}

const aTime = (value: unknown) =>
  !(typeof value === 'number' && Number.isFinite(value)) && 'must be milliseconds since the Unix epoch'

const listTable: OptionTable<ThreadsOptions> = {
  limit: (value) => wholeNumber(1)(value) || (Number(value) > 1000 && 'must be at most 1000'),
  cursor: someText,
  user: someText,
  agent: someText,
  status: oneOf('idle', 'queued', 'running', 'waiting'),
  search: someText,
  outcome: oneOf(...outcomes),
  error: someText,
  tool: someText,
  minUsd: (value) => !(typeof value === 'number' && value >= 0) && 'must be a number of US dollars',
  since: aTime,
  until: aTime,
}

const deleteTable: OptionTable<{ user: string }> = { user: someText }

const mebibyte = 1024 * 1024

/** Limits for runs, per process. */
export const defaultRunLimits = { maxRuns: 1000, maxRunBytes: 512 * mebibyte, cacheBytes: 64 * mebibyte }

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

/** How much a process holds for its clients, unless a server sets it. */
const defaultBufferBytes = 256 * mebibyte

const closeTable: OptionTable<{ graceMs?: number | undefined }> = { graceMs: atLeast(0) }

/** Opens an app. Throws `invalid_input` if the options cannot be used, agents included. */
export function millrace(options: AppOptions): App {
  const op = 'millrace'
  if (!isObject(options as unknown))
    throw invalidInput(op, `millrace() takes one object of options, not ${kindOf(options)}`)
  checkOptions({ ...options, agents: options.agents ?? null }, appTable, { op, what: 'the option' })
  const {
    context = () => undefined,
    leaseMs = 5000,
    recoverMs = 2000,
    flushMs = 20,
    maxLosses = 5,
    maxRuns = defaultRunLimits.maxRuns,
    maxRunBytes = defaultRunLimits.maxRunBytes,
    cacheBytes = defaultRunLimits.cacheBytes,
    dispatcher = localDispatcher(),
    works = true,
    storeTimeoutMs = 10_000,
    maxAgentRuns = {},
  } = options
  const ownStore = options.store ? undefined : memoryStore()
  const store = withDeadlines(options.store ?? (ownStore as ThreadStore), storeTimeoutMs)
  checkOptions(options.quotas ?? {}, quotasTable, { op, what: 'the option quotas.' })
  if (options.budget) checkBudget(options.budget, { op, what: 'the option' })
  const quotas = { ...defaultQuotas, ...options.quotas }
  const telemetry = combineTelemetry(options.telemetry)
  let appTelemetry: AppTelemetry | undefined
  const listener = errorListener(options.onError)
  const onError = (error: MillraceError) => {
    listener(error)
    appTelemetry?.failed(error)
  }
  const agents = readAgents(options.agents, op)
  const names = [...agents.keys()]
  const [firstAgent] = names as [string]
  checkOptions(maxAgentRuns, Object.fromEntries(names.map((name) => [name, wholeNumber(1)])), {
    op,
    what: 'the option maxAgentRuns.',
  })
  const exchanges = options.exchanges && exchangeRecorder({ store: options.exchanges, onError })
  const buffer = budget(defaultBufferBytes)
  const followers = threadFollowers(store, buffer)
  const commits = groupCommit({
    store,
    flushMs,
    retryForMs: leaseMs,
    onFlushed: telemetry && ((flush) => appTelemetry?.flushed(flush)),
  })
  const logs = threadLogs({ store, followers, commits, cacheBytes })
  let extension: Parameters<AppInternals['extendRuns']>[0] = () => undefined
  const pool = runPool({
    store,
    logs,
    dispatcher,
    works,
    changed: followers.changed,
    agents,
    context,
    extension: (thread) => extension(thread),
    exchanges,
    budget: options.budget,
    telemetry,
    leaseMs,
    recoverMs,
    maxLosses,
    maxRuns,
    maxRunBytes,
    limits: { perCaller: quotas.runs, perAgent: maxAgentRuns },
    onError,
  })
  appTelemetry = telemetry?.openApp?.({
    followers: () => followers.stats().count,
    lag: () => followers.stats().lag,
    running: () => pool.counts().running,
    waiting: () => pool.counts().waiting,
    oldest: pool.oldestMs,
    buffered: () => buffer.used,
  })
  const rejected = (limit: string) => appTelemetry?.rejected?.(limit)
  let closing: Promise<void> | undefined

  async function close(graceMs: number) {
    const retained = retention?.close()
    await pool.close(graceMs)
    await retained
    await exchanges?.settled()
    followers.close()
    appTelemetry?.closed()
    await ownStore?.close()
  }

  function agentNamed(name: string, op: string) {
    const found = agents.get(name)
    if (!found) throw unknownAgent(name, names, op)
    return found
  }

  const shared = {
    store,
    logs,
    followers,
    agents,
    exchanges,
    telemetry,
    wake: pool.wake,
    quotas,
    rejected,
    checkOpen(op: string) {
      if (closing) throw invalidInput(op, 'the app is closed')
    },
  }

  /** Any agent will do: deleting does not use it. */
  const deleteThread = (id: string) => openThread({ id, agent: firstAgent }, shared).delete()
  const { keepDays } = options
  const retention =
    keepDays === undefined ? undefined : startRetention({ store, keepDays, deleteThread, onError })

  const app: App & { readonly [appInternals]: AppInternals } = {
    agents: names,
    buffer,
    rejected,
    pause: pool.pause,
    resume: pool.resume,
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
    async spending(options = {}) {
      const op = 'app.spending'
      shared.checkOpen(op)
      return store.spending(options)
    },
    async notices(agent = firstAgent) {
      return agentNamed(agent, 'app.notices').notices()
    },
    // An agent may have another name in the app than its own.
    describe: (agent = firstAgent) => ({ ...agentNamed(agent, 'app.describe').describe(), name: agent }),
    thread(id = `thread_${crypto.randomUUID()}`, options = {}) {
      const op = 'app.thread'
      checkThreadId(id, op)
      checkOptions(options, threadTable, { op, what: 'the option' })
      const { agent = firstAgent, user, caller = user, metadata, priority } = options
      if (!agents.has(agent)) throw unknownAgent(agent, names, op)
      return openThread(
        {
          id,
          agent,
          ...(user !== undefined && { user }),
          ...(caller !== undefined && { caller }),
          ...(metadata && { metadata }),
          ...(priority && { priority }),
        },
        shared,
      )
    },
    async threads(options = {}) {
      const op = 'app.threads'
      checkOptions(options, listTable, { op, what: 'the option' })
      shared.checkOpen(op)
      const { minUsd, limit = 50, ...filters } = options
      const search = options.search === undefined ? undefined : searchWords(options.search)
      const minNanos = minUsd === undefined ? undefined : toNanos(minUsd)
      return store.list({ ...filters, search, minNanos, limit })
    },
    async deleteThreads(options) {
      const op = 'app.deleteThreads'
      if (!isObject(options as unknown))
        throw invalidInput(op, `deleteThreads() takes { user }, not ${kindOf(options)}`)
      const { user = null } = options
      checkOptions({ ...options, user }, deleteTable, { op, what: 'the option' })
      shared.checkOpen(op)
      return deleteThreadsOf(options.user, { store, deleteThread })
    },
    [appInternals]: {
      async findInputs(key, limit) {
        shared.checkOpen('app.findInputs')
        return store.findKey(`input:${key}`, limit)
      },
      extendRuns(added) {
        extension = added
      },
    } satisfies AppInternals,
    close(options = {}) {
      checkOptions(options, closeTable, { op: 'app.close', what: 'the option' })
      closing ??= close(options.graceMs ?? 10_000)
      return closing
    },
  }
  return app
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
