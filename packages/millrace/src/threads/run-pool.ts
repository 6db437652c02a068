import type { AgentInternals } from '../agent/index.ts'
import type { Lease, RunLimits, RunnableThread } from '../log/index.ts'
import { isMillraceError, MillraceError, toMillraceError } from '../protocol/index.ts'
import type { Dispatcher, DispatcherWork, WokenThread } from './dispatcher.ts'
import type { Worker, WorkerOptions } from './worker.ts'
import { startWorker } from './worker.ts'

/**
 * Works on threads that have something to do: those that the dispatcher passes, and those that scans
 * of the store find, which other processes have left behind or the dispatcher has lost.
 */
export interface RunPool {
  /** Reports that a thread has something to do. */
  wake(thread: WokenThread): void
  /** How many threads are being worked on, and how many wait until there is room. */
  counts(): { readonly running: number; readonly waiting: number }
  /** For how many milliseconds the thread that has waited longest could have run, as of the last scan. */
  oldestMs(): number
  /** Takes no more threads until `resume()`. */
  pause(): void
  resume(): void
  /** Releases all threads. Tools that take longer than `graceMs` are cut off. */
  close(graceMs: number): Promise<void>
}

export interface RunPoolOptions
  extends Pick<
    WorkerOptions,
    | 'store'
    | 'logs'
    | 'changed'
    | 'context'
    | 'extension'
    | 'exchanges'
    | 'budget'
    | 'telemetry'
    | 'maxLosses'
    | 'onError'
  > {
  readonly agents: ReadonlyMap<string, AgentInternals>
  readonly dispatcher: Dispatcher
  /** False if this process only passes threads on, to others that work on them. */
  readonly works: boolean
  readonly leaseMs: number
  /** Interval of scans for threads left behind by other processes. */
  readonly recoverMs: number
  readonly maxRuns: number
  /** Limit for the total bytes of the logs of threads being worked on. */
  readonly maxRunBytes: number
  /** How many concurrent runs are allowed, across all processes. */
  readonly limits: RunLimits
}

/** A thread that this process works on, or is about to claim. */
interface Slot {
  lease?: Lease
  worker?: Worker
  thread?: WokenThread
  /** The thread was woken again in the meantime. */
  again: boolean
  /** The bytes of its log, and the caller they count for. */
  bytes: number
  caller?: string | undefined
  /** There is something to do, but a quota or `maxRunBytes` prevents it. */
  isHeldBack: boolean
}

/**
 * Minimum time between scans: each thread that became runnable, and each run that ends, may leave
 * something to do.
 */
const scanMs = 50
/** Most threads are claimed by the process that made them runnable, so the others wait this long at most. */
const othersMs = 30
const maxPerScan = 100
/**
 * The share of `maxRunBytes` that the threads of one caller may take. A single thread may be
 * larger.
 */
const maxShareOfCaller = 1 / 4
/** How long closing waits for a dispatcher that does not answer. Scans find what it has not passed on. */
const wakeMs = 1000
/** A thread that could have run for this long means that something is wrong. */
const alarmMs = 30_000

export function runPool(options: RunPoolOptions): RunPool {
  const { store, agents, dispatcher, works, leaseMs, recoverMs, maxRuns, maxRunBytes, limits, onError } =
    options
  const name = `worker_${crypto.randomUUID()}`
  const names = [...agents.keys()]
  const workers = new Map<string, Slot>()
  const running = new Set<Promise<void>>()
  /** Threads for which there was no room, or that were held back. */
  const waiting = new Set<string>()
  /** Log bytes of the threads being worked on, by caller. */
  const runBytes = new Map<string | undefined, number>()
  let closed = false
  let scanning = false
  let scanAgain = false
  let scannedAt = 0
  /** How many runs have ended here. */
  let ended = 0
  let claims = 0
  let oldest = 0
  let isPaused = false
  let work: DispatcherWork | undefined
  let scanTimer: ReturnType<typeof setTimeout> | undefined

  function wake(thread: WokenThread) {
    // Otherwise the dispatcher would first have to pass it around.
    const busy = workers.get(thread.id)
    if (busy) busy.again = true
    else if (!closed) void pass(thread)
  }

  async function pass(thread: WokenThread) {
    try {
      await dispatcher.wake(thread)
    } catch (thrown) {
      failed(thrown)
      // Rather here than nowhere.
      if (works) void run(thread.id)
    }
  }

  /** Works on a thread if there is room. Resolves when that is done, and never rejects. */
  async function run(threadId: string): Promise<void> {
    const busy = workers.get(threadId)
    if (busy) busy.again = true
    else if (closed) return
    else if (isPaused || workers.size >= maxRuns) waiting.add(threadId)
    else {
      waiting.delete(threadId)
      const started = start(threadId).finally(() => running.delete(started))
      running.add(started)
      if (workers.size >= maxRuns) work?.pause()
      await started
    }
  }

  async function start(threadId: string) {
    const slot: Slot = { again: false, bytes: 0, isHeldBack: false }
    const endedBefore = ended
    workers.set(threadId, slot)
    try {
      await runThread(threadId, slot)
    } catch (thrown) {
      failed(thrown)
    }
    workers.delete(threadId)
    countBytes(slot.caller, -slot.bytes)
    if (slot.worker) ended++
    if (closed) return
    if (!isPaused) work?.resume()
    if (slot.isHeldBack) waiting.add(threadId)
    else if (slot.again) return run(threadId)
    // There may be room for a waiting thread; for one that was held back only if a run has ended
    // since.
    if (waiting.size > 0 && !(slot.isHeldBack && ended === endedBefore)) scanSoon()
  }

  async function runThread(threadId: string, slot: Slot) {
    const stored = await store.get(threadId)
    const agent = stored && agents.get(stored.agent)
    // Threads of other agents are for other processes.
    if (!agent || closed) return
    const { bytes, caller, priority, ...info } = stored
    const isQueued = info.status === 'queued'
    slot.isHeldBack = isQueued && !hasRoom(caller, bytes)
    if (slot.isHeldBack) return
    slot.caller = caller
    grow(bytes)
    const leasedAt = performance.now()
    const claimed = await store.claim(threadId, `${name}_${++claims}`, leaseMs, limits)
    slot.isHeldBack = isQueued && !claimed
    if (!claimed) return
    slot.lease = claimed.lease
    slot.thread = { id: threadId, agent: info.agent, head: info.head, priority }
    slot.worker = startWorker({ ...options, ...claimed, leasedAt, info, caller, agent, onGrown: grow })
    // Claimed while the app was closing, so `close()` does not hand it over.
    if (closed) await handOver(slot, 0)
    const head = await slot.worker.done
    if (head !== undefined) pack(threadId, head)

    function grow(bytes: number) {
      slot.bytes += bytes
      countBytes(caller, bytes)
    }
  }

  /** Packs the log in the background; the thread may continue at the same time. */
  function pack(threadId: string, head: number) {
    const packing = store
      .packDeltas(threadId, head)
      .catch((thrown: unknown) => {
        // A thread deleted in the meantime is not an error.
        if (!(isMillraceError(thrown) && thrown.code === 'not_found')) failed(thrown)
      })
      .finally(() => running.delete(packing))
    running.add(packing)
  }

  function countBytes(caller: string | undefined, bytes: number) {
    const held = (runBytes.get(caller) ?? 0) + bytes
    if (held > 0) runBytes.set(caller, held)
    else runBytes.delete(caller)
  }

  function hasRoom(caller: string | undefined, bytes: number): boolean {
    let all = 0
    for (const held of runBytes.values()) all += held
    if (all > 0 && all + bytes > maxRunBytes) return false
    const own = caller === undefined ? 0 : (runBytes.get(caller) ?? 0)
    return own === 0 || own + bytes <= maxRunBytes * maxShareOfCaller
  }

  /** Leaves a thread to other processes. */
  async function handOver({ worker, thread }: Slot, graceMs: number) {
    const head = await worker?.handOver(graceMs)
    if (thread && head !== undefined)
      await Promise.race([pass({ ...thread, head, isHandedOver: true }), after(wakeMs)])
  }

  function scanSoon(afterMs = 0) {
    scanTimer ??= setTimeout(
      () => {
        scanTimer = undefined
        void scan()
      },
      Math.max(afterMs, scannedAt + scanMs - performance.now()),
    )
  }

  async function scan() {
    scannedAt = performance.now()
    scanAgain = scanning
    if (scanning || closed) return
    scanning = true
    try {
      const room = works && !isPaused ? Math.min(maxPerScan, maxRuns - workers.size) : 0
      const waitingBefore = [...waiting]
      const found = await store.findRunnable(maxPerScan, names, limits)
      if (closed) return
      checkOldest(found)
      // There was room for more, so threads that waited and were not found are done by now, or held
      // back by a limit.
      if (found.length < room && waitingBefore.length > 0 && !(await hasRunnable()))
        for (const threadId of waitingBefore) waiting.delete(threadId)
      for (const [index, thread] of found.entries()) {
        if (thread.waitedMs < dispatcher.patienceMs) void pass(thread)
        else if (index < room) void run(thread.id)
      }
    } catch (thrown) {
      // Once the app is closed, its store may be closed too.
      if (!closed) failed(thrown)
    } finally {
      scanning = false
    }
    if (scanAgain) void scan()
  }

  async function hasRunnable() {
    return (await store.findRunnable(1, names)).length > 0
  }

  /** Reports once that a thread has waited for too long. */
  function checkOldest(found: readonly RunnableThread[]) {
    const before = oldest
    const first = found.reduce<RunnableThread | undefined>(
      (one, other) => (one && one.waitedMs >= other.waitedMs ? one : other),
      undefined,
    )
    oldest = first?.waitedMs ?? 0
    if (first && oldest >= alarmMs && before < alarmMs) onError(notTaken(first))
  }

  async function renew() {
    const held = [...workers.values()].filter(({ worker }) => worker)
    if (held.length === 0) return
    const requestedAt = performance.now()
    try {
      const lost = await store.renew(
        held.flatMap(({ lease }) => lease ?? []),
        leaseMs,
      )
      for (const { worker } of held) worker?.renewed(requestedAt)
      for (const { threadId, epoch } of lost) {
        const slot = workers.get(threadId)
        if (slot?.lease?.epoch === epoch) slot.worker?.abandon()
      }
    } catch (thrown) {
      failed(thrown)
    }
  }

  function failed(thrown: unknown) {
    onError(toMillraceError(thrown, { op: 'millrace', code: 'store_error' }))
  }

  // If threads are passed by a queue, it wakes the right process.
  const isNotified = works && dispatcher.patienceMs === 0
  const watch = store.watch({
    ...(isNotified && { runnable: () => scanSoon(Math.random() * othersMs) }),
    missed: () => scanSoon(),
  })
  const timers = [setInterval(scan, recoverMs), setInterval(renew, leaseMs / 3)]
  if (works) work = dispatcher.work(run, { agents: names, maxRuns, onError })
  void scan()

  return {
    wake,
    counts: () => ({ running: workers.size, waiting: waiting.size }),
    oldestMs: () => oldest,
    pause() {
      isPaused = true
      work?.pause()
    },
    resume() {
      isPaused = false
      if (closed) return
      if (workers.size < maxRuns) work?.resume()
      scanSoon()
    },
    async close(graceMs) {
      if (closed) return
      closed = true
      clearInterval(timers[0])
      const stopped = work?.close()
      // Leases are still renewed, and changes by other processes still reported.
      await Promise.all([...workers.values()].map((slot) => handOver(slot, graceMs)))
      while (running.size > 0) await Promise.all(running)
      await stopped
      clearInterval(timers[1])
      watch.close()
      clearTimeout(scanTimer)
    },
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref?.())
}

function notTaken({ id, agent, waitedMs }: RunnableThread): MillraceError {
  const message = `thread '${id}' has waited ${Math.round(waitedMs / 1000)} s for a process that runs agent '${agent}': start one, or look why none takes it`
  return new MillraceError({ op: 'millrace', code: 'store_error', message })
}
