import type { AgentInternals } from '../agent/index.ts'
import type { Lease } from '../log/index.ts'
import { isMillraceError, toMillraceError } from '../protocol/index.ts'
import type { Worker, WorkerOptions } from './worker.ts'
import { startWorker } from './worker.ts'

/** Finds threads that have something to do, and does it: those of this process at once, those that others left behind soon. */
export interface Dispatcher {
  /** There may be something to do. */
  wake(threadId: string): void
  /** How many threads are being worked on, and how many wait until there is room for them. */
  counts(): { readonly running: number; readonly waiting: number }
  /** Gives all threads back; those whose tools take longer than this are cut off. */
  close(graceMs: number): Promise<void>
}

export interface DispatcherOptions
  extends Pick<
    WorkerOptions,
    'store' | 'logs' | 'changed' | 'context' | 'exchanges' | 'telemetry' | 'maxLosses' | 'onError'
  > {
  readonly agents: ReadonlyMap<string, AgentInternals>
  readonly leaseMs: number
  /** A thread was written to, as far as `head` if that is known. */
  readonly changed: (threadId: string, head?: number) => void
  /** How often it looks for threads that others left behind. */
  readonly recoverMs: number
  readonly maxRuns: number
  /** What the logs of the threads being worked on may have in bytes, in all. */
  readonly maxRunBytes: number
  /** How many runs one caller may have at once, over all processes. */
  readonly runsOfCaller: number
}

/** A thread that this process is at work on, or about to claim. */
interface Place {
  lease?: Lease
  worker?: Worker
  /** Somebody said something meanwhile. */
  again: boolean
  /** The bytes of its log, and who it counts for. */
  bytes: number
  caller?: string | undefined
  /** There is something to do, and a quota or `maxRunBytes` was in the way. */
  isHeldBack: boolean
}

/** How often it looks at most: each change that others make, and each run that ends, may leave something to do. */
const glanceMs = 50
const mostAtOnce = 100
/** How much of `maxRunBytes` the threads of one caller may take. One thread may be larger. */
const mostOfCaller = 1 / 4

export function dispatcher(options: DispatcherOptions): Dispatcher {
  const { store, agents, leaseMs, recoverMs, maxRuns, maxRunBytes, runsOfCaller, onError } = options
  const owner = `worker_${crypto.randomUUID()}`
  const workers = new Map<string, Place>()
  const running = new Set<Promise<void>>()
  /** Those for which there was no room, or that were held back. */
  const waiting = new Set<string>()
  /** What the threads being worked on have in their logs, by caller. */
  const runBytes = new Map<string | undefined, number>()
  let closed = false
  let looking = false
  let lookAgain = false
  let lookedAt = 0
  /** How many runs have ended here. */
  let ended = 0
  let glance: ReturnType<typeof setTimeout> | undefined

  function wake(threadId: string) {
    const busy = workers.get(threadId)
    if (busy) busy.again = true
    else if (closed) return
    else if (workers.size >= maxRuns) waiting.add(threadId)
    else {
      waiting.delete(threadId)
      const begun = begin(threadId).finally(() => running.delete(begun))
      running.add(begun)
    }
  }

  async function begin(threadId: string) {
    const place: Place = { again: false, bytes: 0, isHeldBack: false }
    const endedBefore = ended
    workers.set(threadId, place)
    try {
      await work(threadId, place)
    } catch (thrown) {
      failed(thrown)
    }
    workers.delete(threadId)
    countBytes(place.caller, -place.bytes)
    if (place.worker) ended++
    if (closed) return
    if (place.isHeldBack) waiting.add(threadId)
    else if (place.again) return wake(threadId)
    // There may be room for one that had to wait; for one that was held back only if a run has ended since.
    if (waiting.size > 0 && !(place.isHeldBack && ended === endedBefore)) lookSoon()
  }

  async function work(threadId: string, place: Place) {
    const stored = await store.get(threadId)
    const agent = stored && agents.get(stored.agent)
    // A thread of an agent that is not here is for another process.
    if (!agent || closed) return
    const { bytes, caller, ...info } = stored
    const isQueued = info.status === 'queued'
    place.isHeldBack = isQueued && !hasRoom(caller, bytes)
    if (place.isHeldBack) return
    place.caller = caller
    grow(bytes)
    const leasedAt = performance.now()
    const claimed = await store.claim(threadId, owner, leaseMs, runsOfCaller)
    place.isHeldBack = isQueued && !claimed
    if (!claimed) return
    place.lease = claimed.lease
    place.worker = startWorker({ ...options, ...claimed, leasedAt, info, caller, agent, onGrown: grow })
    // Claimed while the app was being closed: nobody else hands it over.
    if (closed) await place.worker.handOver(0)
    const head = await place.worker.done
    if (head !== undefined) pack(threadId, head)

    function grow(bytes: number) {
      place.bytes += bytes
      countBytes(caller, bytes)
    }
  }

  /** While the thread may go on. */
  function pack(threadId: string, head: number) {
    const packing = store
      .compact(threadId, head)
      .catch((thrown: unknown) => {
        // A thread that was deleted meanwhile is no failure.
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
    return own === 0 || own + bytes <= maxRunBytes * mostOfCaller
  }

  function lookSoon() {
    glance ??= setTimeout(
      () => {
        glance = undefined
        void look()
      },
      Math.max(0, lookedAt + glanceMs - performance.now()),
    )
  }

  async function look() {
    lookedAt = performance.now()
    lookAgain = looking
    if (looking || closed) return
    looking = true
    try {
      const room = Math.min(mostAtOnce, maxRuns - workers.size)
      if (room <= 0) return
      const waited = [...waiting]
      const found = await store.stranded(room, [...agents.keys()], runsOfCaller)
      // There was room for more: what had to wait and is not among them is done by now, or held back by the quota of its caller.
      if (found.length < room && waited.length > 0 && !(await isAnyLeft()))
        for (const threadId of waited) waiting.delete(threadId)
      for (const threadId of found) wake(threadId)
    } catch (thrown) {
      failed(thrown)
    } finally {
      looking = false
    }
    if (lookAgain) void look()
  }

  async function isAnyLeft() {
    return (await store.stranded(1, [...agents.keys()])).length > 0
  }

  async function renew() {
    const held = [...workers.values()].filter(({ worker }) => worker)
    const askedAt = performance.now()
    try {
      const lost = await store.renew(
        held.flatMap(({ lease }) => lease ?? []),
        leaseMs,
      )
      for (const { worker } of held) worker?.renewed(askedAt)
      for (const { threadId, epoch } of lost) {
        const place = workers.get(threadId)
        if (place?.lease?.epoch === epoch) place.worker?.abandon()
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
    lookSoon()
  })
  const timers = [setInterval(look, recoverMs), setInterval(renew, leaseMs / 3)]
  void look()

  return {
    wake,
    counts: () => ({ running: workers.size, waiting: waiting.size }),
    async close(graceMs) {
      if (closed) return
      closed = true
      clearInterval(timers[0])
      // Leases are kept up meanwhile, and what others say is still heard.
      await Promise.all([...workers.values()].map(({ worker }) => worker?.handOver(graceMs)))
      while (running.size > 0) await Promise.all(running)
      clearInterval(timers[1])
      unwatch()
      clearTimeout(glance)
    },
  }
}
