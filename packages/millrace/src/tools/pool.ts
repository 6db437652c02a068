/** Starts jobs in the order they came, at most `limit` at once; an exclusive one waits for the rest and holds up those behind it. */
export interface Pool {
  add(job: { readonly exclusive: boolean; start(): Promise<void> }): void
  /** Forgets the jobs that have not started. */
  clear(): void
  /** Starts nothing more. */
  hold(): void
}

type Job = Parameters<Pool['add']>[0]

/** Jobs that never wait for anything would otherwise all run in one turn. */
const startsPerTurn = 64

/** `turn` lets everything else that is due have its turn. */
export function createPool(limit: number, turn: () => Promise<void>): Pool {
  let waiting: Job[] = []
  /** The place of the next one. */
  let at = 0
  let starts = 0
  let running = 0
  let alone = false
  let held = false
  let resting = false

  function over() {
    running--
    alone = false
    startNext()
  }

  function startNext() {
    for (;;) {
      const next = waiting[at]
      if (!next) return clear()
      if (held || resting || alone || running >= limit || (next.exclusive && running > 0)) return
      at++
      running++
      alone = next.exclusive
      resting = ++starts % startsPerTurn === 0
      if (resting) void turn().then(goOn)
      next.start().then(over, over)
    }
  }

  function goOn() {
    resting = false
    startNext()
  }

  function clear() {
    waiting = []
    at = 0
  }

  return {
    add(job) {
      waiting.push(job)
      startNext()
    },
    clear,
    hold() {
      held = true
    },
  }
}
