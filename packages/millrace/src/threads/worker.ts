import type { AgentInternals, Loop } from '../agent/index.ts'
import type { Lease, ThreadLog, ThreadLogs, ThreadStore } from '../log/index.ts'
import type { Telemetry, ThreadInfo, WaitingInput } from '../protocol/index.ts'
import {
  cancelReason,
  isMillraceError,
  isOpen,
  MillraceError,
  nextThreadAction,
  toMillraceError,
} from '../protocol/index.ts'
import type { ExchangeRecorder } from './exchanges/recorder.ts'

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
  readonly logs: ThreadLogs
  /** Another process may have written to the thread. */
  readonly changed: (threadId: string) => void
  readonly lease: Lease
  /** When it was asked for (`performance.now()`): it is valid at least `leaseMs` from then on. */
  readonly leasedAt: number
  /** How many owners before did not give the thread back: their processes are gone. */
  readonly losses: number
  readonly info: ThreadInfo
  /** Who it counts for. */
  readonly caller: string | undefined
  readonly agent: AgentInternals
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
  const { store, lease, agent, onError } = options
  const { threadId } = lease
  let log: ThreadLog | undefined
  let loop: Loop | undefined
  let abandoned = false
  let handingOver = false
  let ranSomething = false
  /** Those of the run that was under way, or about to begin. */
  let { losses, leasedAt } = options
  const exchanges = options.exchanges?.open(threadId)
  const leaving = Promise.withResolvers<void>()

  function abandon() {
    if (abandoned) return
    abandoned = true
    leaving.resolve()
    loop?.abandon()
    log?.close({ lost: true })
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
  async function commit(log: ThreadLog): Promise<void> {
    await log.commit()
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
  async function run(log: ThreadLog, inputs: readonly WaitingInput[], ending?: Given) {
    const given = ending ?? (losses > options.maxLosses ? { error: givenUp(losses) } : await contextOf())
    if (abandoned || handingOver) return
    const start = { heard: inputs.map(({ seq }) => seq), losses }
    losses = 0
    loop = agent.start(log, start, {
      context: given.context,
      commit: () => commit(log),
      observe: exchanges?.observe,
      telemetry: options.telemetry,
      conversation: threadId,
      causes: inputs.flatMap(({ trace }) => trace ?? []),
    })
    ranSomething = true
    // It may have been stopped while the context was being made.
    const reason = given.reason ?? cancelReason(log.state)
    if (reason !== undefined) loop.cancel(reason)
    else if (given.error) loop.fail(given.error)
    await loop.ended
    if (abandoned || handingOver) return
    await log.commit()
    await log.settled()
    loop = undefined
  }

  async function release(log: ThreadLog, status: 'idle' | 'waiting' | 'runnable'): Promise<boolean> {
    // The log has it all: without a snapshot it only takes longer the next time.
    if (status === 'idle') await log.save().catch(report)
    if (abandoned || status !== restOf(nextThreadAction(log.state).type)) return false
    const { head } = log.state
    const left = await store.release(lease, { head, status })
    if (left === 'moved') {
      // Another process may have written, of which we hear a little later.
      options.changed(threadId)
      await log.passed(head)
    }
    if (left === 'fenced') abandon()
    return left === 'released'
  }

  async function work(): Promise<number | undefined> {
    log = await options.logs.open(lease, {
      thread: { id: threadId, createdAt: options.info.createdAt, caller: options.caller },
      onGrown: options.onGrown,
      onError: report,
      onLost(why) {
        if (why !== 'fenced') onError(why)
        abandon()
      },
    })
    if (abandoned) log.close({ lost: true })
    while (!abandoned && !handingOver) {
      const action = nextThreadAction(log.state)
      if (ranSomething && options.losses > 0 && action.type === 'start') {
        // The store counts on until the thread is given back; the next run must not answer for the losses of this one.
        if (await release(log, 'runnable')) break
        continue
      }
      if (action.type === 'start') await run(log, action.inputs)
      else if (action.type === 'continue') await run(log, [])
      else if (action.type === 'cancel') await run(log, [], { reason: action.reason })
      else if (await release(log, restOf(action.type))) break
    }
    if (handingOver) return undefined
    const { run: last, head } = log.state
    log.close()
    return !abandoned && ranSomething && !(last && isOpen(last)) ? head : undefined
  }

  function report(thrown: unknown) {
    onError(toMillraceError(thrown, { op: 'thread.run', code: 'store_error' }))
  }

  function failed(thrown: unknown): undefined {
    // A thread that was deleted meanwhile is no failure.
    if (!(isMillraceError(thrown) && thrown.code === 'not_found')) report(thrown)
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
        await log?.commit()
        await log?.settled()
        while (log && !abandoned && !(await release(log, restOf(nextThreadAction(log.state).type)))) {}
      } catch (thrown) {
        failed(thrown)
      }
      log?.close()
    },
  }
}

function givenUp(losses: number): MillraceError {
  const message = `${losses} processes that worked on this run were lost, so it is given up`
  return new MillraceError({ op: 'thread.run', code: 'workers_lost', message })
}
