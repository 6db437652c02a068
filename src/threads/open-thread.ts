import type { ThreadDoor } from '../agent/index.ts'
import type {
  Answer,
  ApprovalEvent,
  Entry,
  Exchange,
  ExchangesOptions,
  FollowOptions,
  Heard,
  OptionTable,
  Remembered,
  Telemetry,
  ThreadInfo,
  ThreadState,
} from '../protocol/index.ts'
import {
  anything,
  applyEntry,
  approvalsOf,
  cancelReason,
  checkOptions,
  emptyThread,
  invalidInput,
  isObject,
  isTraceContext,
  kindOf,
  logPosition,
  MillraceError,
  oneOf,
  snapshotOf,
  someText,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'
import type { ExchangeRecorder } from './exchanges/recorder.ts'
import type { Hub } from './hub.ts'
import type { NewThread, ThreadStore } from './store.ts'
import { threadNotFound } from './store-errors.ts'
import type { ReadOptions, SayOptions, Thread } from './thread.ts'
import { checkThreadId } from './thread-id.ts'
import { followLater, followUntil } from './until.ts'

/** What the threads of an app share. */
export interface Shared {
  readonly store: ThreadStore
  readonly hub: Hub
  readonly agents: ReadonlyMap<string, ThreadDoor>
  readonly wake: (threadId: string) => void
  readonly exchanges: ExchangeRecorder | undefined
  readonly telemetry: Telemetry | undefined
  /** Throws if the app is closed. */
  readonly checkOpen: (op: string) => void
}

const pageSize = 1000

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
const exchangesTable: OptionTable<ExchangesOptions> = { run: someText, round: wholeNumber(1) }
const answerTable: OptionTable<Answer> = {
  approved: yesOrNo,
  reason: anything,
  input: anything,
  remember: anything,
}
const heardTable: OptionTable<Heard> = { run: someText, round: wholeNumber(1), chars: wholeNumber(0) }
const createTable: OptionTable<{ anew?: boolean | undefined }> = { anew: yesOrNo }
const forkTable: OptionTable<{ id?: string; user?: string }> = { id: someText, user: someText }

/** `asked` is what the thread becomes if it has to be made. */
export function openThread(asked: NewThread, shared: Shared): Thread {
  const { store, hub, agents, wake, exchanges, telemetry, checkOpen } = shared
  const { id } = asked

  async function info(op: string): Promise<ThreadInfo> {
    checkOpen(op)
    const found = await store.get(id)
    if (!found) throw threadNotFound(op, id)
    const { bytes, ...known } = found
    return known
  }

  async function create(op: string, anew: boolean): Promise<ThreadInfo> {
    checkOpen(op)
    const made = await store.create(asked)
    if (!made && anew) throw taken(id, op)
    return info(op)
  }

  function agentOf({ agent }: Pick<ThreadInfo, 'agent'>, op: string): ThreadDoor {
    const door = agents.get(agent)
    if (door) return door
    const names = [...agents.keys()].join(', ')
    throw invalidInput(
      op,
      `the thread '${id}' belongs to the agent '${agent}', which is not here: there are ${names}`,
    )
  }

  /** Everything up to a number, or all there is. */
  async function fold(
    upTo = Number.POSITIVE_INFINITY,
    onEntry?: (entry: Entry) => void,
  ): Promise<ThreadState> {
    const state = emptyThread()
    while (state.head < upTo) {
      const limit = Math.min(pageSize, upTo - state.head)
      // One by one where it has to stop within what may be joined.
      const page = await store.read(id, { after: state.head, limit, split: Number.isFinite(upTo) })
      if (page.length === 0) break
      for (const entry of page) {
        applyEntry(state, entry)
        onEntry?.(entry)
      }
    }
    return state
  }

  /** How long the words of a round are so far; undefined if there is no such round. */
  async function wordsIn(run: string, round: number): Promise<number | undefined> {
    let origin = ''
    let current = 0
    let length: number | undefined
    await fold(undefined, ({ event }) => {
      if (event.type === 'run-start' && event.resumes === undefined) [origin, current] = [event.runId, 0]
      if (event.type === 'round-start') current = event.round
      if (origin !== run || current !== round) return
      if (event.type === 'round-start' || event.type === 'round-retract') length = 0
      if (event.type === 'text') length = (length ?? 0) + event.text.length
    })
    return length
  }

  async function signal(key: string | undefined, event: Parameters<ThreadStore['signal']>[2]) {
    const { entry, repeated } = await store.signal(id, key, event)
    if (!repeated) hub.publish(id, [entry])
    wake(id)
    return entry
  }

  async function approve(callId: string, answer: Answer): Promise<number> {
    const op = 'thread.approve'
    checkOpen(op)
    if (typeof callId !== 'string' || !callId)
      throw invalidInput(op, 'approve() takes the id of a call first')
    if (!isObject(answer as unknown) || typeof answer.approved !== 'boolean')
      throw invalidInput(
        op,
        `a decision must be { approved: true | false, reason?, input?, remember? }, not ${kindOf(answer)}`,
      )
    checkOptions(answer, answerTable, { op, what: 'the field' })
    const agent = agentOf(await info(op), op)
    let earlier: { seq: number; event: ApprovalEvent } | undefined
    const state = await fold(undefined, ({ seq, event }) => {
      if (event.type === 'approval' && event.callId === callId) earlier ??= { seq, event }
    })
    const decision = {
      callId,
      ...Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== undefined)),
    } as ApprovalEvent
    if (earlier) return counted(earlier, decision, op)
    if (!state.run || !approvalsOf(state).some((request) => request.callId === callId))
      throw tooLate(state, callId, op)
    const event = await agent.readDecision(decision, state.run, op)
    const entry = await signal(`approval:${callId}`, event)
    return counted(entry as { seq: number; event: ApprovalEvent }, decision, op)
  }

  /** The number of the decision that stands in the log, if it is this one, and if it came in time. */
  async function counted(entry: { seq: number; event: ApprovalEvent }, decision: ApprovalEvent, op: string) {
    const { callId } = decision
    // Somebody may have stopped the run in between; whoever came first in the log counts.
    const before = await fold(entry.seq - 1)
    const open = approvalsOf(before).some((request) => request.callId === callId)
    if (!open || cancelReason(before) !== undefined) throw tooLate(before, callId, op)
    return sameDecision(entry, decision, op)
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
      const found = await store.get(id)
      const event = {
        type: 'input',
        message: agentOf(found ?? asked, op).readMessage(message, op),
        mode,
        ...(trace !== undefined && { trace }),
      } as const
      // Only now: what cannot be said makes no thread.
      if (!found) await store.create(asked)
      const { seq } = await signal(key === undefined ? undefined : `input:${key}`, event)
      return seq
    },

    follow(options = {}) {
      const op = 'thread.follow'
      checkOptions(options, followTable, { op, what: 'the option' })
      const { after = 0, signal, until } = options
      checkOpen(op)
      const open = (from: number) =>
        followUntil(hub.follow(id, from, signal), { until, info: () => info(op), fold: () => fold(from) })
      return after === 'now' ? followLater(info(op).then(({ head }) => open(head))) : open(after)
    },

    async read(options = {}) {
      const op = 'thread.read'
      checkOptions(options, readTable, { op, what: 'the option' })
      checkOpen(op)
      const { after = 0, limit = pageSize, split } = options
      return store.read(id, { after, limit, split })
    },

    async state() {
      const op = 'thread.state'
      const known = await info(op)
      // What the store says of it may be older or newer, so its head and status are the log's.
      return { ...known, ...snapshotOf(await fold()) }
    },

    async exchanges(options) {
      const op = 'thread.exchanges'
      if (!isObject(options as unknown))
        throw invalidInput(op, `exchanges() takes { run, round? }, not ${kindOf(options)}`)
      checkOptions({ ...options, run: options.run ?? null }, exchangesTable, { op, what: 'the option' })
      const known = await info(op)
      if (exchanges) return exchangesOf(known, options, { store, exchanges })
      const message = 'nothing is kept of what goes to models: give millrace() the option exchanges'
      throw new MillraceError({ op, code: 'not_found', message })
    },

    async stop(reason = 'stopped by the user') {
      const op = 'thread.stop'
      if (typeof reason !== 'string' || !reason.trim())
        throw invalidInput(op, `the reason must be text, not ${kindOf(reason)}`)
      const { status, head } = await info(op)
      if (status === 'idle') return head
      return (await signal(undefined, { type: 'stop', reason })).seq
    },

    approve,

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
      const user = options.user ?? known.user
      const forked: NewThread = {
        id: options.id ?? `thread_${crypto.randomUUID()}`,
        agent,
        ...(user !== undefined && { user }),
        ...(metadata && { metadata }),
        forkedFrom: { id, seq: atSeq },
      }
      if (!(await store.fork(id, atSeq, forked))) throw taken(forked.id, op)
      const thread = openThread(forked, shared)
      wake(forked.id)
      return thread
    },

    async delete() {
      checkOpen('thread.delete')
      const gone = await store.delete(id)
      hub.deleted(id)
      await exchanges?.delete(id)
      return gone
    },
  }
}

/** The runs that a fork took along are kept with the thread in which they ran, if that is still there. */
async function exchangesOf(
  { id, forkedFrom }: ThreadInfo,
  which: ExchangesOptions,
  { store, exchanges }: { readonly store: ThreadStore; readonly exchanges: ExchangeRecorder },
): Promise<readonly Exchange[]> {
  const own = await exchanges.read(id, which)
  const origin = own.length === 0 && forkedFrom ? await store.get(forkedFrom.id) : undefined
  return origin ? exchangesOf(origin, which, { store, exchanges }) : own
}

function taken(id: string, op: string): MillraceError {
  return new MillraceError({ op, code: 'conflict', message: `there is a thread '${id}' already` })
}

/** The same decision once more is no second one. */
function sameDecision(
  earlier: { seq: number; event: ApprovalEvent },
  decision: ApprovalEvent,
  op: string,
): number {
  const { approved, input } = earlier.event
  const same =
    approved === decision.approved &&
    JSON.stringify(input) === JSON.stringify(decision.input) &&
    remembersTheSame(earlier.event.remember, decision.remember)
  if (same) return earlier.seq
  const message = `the call '${decision.callId}' was ${approved ? 'approved' : 'declined'} already`
  throw new MillraceError({ op, code: 'conflict', message })
}

/** Whoever names no rules means those of the request, which are in the log by now. */
function remembersTheSame(kept: Remembered | undefined, asked: unknown): boolean {
  const { for: howLong, rules = kept?.rules } = isObject(asked) ? asked : { for: asked }
  return kept?.for === howLong && JSON.stringify(kept?.rules) === JSON.stringify(rules)
}

function tooLate(state: ThreadState, callId: string, op: string): MillraceError {
  const waiting = approvalsOf(state).map(({ callId, name }) => `'${callId}' (${name})`)
  const known = state.run?.callIds.has(callId.split('/')[0] as string)
  if (!known) {
    const message = `no call '${callId}' waits for a decision; waiting: ${waiting.join(', ') || 'none'}`
    return invalidInput(op, message)
  }
  const why = cancelReason(state) ?? state.error?.message ?? 'it is dealt with'
  const message = `nobody waits for a decision about the call '${callId}' any more: ${why}`
  return new MillraceError({ op, code: 'conflict', message })
}
