/** Starts jobs in the order they came, at most `limit` at once; an exclusive one waits for the rest and holds up those behind it. */
export interface Pool {
  add(job: { readonly exclusive: boolean; start(): Promise<void> }): void
  /** Forgets the jobs that have not started. */
  clear(): void
  /** Starts nothing more. */
  hold(): void
}

type Job = Parameters<Pool['add']>[0]

export function createPool(limit: number): Pool {
  const waiting: Job[] = []
  let running = 0
  let alone = false
  let held = false

  function over() {
    running--
    alone = false
    startNext()
  }

  function startNext() {
    for (;;) {
      const next = waiting[0]
      if (!next || held || alone || running >= limit || (next.exclusive && running > 0)) return
      waiting.shift()
      running++
      alone = next.exclusive
      next.start().then(over, over)
    }
  }

  return {
    add(job) {
      waiting.push(job)
      startNext()
    },
    clear() {
      waiting.length = 0
    },
    hold() {
      held = true
    },
  }
}
