import type { AgentInternals } from '../agent/index.ts'
import type { Followers, NewThread, Quotas, SignalOptions, ThreadLogs, ThreadStore } from '../log/index.ts'
import {
  controlAt,
  entryBytes,
  findLast,
  followThread,
  metadataAt,
  pause,
  readLog,
  threadNotFound,
} from '../log/index.ts'
import type {
  ApprovalEvent,
  Entry,
  ExchangePage,
  ExchangePageOptions,
  FollowOptions,
  JsonObject,
  OptionTable,
  Playback,
  RespondOptions,
  RewindOptions,
  RunRequest,
  StateOptions,
  Telemetry,
  ThreadEvent,
  ThreadInfo,
} from '../protocol/index.ts'
import {
  anObject,
  anything,
  checkOptions,
  foldMetadata,
  invalidInput,
  isMillraceError,
  isNewRun,
  isObject,
  isTraceContext,
  kindOf,
  logPosition,
  MillraceError,
  metadataEvent,
  nameOf,
  oneOf,
  readPatch,
  someText,
  titleFrom,
  titleOf,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import { decide, isKnownCall, openRequest, readAnswer } from './approve.ts'
import type { WokenThread } from './dispatcher.ts'
import type { ExchangeRecorder } from './exchanges/recorder.ts'
import { historyLog } from './history.ts'
import { readExported } from './import-thread.ts'
import { labelOf } from './label.ts'
import { rewindEvent } from './rewind.ts'
import type { ReadOptions, Thread, ThreadCreateOptions, ThreadFeedback, ThreadSendOptions } from './thread.ts'
import { checkThreadId } from './thread-id.ts'
import { readView } from './view.ts'

/** What all threads of an app share. */
export interface Shared {
  readonly store: ThreadStore
  readonly logs: ThreadLogs
  readonly followers: Followers
  readonly agents: ReadonlyMap<string, AgentInternals>
  readonly wake: (thread: WokenThread) => void
  readonly quotas: Quotas
  /** Called with the name of a quota that rejected something. */
  readonly rejected: (quota: string) => void
  readonly exchanges: ExchangeRecorder | undefined
  readonly telemetry: Telemetry | undefined
  /** Throws if the app is closed. */
  readonly checkOpen: (op: string) => void
}

/** A page is read in steps of `stepSize` entries, until it has this many entries or bytes. */
const pageSize = 1000
const pageBytes = 1024 * 1024
const stepSize = 200

const keyProblem = (value: unknown) =>
  someText(value) || (String(value).length > 256 && 'must be at most 256 characters long')

const sendTable: OptionTable<ThreadSendOptions> = {
  mode: oneOf('queue', 'steer', 'interrupt'),
  key: keyProblem,
  request: anything,
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
const playbackTable: OptionTable<Playback> = { run: someText, round: wholeNumber(1), chars: wholeNumber(0) }
const createTable: OptionTable<ThreadCreateOptions> = {
  failIfExists: yesOrNo,
  messages: anything,
  keys: (value) =>
    !(Array.isArray(value) && value.every((key) => key === undefined || !keyProblem(key))) &&
    'must be an array of keys, at most 256 characters each',
  request: anything,
  exported: anObject,
}
const maxNoteChars = 4000
const feedbackTable: OptionTable<ThreadFeedback> = {
  rating: oneOf('up', 'down'),
  note: (value) =>
    someText(value) ||
    (String(value).length > maxNoteChars && `must be at most ${maxNoteChars} characters long`),
  user: someText,
}
const respondTable: OptionTable<RespondOptions> = { isError: yesOrNo, request: anything }
const rewindTable: OptionTable<RewindOptions> = { key: keyProblem, request: anything }
const forkTable: OptionTable<{ id?: string; user?: string; caller?: string }> = {
  id: someText,
  user: someText,
  caller: someText,
}

/** `requested` describes the thread if it has to be created. */
export function openThread(requested: NewThread, shared: Shared): Thread {
  const { store, logs, followers, agents, wake, quotas, rejected, exchanges, telemetry, checkOpen } = shared
  const { id } = requested
  const log = { store, threadId: id, caller: requested.caller }

  async function info(op: string): Promise<ThreadInfo> {
    checkOpen(op)
    const found = await store.get(id)
    if (!found) throw threadNotFound(op, id)
    const { bytes, caller, priority, ...known } = found
    return known
  }

  /** Returns false if the thread exists. */
  function createThread({ entries, keys, title }: Beginning = {}): Promise<boolean> {
    // What an imported log has changed is in the log.
    const metadata = foldMetadata(entries?.map(({ event }) => event) ?? [])?.current ?? requested.metadata
    const thread = { ...requested, ...(metadata && { metadata }) }
    const label = labelOf(thread, entries, title)
    return countRejections(store.create({ ...thread, label }, { entries, keys, quotas }))
  }

  /** The log of a thread that begins with a history. */
  async function readHistory({ messages, keys, request, exported }: ThreadCreateOptions, op: string) {
    if (messages && exported) throw invalidInput(op, "pass either 'messages' or 'exported', not both")
    if (exported) return readExported(exported, op)
    if (!messages) return undefined
    const agent = agentOf(requested, op)
    const checked = request && agent.readRequest(request, op)
    return historyLog({
      agent: requested.agent,
      messages: agent.readHistory(messages, op, checked),
      keys,
      request: checked,
    })
  }

  function agentOf({ agent }: Pick<ThreadInfo, 'agent'>, op: string): AgentInternals {
    const found = agents.get(agent)
    if (found) return found
    const names = [...agents.keys()].join(', ')
    throw invalidInput(
      op,
      `thread '${id}' belongs to agent '${agent}', which this app does not have. Its agents: ${names}`,
    )
  }

  /** The first `run-start` of a run. */
  async function startOf(run: string, op: string): Promise<Entry | undefined> {
    const { head } = await info(op)
    return findLast(log, head, ({ event }) => isNewRun(event) && event.runId === run)
  }

  /** The length of a round's text so far; undefined if there is no such round. */
  async function textLength(run: string, round: number): Promise<number | undefined> {
    const start = await startOf(run, 'thread.reportPlayback')
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

  /** The first page of the log, up to a number, that has an input to make a title from. */
  async function firstInput(upTo: number): Promise<readonly Entry[]> {
    for await (const page of readLog(log, { after: 0, upTo })) if (titleOf(page) !== undefined) return page
    return []
  }

  /** Counts rejections by quotas. */
  async function countRejections<Value>(work: Promise<Value>): Promise<Value> {
    try {
      return await work
    } catch (error) {
      if (isMillraceError(error) && error.limit !== undefined) rejected(error.limit)
      throw error
    }
  }

  /**
   * Quotas are passed only where a caller could write without end. A stop or a decision is always
   * accepted.
   */
  async function signal(key: string | undefined, event: ThreadEvent, options?: SignalOptions) {
    // A key in any case, so that the store can repeat the write if it is not acknowledged.
    const written = await store.signal(id, key ?? `once:${crypto.randomUUID()}`, event, options)
    const { entry, repeated, agent, priority } = written
    if (!repeated) followers.publish(id, [entry])
    wake({ id, agent, head: entry.seq, priority })
    return entry
  }

  /** The number of the signal that was written with a key, if there is one. */
  async function signalOf(key: string): Promise<number | undefined> {
    return (await store.keys(id, key)).get(key)
  }

  /** The number of the entry that denied a call which waited for its result, if there is one. */
  async function denialOf(callId: string): Promise<number | undefined> {
    const seq = await signalOf(`result:${callId}`)
    if (seq === undefined) return undefined
    const [entry] = await store.read(id, { after: seq - 1, limit: 1 })
    return entry?.event.type === 'approval' && !entry.event.approved ? seq : undefined
  }

  /** The state of the thread, valid in the current turn of the event loop, and its agent. */
  async function currentState(op: string) {
    const known = await info(op)
    return { state: await stateOf(known), agent: agentOf(known, op) }
  }

  function stateOf({ createdAt, head }: ThreadInfo) {
    return logs.state({ id, createdAt, caller: requested.caller }, head)
  }

  /** The metadata at a number of the log. */
  async function metadataOf(known: ThreadInfo, at: number): Promise<JsonObject | undefined> {
    // Then nothing has ever set it.
    if (!known.metadata) return undefined
    const changed = await metadataAt(log, at)
    return changed?.current ?? (await stateOf(known)).metadata?.initial ?? known.metadata
  }

  async function exchangePage(options: ExchangePageOptions): Promise<ExchangePage> {
    const op = 'thread.exchanges'
    if (!isObject(options as unknown))
      throw invalidInput(op, `exchanges() takes { run, round? }, not ${kindOf(options)}`)
    checkOptions({ ...options, run: options.run ?? null }, exchangesTable, { op, what: 'the option' })
    const known = await info(op)
    if (exchanges) return exchangesOf(known, options, { store, exchanges })
    const message = "model calls are not recorded: pass the option 'exchanges' to millrace() or serve()"
    throw new MillraceError({ op, code: 'not_found', message })
  }

  return {
    id,
    async create(options = {}) {
      const op = 'thread.create'
      checkOptions(options, createTable, { op, what: 'the option' })
      checkOpen(op)
      const history = await readHistory(options, op)
      const isCreated = await createThread(history)
      if (!isCreated && options.failIfExists) throw idTaken(id, op)
      const { agent, priority = 'interactive' } = requested
      if (isCreated && history) wake({ id, agent, head: history.entries.at(-1)?.seq ?? 0, priority })
      return info(op)
    },
    info: () => info('thread.info'),

    async send(message, options = {}) {
      const op = 'thread.send'
      checkOptions(options, sendTable, { op, what: 'the option' })
      checkOpen(op)
      const { mode = 'queue', key, request } = options
      // Before the first await, since the active span is known only now. If a server is itself
      // instrumented, its span sits between the one named by the request and the run.
      const trace = telemetry && (telemetry.activeTrace?.() ?? options.trace)
      let found = await store.get(id)
      const agent = agentOf(found ?? requested, op)
      const checked = request && agent.readRequest(request, op)
      const event = {
        type: 'input',
        message: agent.readMessage(message, op, checked),
        mode,
        ...(checked && { request: checked }),
        ...(trace !== undefined && { trace }),
      } as const
      // Only now, so that an invalid message does not create a thread.
      if (!found && !(await createThread())) found = await store.get(id)
      const label = found?.title === undefined ? labelOf(found ?? requested, [{ event }]) : undefined
      const { seq } = await countRejections(
        signal(key === undefined ? undefined : `input:${key}`, event, { quotas, label }),
      )
      return seq
    },

    async inputOf(key) {
      const op = 'thread.inputOf'
      checkOpen(op)
      return signalOf(`input:${key}`)
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
        follow: (after) => followers.follow(id, after, { signal, caller: requested.caller }),
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
        const max = Math.min(limit - entries.length, stepSize)
        const page = await store.read(id, { after: entries.at(-1)?.seq ?? after, limit: max, split })
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
      // The store's info may be older or newer, so head and status come from the log.
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
      const { state, agent } = await currentState(op)
      const { run } = state
      const added = requestWith(answer, agent, op)
      const open = openRequest(state, callId)
      // It may have been approved before.
      if (run && open?.wants && !decision.approved) {
        const event = await agent.readDecision(decision, run, op)
        return (await signal(`result:${callId}`, { ...event, ...added })).seq
      }
      const denied = open || decision.approved ? undefined : await denialOf(callId)
      if (denied !== undefined) return denied
      const write = (event: ApprovalEvent) => signal(`approval:${callId}`, { ...event, ...added })
      return decide(decision, { log, state, agent, write })
    },

    async respond(callId, output, options = {}) {
      const op = 'thread.respond'
      checkOpen(op)
      checkOptions(options, respondTable, { op, what: 'the option' })
      const { agent, state } = await currentState(op)
      const { run, head } = state
      if (!run || !openRequest(state, callId)) {
        if (isKnownCall(state, callId)) return (await signalOf(`result:${callId}`)) ?? head
        throw invalidInput(op, `there is no call '${callId}' that wants a result`)
      }
      const added = requestWith(options, agent, op)
      const event = await agent.readDecision(
        { callId, approved: true, output, isError: options.isError === true },
        run,
        op,
      )
      return (await signal(`result:${callId}`, { ...event, ...added })).seq
    },

    async rewind(before, options = {}) {
      const op = 'thread.rewind'
      checkOpen(op)
      checkOptions(options, rewindTable, { op, what: 'the option' })
      const known = await info(op)
      const { key, request } = options
      const checked = request && agentOf(known, op).readRequest(request, op)
      const earlier = key === undefined ? undefined : await signalOf(`rewind:${key}`)
      if (earlier !== undefined) return earlier
      const event = await rewindEvent(log, before, checked)
      const written = signal(key === undefined ? undefined : `rewind:${key}`, event, { quotas })
      return (await countRejections(written)).seq
    },

    async reportPlayback(playback) {
      const op = 'thread.reportPlayback'
      if (!isObject(playback as unknown))
        throw invalidInput(op, `reportPlayback() takes { run, round, chars }, not ${kindOf(playback)}`)
      const { run, round, chars } = playback
      const given = { ...playback, run: run ?? null, round: round ?? null, chars: chars ?? null }
      checkOptions(given, playbackTable, { op, what: 'the field' })
      const length = await textLength(run, round)
      if (length === undefined) {
        const message = `thread '${id}' has no round ${round} of run '${run}': 'run' must be the id of the run's first run-start`
        throw new MillraceError({ op, code: 'not_found', message })
      }
      if (chars > length)
        throw invalidInput(
          op,
          `'chars' is ${chars}, but the round has only ${length} characters of text so far`,
        )
      return (await signal(undefined, { type: 'playback', run, round, chars })).seq
    },

    async rename(text) {
      const op = 'thread.rename'
      const problem = someText(text)
      if (problem) throw invalidInput(op, `the title ${problem}`)
      const title = titleFrom(text)
      if (!title) throw invalidInput(op, 'the title is empty: it must have at least one character')
      const known = await info(op)
      const label = labelOf(known, [], title)
      const written = signal(undefined, { type: 'title', title }, { quotas, label, relabel: true })
      return (await countRejections(written)).seq
    },

    async updateMetadata(patch) {
      const op = 'thread.updateMetadata'
      const known = await info(op)
      const { metadata = {} } = known
      const read = readPatch(patch, metadata, op)
      const event = metadataEvent((await stateOf(known)).metadata, read, metadata)
      return (await countRejections(signal(undefined, event, { quotas }))).seq
    },

    async feedback(run, given) {
      const op = 'thread.feedback'
      if (!isObject(given as unknown))
        throw invalidInput(op, `feedback() takes { rating, note }, not ${kindOf(given)}`)
      checkOptions(given, feedbackTable, { op, what: 'the field' })
      const { rating, note, user } = given
      if (typeof run !== 'string' || !(await startOf(run, op))) {
        const message = `thread '${id}' has no run ${nameOf(run)}: pass the id of the run's first run-start`
        throw new MillraceError({ op, code: 'not_found', message })
      }
      const event = {
        type: 'feedback',
        run,
        ...(rating && { rating }),
        ...(note !== undefined && { note }),
        ...(user !== undefined && { user }),
      } as const
      return (await countRejections(signal(undefined, event, { quotas }))).seq
    },

    async fork(atSeq, options = {}) {
      const op = 'thread.fork'
      checkOptions(options, forkTable, { op, what: 'the option' })
      if (options.id !== undefined) checkThreadId(options.id, op)
      const known = await info(op)
      if (!Number.isInteger(atSeq) || atSeq < 0 || atSeq > known.head)
        throw invalidInput(
          op,
          `atSeq must be a number from 0 to ${known.head}, the end of the thread's log, not ${String(atSeq)}`,
        )
      const { agent } = known
      const metadata = await metadataOf(known, atSeq)
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
      // A run in progress continues in the original thread, not in the fork.
      const isRunning = state.run && state.run.outcome === undefined
      const end = { type: 'stop', reason: 'the thread was forked here' } as const
      const hasTitle = known.title !== undefined && (await firstInput(atSeq)).length > 0
      const title = hasTitle ? known.title : undefined
      const label = labelOf(forked, [], title)
      const forking = store.fork(
        id,
        atSeq,
        { ...forked, label },
        { events: isRunning ? [end] : [], waiting: state.waiting.length, quotas },
      )
      if (!(await countRejections(forking))) throw idTaken(forked.id, op)
      const thread = openThread(forked, shared)
      wake({ id: forked.id, agent, head: atSeq, priority: 'interactive' })
      return thread
    },

    async delete() {
      checkOpen('thread.delete')
      const existed = await store.delete(id)
      followers.deleted(id)
      logs.deleted(id)
      await exchanges?.delete(id)
      return existed
    },
  }
}

/** What a new thread begins with. */
interface Beginning extends Partial<ReturnType<typeof historyLog>> {
  readonly title?: string | undefined
}

/** What comes with a result or a decision, checked. */
function requestWith(
  { request }: { readonly request?: RunRequest | undefined },
  agent: AgentInternals,
  op: string,
) {
  return request && { request: agent.readRequest(request, op) }
}

/**
 * Exchanges of runs that a fork inherited are stored with the original thread, if that still
 * exists.
 */
async function exchangesOf(
  { id, forkedFrom }: ThreadInfo,
  which: ExchangePageOptions,
  { store, exchanges }: { readonly store: ThreadStore; readonly exchanges: ExchangeRecorder },
): Promise<ExchangePage> {
  const own = await exchanges.read(id, which)
  const origin = own.exchanges.length === 0 && forkedFrom ? await store.get(forkedFrom.id) : undefined
  return origin ? exchangesOf(origin, which, { store, exchanges }) : own
}

function idTaken(id: string, op: string): MillraceError {
  return new MillraceError({ op, code: 'conflict', message: `thread '${id}' already exists` })
}
