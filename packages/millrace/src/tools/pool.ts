/**
 * Starts jobs in order, at most `limit` at once. An exclusive job waits for running jobs and blocks
 * those after it.
 */
export interface Pool {
  add(job: { readonly exclusive: boolean; start(): Promise<void> }): void
  /** Drops the jobs that have not started. */
  clear(): void
  /** Starts no more jobs. */
  stop(): void
}

type Job = Parameters<Pool['add']>[0]

/** Jobs that never await anything would otherwise all run in one turn. */
const startsPerTurn = 64

/** `yieldTurn` yields to timers and sockets. */
export function createPool(limit: number, yieldTurn: () => Promise<void>): Pool {
  let waiting: Job[] = []
  let nextIndex = 0
  let starts = 0
  let running = 0
  let runsExclusive = false
  let stopped = false
  let yielding = false

  function onSettled() {
    running--
    runsExclusive = false
    startNext()
  }

  function startNext() {
    for (;;) {
      const next = waiting[nextIndex]
      if (!next) return clear()
      if (stopped || yielding || runsExclusive || running >= limit || (next.exclusive && running > 0)) return
      nextIndex++
      running++
      runsExclusive = next.exclusive
      yielding = ++starts % startsPerTurn === 0
      if (yielding) void yieldTurn().then(resume)
      next.start().then(onSettled, onSettled)
    }
  }

  function resume() {
    yielding = false
    startNext()
  }

  function clear() {
    waiting = []
    nextIndex = 0
  }

  return {
    add(job) {
      waiting.push(job)
      startNext()
    },
    clear,
    stop() {
      stopped = true
    },
  }
}
