import type { AgentInternals } from '../agent/index.ts'
import type { Followers, NewThread, Quotas, SignalOptions, ThreadLogs, ThreadStore } from '../log/index.ts'
import {
  controlAt,
  entryBytes,
  findLast,
  followThread,
  pause,
  readLog,
  threadNotFound,
} from '../log/index.ts'
import type {
  Entry,
  ExchangePage,
  ExchangePageOptions,
  FollowOptions,
  Heard,
  OptionTable,
  StateOptions,
  Telemetry,
  ThreadEvent,
  ThreadInfo,
} from '../protocol/index.ts'
import {
  checkOptions,
  invalidInput,
  isMillraceError,
  isNewRun,
  isObject,
  isTraceContext,
  kindOf,
  logPosition,
  MillraceError,
  oneOf,
  someText,
  titleOf,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import { decide, readAnswer } from './approve.ts'
import type { ExchangeRecorder } from './exchanges/recorder.ts'
import { labelOf } from './label.ts'
import type { ReadOptions, SayOptions, Thread } from './thread.ts'
import { checkThreadId } from './thread-id.ts'
import { readView } from './view.ts'

/** What the threads of an app share. */
export interface Shared {
  readonly store: ThreadStore
  readonly logs: ThreadLogs
  readonly followers: Followers
  readonly agents: ReadonlyMap<string, AgentInternals>
  readonly wake: (threadId: string) => void
  readonly quotas: Quotas
  /** Is told the name of a quota that refused something. */
  readonly refused: (quota: string) => void
  readonly exchanges: ExchangeRecorder | undefined
  readonly telemetry: Telemetry | undefined
  /** Throws if the app is closed. */
  readonly checkOpen: (op: string) => void
}

/** A page that is asked for is read in steps of `stepSize` entries, until it has so many entries or bytes. */
const pageSize = 1000
const pageBytes = 1024 * 1024
const stepSize = 200

const sendTable: OptionTable<SayOptions> = {
  mode: oneOf('queue', 'steer', 'interrupt'),
  key: (value) => someText(value) || (String(value).length > 256 && 'must be at most 256 characters long'),
  trace: (value) => someText(value) || (!isTraceContext(String(value)) && 'must be a W3C traceparent'),
}
const readTable: OptionTable<ReadOptions> = { after: wholeNumber(0), limit: wholeNumber(1), split: yesOrNo }
const followTable: OptionTable<FollowOptions> = {
  after: logPosition,
  signal: (value) => !(value instanceof AbortSignal) && 'must be an AbortSignal',
  until: (value) => value !== 'idle' && wholeNumber(1)(value) && "must be 'idle' or the number of an input",
}
const stateTable: OptionTable<StateOptions> = {
  bytes: (value) => value !== Number.POSITIVE_INFINITY && wholeNumber(0)(value),
  before: wholeNumber(1),
}
const exchangesTable: OptionTable<ExchangePageOptions> = {
  run: someText,
  round: wholeNumber(1),
  after: wholeNumber(0),
  bytes: wholeNumber(1),
}
const heardTable: OptionTable<Heard> = { run: someText, round: wholeNumber(1), chars: wholeNumber(0) }
const createTable: OptionTable<{ anew?: boolean | undefined }> = { anew: yesOrNo }
const forkTable: OptionTable<{ id?: string; user?: string; caller?: string }> = {
  id: someText,
  user: someText,
  caller: someText,
}

/** `asked` is what the thread becomes if it has to be made. */
export function openThread(asked: NewThread, shared: Shared): Thread {
  const { store, logs, followers, agents, wake, quotas, refused, exchanges, telemetry, checkOpen } = shared
  const { id } = asked
  const log = { store, threadId: id, caller: asked.caller }

  async function info(op: string): Promise<ThreadInfo> {
    checkOpen(op)
    const found = await store.get(id)
    if (!found) throw threadNotFound(op, id)
    const { bytes, caller, ...known } = found
    return known
  }

  /** False if it is there already. */
  function make(): Promise<boolean> {
    return limited(store.create({ ...asked, label: labelOf(asked) }, { quotas }))
  }

  async function create(op: string, anew: boolean): Promise<ThreadInfo> {
    checkOpen(op)
    if (!(await make()) && anew) throw taken(id, op)
    return info(op)
  }

  function agentOf({ agent }: Pick<ThreadInfo, 'agent'>, op: string): AgentInternals {
    const found = agents.get(agent)
    if (found) return found
    const names = [...agents.keys()].join(', ')
    throw invalidInput(
      op,
      `the thread '${id}' belongs to the agent '${agent}', which is not here: there are ${names}`,
    )
  }

  /** How long the words of a round are so far; undefined if there is no such round. */
  async function wordsIn(run: string, round: number): Promise<number | undefined> {
    const { head } = await info('thread.heard')
    const start = await findLast(log, head, ({ event }) => isNewRun(event) && event.runId === run)
    let current = 0
    let length: number | undefined
    for await (const page of start ? readLog(log, { after: start.seq }) : [])
      for (const { event } of page) {
        if (isNewRun(event)) return length
        if (event.type === 'round-start') current = event.round
        if (current !== round) continue
        if (event.type === 'round-start' || event.type === 'round-retract') length = 0
        if (event.type === 'text') length = (length ?? 0) + event.text.length
      }
    return length
  }

  /** The first page of the log up to a number that a title can be made of. */
  async function firstInput(upTo: number): Promise<readonly Entry[]> {
    for await (const page of readLog(log, { after: 0, upTo })) if (titleOf(page) !== undefined) return page
    return []
  }

  /** Counts what a quota refuses. */
  async function limited<Value>(work: Promise<Value>): Promise<Value> {
    try {
      return await work
    } catch (error) {
      if (isMillraceError(error) && error.limit !== undefined) refused(error.limit)
      throw error
    }
  }

  /** With quotas where a caller could write without end: a stop and a decision are always taken. */
  async function signal(key: string | undefined, event: ThreadEvent, options?: SignalOptions) {
    const { entry, repeated } = await store.signal(id, key, event, options)
    if (!repeated) followers.publish(id, [entry])
    wake(id)
    return entry
  }

  async function exchangePage(options: ExchangePageOptions): Promise<ExchangePage> {
    const op = 'thread.exchanges'
    if (!isObject(options as unknown))
      throw invalidInput(op, `exchanges() takes { run, round? }, not ${kindOf(options)}`)
    checkOptions({ ...options, run: options.run ?? null }, exchangesTable, { op, what: 'the option' })
    const known = await info(op)
    if (exchanges) return exchangesOf(known, options, { store, exchanges })
    const message = 'nothing is kept of what goes to models: give millrace() or serve() the option exchanges'
    throw new MillraceError({ op, code: 'not_found', message })
  }

  return {
    id,
    async create(options = {}) {
      const op = 'thread.create'
      checkOptions(options, createTable, { op, what: 'the option' })
      return create(op, options.anew ?? false)
    },
    info: () => info('thread.info'),

    async send(message, options = {}) {
      const op = 'thread.send'
      checkOptions(options, sendTable, { op, what: 'the option' })
      checkOpen(op)
      const { mode = 'queue', key } = options
      // Before anything is waited for: who is calling is known only now. Where a server is itself instrumented, its span stands
      // between the one that the request has named and the run.
      const trace = telemetry && (telemetry.active?.() ?? options.trace)
      let found = await store.get(id)
      const event = {
        type: 'input',
        message: agentOf(found ?? asked, op).readMessage(message, op),
        mode,
        ...(trace !== undefined && { trace }),
      } as const
      // Only now: what cannot be said makes no thread.
      if (!found && !(await make())) found = await store.get(id)
      const label = found?.title === undefined ? labelOf(found ?? asked, [{ event }]) : undefined
      const { seq } = await limited(
        signal(key === undefined ? undefined : `input:${key}`, event, { quotas, label }),
      )
      return seq
    },

    follow(options = {}) {
      const op = 'thread.follow'
      checkOptions(options, followTable, { op, what: 'the option' })
      const { after = 0, signal, until } = options
      checkOpen(op)
      return followThread({
        log,
        after,
        until,
        info: () => info(op),
        follow: (after) => followers.follow(id, after, { signal, caller: asked.caller }),
      })
    },

    async read(options = {}) {
      const op = 'thread.read'
      checkOptions(options, readTable, { op, what: 'the option' })
      checkOpen(op)
      const { after = 0, limit = pageSize, split } = options
      const entries: Entry[] = []
      let bytes = 0
      for (let steps = 0; entries.length < limit && bytes < pageBytes; steps++) {
        await pause(steps)
        const most = Math.min(limit - entries.length, stepSize)
        const page = await store.read(id, { after: entries.at(-1)?.seq ?? after, limit: most, split })
        for (const entry of page) {
          entries.push(entry)
          bytes += entryBytes(entry)
        }
        if (page.length === 0) break
      }
      return entries
    },

    async state(options = {}) {
      const op = 'thread.state'
      checkOptions(options, stateTable, { op, what: 'the option' })
      const { bytes = Number.POSITIVE_INFINITY, before = Number.POSITIVE_INFINITY } = options
      const known = await info(op)
      // What the store says of it may be older or newer, so its head and status are the log's.
      return { ...known, ...(await readView(log, { bytes, before })) }
    },

    exchanges: async (options) => (await exchangePage(options)).exchanges,
    exchangePage,

    async stop(reason = 'stopped by the user') {
      const op = 'thread.stop'
      if (typeof reason !== 'string' || !reason.trim())
        throw invalidInput(op, `the reason must be text, not ${kindOf(reason)}`)
      const { status, head } = await info(op)
      if (status === 'idle') return head
      return (await signal(undefined, { type: 'stop', reason })).seq
    },

    async approve(callId, answer) {
      const op = 'thread.approve'
      checkOpen(op)
      const decision = readAnswer(callId, answer)
      const known = await info(op)
      const agent = agentOf(known, op)
      const { createdAt, head } = known
      const state = await logs.state({ id, createdAt, caller: asked.caller }, head)
      return decide(decision, {
        log,
        state,
        agent,
        write: (event) => signal(`approval:${callId}`, event),
      })
    },

    async heard(heard) {
      const op = 'thread.heard'
      if (!isObject(heard as unknown))
        throw invalidInput(op, `heard() takes { run, round, chars }, not ${kindOf(heard)}`)
      const { run, round, chars } = heard
      const given = { ...heard, run: run ?? null, round: round ?? null, chars: chars ?? null }
      checkOptions(given, heardTable, { op, what: 'the field' })
      const length = await wordsIn(run, round)
      if (length === undefined) {
        const message = `there is no round ${round} of a run '${run}' in the thread '${id}': run is the id of its first run-start`
        throw new MillraceError({ op, code: 'not_found', message })
      }
      if (chars > length)
        throw invalidInput(
          op,
          `the round has ${length} characters of words so far, so ${chars} cannot be heard`,
        )
      return (await signal(undefined, { type: 'heard', run, round, chars })).seq
    },

    async fork(atSeq, options = {}) {
      const op = 'thread.fork'
      checkOptions(options, forkTable, { op, what: 'the option' })
      if (options.id !== undefined) checkThreadId(options.id, op)
      const known = await info(op)
      if (!Number.isInteger(atSeq) || atSeq < 0 || atSeq > known.head)
        throw invalidInput(
          op,
          `a thread is forked at one of its numbers, from 0 to ${known.head}, not ${String(atSeq)}`,
        )
      const { agent, metadata } = known
      const { user = known.user, caller = user } = options
      const state = await controlAt(log, atSeq)
      const forked: NewThread = {
        id: options.id ?? `thread_${crypto.randomUUID()}`,
        agent,
        ...(user !== undefined && { user }),
        ...(caller !== undefined && { caller }),
        ...(metadata && { metadata }),
        forkedFrom: { id, seq: atSeq },
      }
      // What is under way in the thread goes on there, not in its fork.
      const isRunning = state.run && state.run.outcome === undefined
      const end = { type: 'stop', reason: 'the thread was forked here' } as const
      const label = labelOf(forked, known.title === undefined ? [] : await firstInput(atSeq))
      const made = store.fork(
        id,
        atSeq,
        { ...forked, label },
        { events: isRunning ? [end] : [], waiting: state.waiting.length, quotas },
      )
      if (!(await limited(made))) throw taken(forked.id, op)
      const thread = openThread(forked, shared)
      wake(forked.id)
      return thread
    },

    async delete() {
      checkOpen('thread.delete')
      const gone = await store.delete(id)
      followers.deleted(id)
      logs.deleted(id)
      await exchanges?.delete(id)
      return gone
    },
  }
}

/** The runs that a fork took along are kept with the thread in which they ran, if that is still there. */
async function exchangesOf(
  { id, forkedFrom }: ThreadInfo,
  which: ExchangePageOptions,
  { store, exchanges }: { readonly store: ThreadStore; readonly exchanges: ExchangeRecorder },
): Promise<ExchangePage> {
  const own = await exchanges.read(id, which)
  const origin = own.exchanges.length === 0 && forkedFrom ? await store.get(forkedFrom.id) : undefined
  return origin ? exchangesOf(origin, which, { store, exchanges }) : own
}

function taken(id: string, op: string): MillraceError {
  return new MillraceError({ op, code: 'conflict', message: `there is a thread '${id}' already` })
}
