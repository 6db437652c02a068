import type { Loop, ThreadDoor } from '../agent/index.ts'
import type {
  Entry,
  Message,
  RunEvent,
  RunState,
  Telemetry,
  ThreadInfo,
  WaitingInput,
} from '../protocol/index.ts'
import {
  answerKey,
  applyEntry,
  beginRun,
  cancelReason,
  dropForgotten,
  emptyThread,
  isOpen,
  MillraceError,
  nextThreadAction,
  savedMessages,
  textOfDelta,
  toMillraceError,
} from '../protocol/index.ts'
import { entryBytes } from './entry-bytes.ts'
import type { ExchangeRecorder } from './exchanges/recorder.ts'
import type { Following, Hub } from './hub.ts'
import type { Journal, Writer } from './journal.ts'
import { readLog } from './read-log.ts'
import { saveSnapshot } from './save-snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { readSnapshot, restore } from './snapshot.ts'
import type { Lease, ThreadStore } from './store.ts'

/** Does what a thread that was claimed has to do, until there is nothing left. */
export interface Worker {
  /**
   * Resolves when the thread is given back, or lost, with the number up to which its log can be packed, if something ran. Never rejects.
   */
  readonly done: Promise<number | undefined>
  /** The lease was lengthened when it was this late (`performance.now()`), or later. */
  renewed(at: number): void
  /** Somebody else has the lease, or nobody can write: stops everything, without a word. */
  abandon(): void
  /** Lets running tools come to an end, at most so long, and leaves the rest to the next owner. */
  handOver(graceMs: number): Promise<void>
}

export interface WorkerOptions {
  readonly store: ThreadStore
  readonly journal: Journal
  readonly hub: Hub
  readonly lease: Lease
  /** When it was asked for (`performance.now()`): it is valid at least `leaseMs` from then on. */
  readonly leasedAt: number
  /** How many owners before did not give the thread back: their processes are gone. */
  readonly losses: number
  readonly info: ThreadInfo
  /** Who it counts for. */
  readonly caller: string | undefined
  readonly agent: ThreadDoor
  readonly context: (thread: ThreadInfo) => unknown
  readonly exchanges: ExchangeRecorder | undefined
  readonly telemetry: Telemetry | undefined
  readonly leaseMs: number
  /** So many processes may be lost over one run before it is given up. */
  readonly maxLosses: number
  /** About so many bytes were added to the log. */
  readonly onGrown: (bytes: number) => void
  readonly onError: (error: MillraceError) => void
}

/** A snapshot is saved when a thread comes to rest and so much was added since the last one. */
const restingEntries = 500
const restingChars = 256 * 1024
/** And while a long log is folded, so that it need not be folded again, nor held. */
const foldingEntries = 20_000

/** No tool starts when more of the lease is over than this: another process may be about to claim the thread. */
const safeShare = 2 / 3

/** What a run begins with: the context of its tools, or why it is over at once. */
interface Given {
  readonly context?: unknown
  readonly reason?: string
  readonly error?: MillraceError
}

/** How a thread is left for which this is what comes next. */
function restOf(next: ReturnType<typeof nextThreadAction>['type']): 'idle' | 'waiting' | 'runnable' {
  if (next === 'idle') return 'idle'
  return next === 'wait' ? 'waiting' : 'runnable'
}

export function startWorker(options: WorkerOptions): Worker {
  const { store, hub, lease, agent, onError } = options
  const { threadId } = lease
  let state = emptyThread()
  let snapshot: Snapshot | undefined
  /** How much was heard of answers since the snapshot, by run and round. */
  let heard = new Map<string, number>()
  /** What the open run has told so far, without its words. */
  let told: RunEvent[] = []
  let loop: Loop | undefined
  let entries: Following | undefined
  let abandoned = false
  let handingOver = false
  let ranSomething = false
  /** Those of the run that was under way, or about to begin. */
  let { losses, leasedAt } = options
  const exchanges = options.exchanges?.open(threadId)
  const advanced = new Set<() => void>()
  const leaving = Promise.withResolvers<void>()
  const writer: Writer = options.journal.open(lease, (why) => {
    if (why !== 'fenced') onError(why)
    abandon()
  })

  function abandon() {
    if (abandoned) return
    abandoned = true
    leaving.resolve()
    writer.close()
    loop?.abandon()
    void entries?.return?.()
    for (const wake of advanced) wake()
  }

  /** The log as it is, before anything of it is ours. */
  async function fold(): Promise<void> {
    const log = { store, threadId, caller: options.caller }
    snapshot = await readSnapshot(log)
    const restored = snapshot && (await restore(log, snapshot))
    if (restored) state = restored
    else snapshot = undefined
    for await (const page of readLog(log, { after: state.head }))
      for (const entry of page) {
        applyEntry(state, entry)
        remember(entry)
        if (entry.event.type === 'run-end' && addedEntries() >= foldingEntries) await save()
        if (abandoned) return
      }
  }

  function remember({ event }: Entry) {
    if (event.type === 'heard') heard.set(answerKey(event.run, event.round), event.chars)
    if (event.type === 'run-start' && event.resumes === undefined) told = []
    if (event.type !== 'stop' && event.type !== 'heard' && textOfDelta(event) === undefined) told.push(event)
    if (event.type === 'run-end' && event.outcome !== 'suspended') told = []
  }

  function addedEntries(): number {
    return state.head - (snapshot?.thread.head ?? 0)
  }

  function hasGrown(): boolean {
    return (
      addedEntries() >= restingEntries || isLong(savedMessages(state, snapshot?.messages ?? 0), restingChars)
    )
  }

  async function save(): Promise<void> {
    // It would all stand in the head, which is written each time.
    if (isLong(state.waiting, restingChars)) return
    const trimmed = heard
    heard = new Map()
    try {
      const saved = await saveSnapshot(state, { store, lease, last: snapshot, heard: trimmed })
      if (saved === 'fenced') return abandon()
      if (saved === snapshot) heard = new Map([...trimmed, ...heard])
      else if (saved && state.run) dropForgotten(state.run, saved.needed)
      snapshot = saved
    } catch (thrown) {
      // The log has it all: it only takes longer the next time.
      onError(toMillraceError(thrown, { op: 'thread.run', code: 'store_error' }))
      heard = new Map([...trimmed, ...heard])
    }
  }

  /** Takes what is written from now on, by us and by others, in the order of the log. */
  async function track(): Promise<void> {
    entries = hub.track(threadId, state.head)
    for await (const entry of entries) {
      if (abandoned) return
      take(entry)
      for (const wake of advanced) wake()
    }
    // The thread is gone.
    abandon()
  }

  function take(entry: Entry) {
    const { event, seq } = entry
    applyEntry(state, entry, { live: loop !== undefined })
    remember(entry)
    options.onGrown(entryBytes(entry))
    if (!loop) return
    if (event.type === 'approval') loop.decide(event)
    if (event.type === 'input' && event.mode === 'steer') loop.hear({ seq, message: event.message })
    const reason = cancelReason(state)
    if (reason !== undefined) loop.cancel(reason)
  }

  /** Until the log has been taken as far as this number. */
  async function takenUpTo(seq: number): Promise<void> {
    while (state.head < seq && !abandoned)
      await new Promise<void>((resolve) => {
        const wake = () => {
          advanced.delete(wake)
          resolve()
        }
        advanced.add(wake)
      })
  }

  async function contextOf(): Promise<Given> {
    try {
      // One that never comes must not keep the thread when it is given back, or lost.
      return { context: await Promise.race([options.context(options.info), leaving.promise]) }
    } catch (thrown) {
      // What it says may be a secret of ours: the log is for everybody who sees the thread.
      const message = 'the context of the thread could not be made'
      const error = new MillraceError({ op: 'millrace.context', code: 'hook_failed', message })
      onError(toMillraceError(thrown, { op: 'millrace.context', code: 'hook_failed' }))
      return { error }
    }
  }

  /** What was told so far is durable, and the thread is ours for a while: a tool may start. */
  async function commit(): Promise<void> {
    await writer.commit()
    // The lease of a process that stood still may have run out, even if nobody had claimed the thread when this was written.
    while (!abandoned && performance.now() - leasedAt > options.leaseMs * safeShare) await renew()
  }

  async function renew(): Promise<void> {
    const askedAt = performance.now()
    try {
      const lost = await store.renew([lease], options.leaseMs)
      if (lost.length > 0) abandon()
      else leasedAt = askedAt
    } catch (thrown) {
      failed(thrown)
    }
  }

  /** Runs the agent: anew for these inputs, or on from where the log stands. */
  async function run(inputs: readonly WaitingInput[], ending?: Given) {
    const given = ending ?? (losses > options.maxLosses ? { error: givenUp(losses) } : await contextOf())
    if (abandoned || handingOver) return
    const heard = inputs.map(({ seq }) => seq)
    const current = heard.length > 0 ? beginRun(state, heard) : (state.run as RunState)
    const from = { state: current, told: heard.length > 0 ? [] : told, heard, losses }
    losses = 0
    loop = agent.start(from, {
      context: given.context,
      relay: writer.push,
      commit,
      observe: exchanges?.observe,
      telemetry: options.telemetry,
      conversation: threadId,
      causes: inputs.flatMap(({ trace }) => trace ?? []),
    })
    ranSomething = true
    // What was said to steer it before it began, or while nobody was at work on it.
    for (const { seq, message, mode, held } of state.waiting)
      if (mode === 'steer' && !held) loop.hear({ seq, message })
    // Or it was said while the context was being made.
    const reason = given.reason ?? cancelReason(state)
    if (reason !== undefined) loop.cancel(reason)
    else if (given.error) loop.fail(given.error)
    await loop.ended
    if (abandoned || handingOver) return
    const head = await writer.commit()
    await takenUpTo(head)
    loop = undefined
    // What it was told and did not come to hear is still waiting.
    current.inputs = current.inputs.filter(({ seq }) => seq === undefined)
  }

  async function release(status: 'idle' | 'waiting' | 'runnable'): Promise<boolean> {
    if (status === 'idle' && hasGrown()) await save()
    if (abandoned || status !== restOf(nextThreadAction(state).type)) return false
    const { head } = state
    const left = await store.release(lease, { head, status })
    if (left === 'moved') {
      // Whoever wrote may be another process, of which we hear a little later.
      hub.changed(threadId)
      await takenUpTo(head + 1)
    }
    if (left === 'fenced') abandon()
    return left === 'released'
  }

  async function work(): Promise<number | undefined> {
    await fold()
    if (abandoned) return undefined
    const tracking = track()
    tracking.catch(failed)
    while (!abandoned && !handingOver) {
      const action = nextThreadAction(state)
      if (ranSomething && options.losses > 0 && action.type === 'start') {
        // The store counts on until the thread is given back; the next run must not answer for the losses of this one.
        if (await release('runnable')) break
        continue
      }
      if (action.type === 'start') await run(action.inputs)
      else if (action.type === 'continue') await run([])
      else if (action.type === 'cancel') await run([], { reason: action.reason })
      else if (await release(restOf(action.type))) break
    }
    if (handingOver) return undefined
    leave()
    return !abandoned && ranSomething && !(state.run && isOpen(state.run)) ? state.head : undefined
  }

  function leave() {
    writer.close()
    void entries?.return?.()
  }

  function failed(thrown: unknown): undefined {
    const error = toMillraceError(thrown, { op: 'thread.run', code: 'store_error' })
    // A thread that was deleted meanwhile is no failure.
    if (error.code !== 'not_found') onError(error)
    abandon()
  }

  /** Another process may have deleted the thread, with what was recorded of it; what was recorded here since must go too. */
  async function leaveExchanges(): Promise<void> {
    // A store that does not answer has been told of already.
    const isThere = !exchanges || !(abandoned || handingOver) || (await store.get(threadId).catch(() => true))
    if (!isThere) await options.exchanges?.delete(threadId).catch(onError)
    exchanges?.close()
  }

  const done = work().catch(failed).finally(leaveExchanges)
  return {
    done,
    renewed(at) {
      leasedAt = at
    },
    abandon,
    async handOver(graceMs) {
      handingOver = true
      leaving.resolve()
      for (const wake of advanced) wake()
      if (loop) {
        let timer: ReturnType<typeof setTimeout> | undefined
        const late = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, graceMs)
        })
        await Promise.race([loop.hold(), loop.ended, late])
        clearTimeout(timer)
        // A store that failed meanwhile has ended it.
        loop?.abandon()
      }
      await done
      try {
        await takenUpTo(await writer.commit())
        while (!abandoned && !(await release(restOf(nextThreadAction(state).type)))) {}
      } catch (thrown) {
        failed(thrown)
      }
      leave()
    },
  }
}

/** Whether these messages are longer than so many characters. */
function isLong(items: Iterable<{ readonly message: Message }>, most: number): boolean {
  let chars = 0
  for (const { message } of items) {
    chars += JSON.stringify(message).length
    if (chars > most) return true
  }
  return false
}

function givenUp(losses: number): MillraceError {
  const message = `${losses} processes that worked on this run were lost, so it is given up`
  return new MillraceError({ op: 'thread.run', code: 'workers_lost', message })
}
