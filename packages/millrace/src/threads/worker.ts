import type { AgentInternals, Budget, Loop, RunExtension } from '../agent/index.ts'
import type { Hold, HoldResult, Lease, ThreadLog, ThreadLogs, ThreadStore } from '../log/index.ts'
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

/** Does what a claimed thread has to do, until nothing is left. */
export interface Worker {
  /**
   * Resolves when the thread is released or lost, with the number up to which its log can be
   * packed, if something ran. Never rejects.
   */
  readonly done: Promise<number | undefined>
  /** Called after the lease was renewed; `at` is when that was requested (`performance.now()`). */
  renewed(at: number): void
  /**
   * Stops everything without writing: another process has the lease, or the store cannot be
   * written.
   */
  abandon(): void
  /**
   * Waits for running tools, `graceMs` at most, and leaves the rest to the next owner. Resolves with
   * the end of the log if there is something left.
   */
  handOver(graceMs: number): Promise<number | undefined>
}

export interface WorkerOptions {
  readonly store: ThreadStore
  readonly logs: ThreadLogs
  /** Called when another process may have written to the thread. */
  readonly changed: (threadId: string) => void
  readonly lease: Lease
  /**
   * When the lease was requested (`performance.now()`). It is valid for at least `leaseMs` from
   * then on.
   */
  readonly leasedAt: number
  /** How many previous owners did not release the thread, because their processes died. */
  readonly losses: number
  readonly info: ThreadInfo
  /** The caller whose quotas it counts toward. */
  readonly caller: string | undefined
  readonly agent: AgentInternals
  /** Replaces limits of the agent's budget. */
  readonly budget?: Budget | undefined
  readonly context: (thread: ThreadInfo) => unknown
  readonly extension: (thread: ThreadInfo) => RunExtension | undefined
  readonly exchanges: ExchangeRecorder | undefined
  readonly telemetry: Telemetry | undefined
  readonly leaseMs: number
  /** How many processes may be lost over one run before it fails. */
  readonly maxLosses: number
  /** Called with the approximate number of bytes added to the log. */
  readonly onGrown: (bytes: number) => void
  readonly onError: (error: MillraceError) => void
}

/**
 * No tool starts when more than this share of the lease has passed: another process may be about to
 * claim the thread.
 */
const safeShare = 2 / 3

/** Delay before a hold is tried again. */
const retryMs = 50

/** What a run starts with: the context of its tools, or why it ends right away. */
interface RunSetup {
  readonly context?: unknown
  readonly reason?: string
  readonly error?: MillraceError
}

/** The status in which a thread is left if this is its next action. */
function restStatus(next: ReturnType<typeof nextThreadAction>['type']): 'idle' | 'waiting' | 'runnable' {
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
  /** These apply to the run that is in progress or about to start. */
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

  function currentInfo(): ThreadInfo {
    const metadata = log?.state.metadata?.current ?? options.info.metadata
    return { ...options.info, ...(metadata && { metadata }) }
  }

  async function contextOf(): Promise<RunSetup> {
    try {
      // A context that never resolves must not block releasing the thread.
      return { context: await Promise.race([options.context(currentInfo()), leaving.promise]) }
    } catch (thrown) {
      // The error may contain secrets, and everyone who can see the thread can read its log.
      const message = 'creating the context for the thread failed'
      const error = new MillraceError({ op: 'millrace.context', code: 'hook_failed', message })
      onError(toMillraceError(thrown, { op: 'millrace.context', code: 'hook_failed' }))
      return { error }
    }
  }

  /**
   * Makes everything appended so far durable and ensures that the lease is valid for a while, so
   * that a tool may start.
   */
  async function commit(log: ThreadLog): Promise<void> {
    await log.commit()
    // If the process was suspended, its lease may have expired, even if no other process had
    // claimed the thread by the time of this write.
    while (!abandoned && performance.now() - leasedAt > options.leaseMs * safeShare) await renew()
  }

  async function renew(): Promise<void> {
    const requestedAt = performance.now()
    try {
      const lost = await store.renew([lease], options.leaseMs)
      if (lost.length > 0) abandon()
      else leasedAt = requestedAt
    } catch (thrown) {
      failed(thrown)
    }
  }

  /** A hold that arrives after the release of the thread would not be found by it. */
  let reserving: Promise<unknown> = Promise.resolve()

  /** A brief failure is no reason to fail the run. Repeating a hold replaces it. */
  async function reserve(log: ThreadLog, hold: Hold): Promise<HoldResult> {
    const startedAt = performance.now()
    for (;;) {
      // What was spent before must be counted first.
      await log.commit()
      if (abandoned) return { type: 'fenced' }
      const held = store.hold(lease, hold)
      reserving = Promise.allSettled([reserving, held])
      try {
        return await held
      } catch (thrown) {
        if (!isStoreError(thrown) || performance.now() - startedAt > options.leaseMs) {
          failed(thrown)
          return { type: 'fenced' }
        }
        await new Promise((resolve) => setTimeout(resolve, retryMs))
      }
    }
  }

  /** Runs the agent: starts a run for these inputs, or continues from the end of the log. */
  async function run(log: ThreadLog, inputs: readonly WaitingInput[], ending?: RunSetup) {
    const setup = ending ?? (losses > options.maxLosses ? { error: workersLost(losses) } : await contextOf())
    if (abandoned || handingOver) return
    // The conversation may have been rewound meanwhile, and nothing is left to answer.
    if (inputs.length > 0 && inputs.every(({ discarded }) => discarded)) return
    const numbers = (taken: readonly WaitingInput[]) => taken.map(({ seq }) => seq)
    const start = {
      inputs: numbers(inputs.filter(({ discarded }) => !discarded)),
      discarded: numbers(inputs.filter(({ discarded }) => discarded)),
      losses,
    }
    losses = 0
    loop = agent.start(log, start, {
      context: setup.context,
      commit: () => commit(log),
      observe: exchanges?.observe,
      telemetry: options.telemetry,
      conversation: threadId,
      metadata: options.info.metadata,
      budget: options.budget,
      budgetStore: {
        agent: options.info.agent,
        user: options.info.user,
        hold: (hold) => reserve(log, hold),
        free: (id) => log.free(id),
      },
      parentTraces: inputs.flatMap(({ trace }) => trace ?? []),
      extension: options.extension(currentInfo()),
    })
    ranSomething = true
    // The thread may have been stopped while the context was created.
    const reason = setup.reason ?? cancelReason(log.state)
    if (reason !== undefined) loop.cancel(reason)
    else if (setup.error) loop.fail(setup.error)
    await loop.ended
    if (abandoned || handingOver) return
    await log.commit()
    await log.settled()
    loop = undefined
  }

  async function release(log: ThreadLog, status: 'idle' | 'waiting' | 'runnable'): Promise<boolean> {
    await reserving
    // A failure is harmless: the log has everything, and the next load only takes longer.
    if (status === 'idle') await log.save().catch(report)
    if (abandoned || status !== restStatus(nextThreadAction(log.state).type)) return false
    const { head } = log.state
    const { facts, known } = log.facts()
    const result = await store.release(lease, { head, status, facts })
    if (result === 'released') known()
    if (result === 'moved') {
      // Another process may have written, and the change has not been reported yet.
      options.changed(threadId)
      await log.passed(head)
    }
    if (result === 'fenced') abandon()
    return result === 'released'
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
        // The store keeps counting losses until the thread is released. The next run must not be
        // charged with those of this one.
        if (await release(log, 'runnable')) break
        continue
      }
      if (action.type === 'start') await run(log, action.inputs)
      else if (action.type === 'continue') await run(log, [])
      else if (action.type === 'cancel') await run(log, [], { reason: action.reason })
      else if (await release(log, restStatus(action.type))) break
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
    // A thread deleted in the meantime is not an error.
    if (!(isMillraceError(thrown) && thrown.code === 'not_found')) report(thrown)
    abandon()
  }

  /**
   * Another process may have deleted the thread and its recorded exchanges. If so, deletes what was
   * recorded here since.
   */
  async function closeExchanges(): Promise<void> {
    // A store failure has already been reported.
    const exists = !exchanges || !(abandoned || handingOver) || (await store.get(threadId).catch(() => true))
    if (!exists) await options.exchanges?.delete(threadId).catch(onError)
    exchanges?.close()
  }

  const done = work().catch(failed).finally(closeExchanges)
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
        const timeout = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, graceMs)
        })
        await Promise.race([loop.drain(), loop.ended, timeout])
        clearTimeout(timer)
        // Undefined if a store failure has ended the loop in the meantime.
        loop?.abandon()
      }
      await done
      let left: number | undefined
      try {
        await log?.commit()
        await log?.settled()
        for (let released = false; log && !abandoned && !released; ) {
          const status = restStatus(nextThreadAction(log.state).type)
          released = await release(log, status)
          if (released && status === 'runnable') left = log.state.head
        }
      } catch (thrown) {
        failed(thrown)
      }
      log?.close()
      return left
    },
  }
}

function workersLost(losses: number): MillraceError {
  const message = `the run failed because ${losses} processes that worked on it were lost`
  return new MillraceError({ op: 'thread.run', code: 'workers_lost', message })
}

function isStoreError(thrown: unknown): boolean {
  return isMillraceError(thrown) && thrown.code === 'store_error'
}
