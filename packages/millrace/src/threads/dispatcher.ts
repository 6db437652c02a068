import type { AgentInternals } from '../agent/index.ts'
import type { Lease } from '../log/index.ts'
import { isMillraceError, toMillraceError } from '../protocol/index.ts'
import type { Worker, WorkerOptions } from './worker.ts'
import { startWorker } from './worker.ts'

/**
 * Finds threads that have something to do, and works on them: those of this process right away,
 * those left behind by other processes soon.
 */
export interface Dispatcher {
  /** Reports that a thread may have something to do. */
  wake(threadId: string): void
  /** How many threads are being worked on, and how many wait until there is room. */
  counts(): { readonly running: number; readonly waiting: number }
  /** Releases all threads. Tools that take longer than `graceMs` are cut off. */
  close(graceMs: number): Promise<void>
}

export interface DispatcherOptions
  extends Pick<
    WorkerOptions,
    'store' | 'logs' | 'changed' | 'context' | 'exchanges' | 'telemetry' | 'maxLosses' | 'onError'
  > {
  readonly agents: ReadonlyMap<string, AgentInternals>
  readonly leaseMs: number
  /** Called when a thread was written to, up to `head` if that is known. */
  readonly changed: (threadId: string, head?: number) => void
  /** Interval of scans for threads left behind by other processes. */
  readonly recoverMs: number
  readonly maxRuns: number
  /** Limit for the total bytes of the logs of threads being worked on. */
  readonly maxRunBytes: number
  /** How many concurrent runs one caller may have, across all processes. */
  readonly runsOfCaller: number
}

/** A thread that this process works on, or is about to claim. */
interface Slot {
  lease?: Lease
  worker?: Worker
  /** The thread was woken again in the meantime. */
  again: boolean
  /** The bytes of its log, and the caller they count for. */
  bytes: number
  caller?: string | undefined
  /** There is something to do, but a quota or `maxRunBytes` prevents it. */
  isHeldBack: boolean
}

/**
 * Minimum time between scans: each change by another process, and each run that ends, may leave
 * something to do.
 */
const scanMs = 50
const maxPerScan = 100
/**
 * The share of `maxRunBytes` that the threads of one caller may take. A single thread may be
 * larger.
 */
const maxShareOfCaller = 1 / 4

export function dispatcher(options: DispatcherOptions): Dispatcher {
  const { store, agents, leaseMs, recoverMs, maxRuns, maxRunBytes, runsOfCaller, onError } = options
  const owner = `worker_${crypto.randomUUID()}`
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
  let scanTimer: ReturnType<typeof setTimeout> | undefined

  function wake(threadId: string) {
    const busy = workers.get(threadId)
    if (busy) busy.again = true
    else if (closed) return
    else if (workers.size >= maxRuns) waiting.add(threadId)
    else {
      waiting.delete(threadId)
      const started = start(threadId).finally(() => running.delete(started))
      running.add(started)
    }
  }

  async function start(threadId: string) {
    const slot: Slot = { again: false, bytes: 0, isHeldBack: false }
    const endedBefore = ended
    workers.set(threadId, slot)
    try {
      await work(threadId, slot)
    } catch (thrown) {
      failed(thrown)
    }
    workers.delete(threadId)
    countBytes(slot.caller, -slot.bytes)
    if (slot.worker) ended++
    if (closed) return
    if (slot.isHeldBack) waiting.add(threadId)
    else if (slot.again) return wake(threadId)
    // There may be room for a waiting thread; for one that was held back only if a run has ended
    // since.
    if (waiting.size > 0 && !(slot.isHeldBack && ended === endedBefore)) scanSoon()
  }

  async function work(threadId: string, slot: Slot) {
    const stored = await store.get(threadId)
    const agent = stored && agents.get(stored.agent)
    // Threads of other agents are for other processes.
    if (!agent || closed) return
    const { bytes, caller, ...info } = stored
    const isQueued = info.status === 'queued'
    slot.isHeldBack = isQueued && !hasRoom(caller, bytes)
    if (slot.isHeldBack) return
    slot.caller = caller
    grow(bytes)
    const leasedAt = performance.now()
    const claimed = await store.claim(threadId, owner, leaseMs, runsOfCaller)
    slot.isHeldBack = isQueued && !claimed
    if (!claimed) return
    slot.lease = claimed.lease
    slot.worker = startWorker({ ...options, ...claimed, leasedAt, info, caller, agent, onGrown: grow })
    // Claimed while the app was closing, so `close()` does not hand it over.
    if (closed) await slot.worker.handOver(0)
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

  function scanSoon() {
    scanTimer ??= setTimeout(
      () => {
        scanTimer = undefined
        void scan()
      },
      Math.max(0, scannedAt + scanMs - performance.now()),
    )
  }

  async function scan() {
    scannedAt = performance.now()
    scanAgain = scanning
    if (scanning || closed) return
    scanning = true
    try {
      const room = Math.min(maxPerScan, maxRuns - workers.size)
      if (room <= 0) return
      const waitingBefore = [...waiting]
      const found = await store.findRunnable(room, [...agents.keys()], runsOfCaller)
      // There was room for more, so threads that waited and were not found are done by now, or held
      // back by their caller's quota.
      if (found.length < room && waitingBefore.length > 0 && !(await hasRunnable()))
        for (const threadId of waitingBefore) waiting.delete(threadId)
      for (const threadId of found) wake(threadId)
    } catch (thrown) {
      failed(thrown)
    } finally {
      scanning = false
    }
    if (scanAgain) void scan()
  }

  async function hasRunnable() {
    return (await store.findRunnable(1, [...agents.keys()])).length > 0
  }

  async function renew() {
    const held = [...workers.values()].filter(({ worker }) => worker)
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

  const unwatch = store.watch((threadId, head) => {
    options.changed(threadId, head)
    scanSoon()
  })
  const timers = [setInterval(scan, recoverMs), setInterval(renew, leaseMs / 3)]
  void scan()

  return {
    wake,
    counts: () => ({ running: workers.size, waiting: waiting.size }),
    async close(graceMs) {
      if (closed) return
      closed = true
      clearInterval(timers[0])
      // Leases are still renewed, and changes by other processes still reported.
      await Promise.all([...workers.values()].map(({ worker }) => worker?.handOver(graceMs)))
      while (running.size > 0) await Promise.all(running)
      clearInterval(timers[1])
      unwatch()
      clearTimeout(scanTimer)
    },
  }
}
