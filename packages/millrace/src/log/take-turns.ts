/** A caller with threads to run, and its number of runs. 0 stands for all threads without a caller. */
export interface CallerQueue {
  readonly caller: number
  readonly runs: number
}

/** A thread that can be claimed. */
export interface DueThread {
  readonly caller: number
}

/** Asks for the first `most` threads of each of these callers, those that have waited longest first. */
export interface TurnRequest {
  readonly callers: readonly number[]
  readonly most: number
}

interface TurnOptions {
  readonly limit: number
  readonly queues: readonly CallerQueue[]
  /** How many runs a caller may have. */
  readonly maxRuns: number
  /** Threads that are claimed before these. */
  readonly before: readonly DueThread[]
}

/**
 * Finds up to `limit` threads fairly: each comes from the caller that then has the fewest runs.
 * Yields what to read, and expects the threads in the order of their waiting time. With many
 * callers, the first threads of each are enough.
 */
export function* takeTurns<Thread extends DueThread>({
  limit,
  queues,
  maxRuns,
  before,
}: TurnOptions): Generator<TurnRequest, Thread[], readonly Thread[]> {
  const taken = countsOf(before)
  const callers = queues
    .map(({ caller, runs }) => ({ caller, runs: runs + (taken.get(caller) ?? 0) }))
    .filter(({ caller, runs }) => caller === 0 || runs < maxRuns)
  if (callers.length === 0) return []
  // Considers threads whose turn is below `turns`.
  for (let turns = Math.ceil(limit / callers.length); ; turns *= 2) {
    const asked = callers.filter(({ runs }) => runs < turns)
    const fewest = Math.min(...asked.map(({ runs }) => runs))
    const most = Math.min(limit, turns - fewest)
    const rows = asked.length > 0 ? yield { callers: asked.map(({ caller }) => caller), most } : []
    const counts = new Map<number, number>()
    const runsOf = new Map(asked.map(({ caller, runs }) => [caller, runs]))
    const found = rows.flatMap((row) => {
      const { caller } = row
      const count = counts.get(caller) ?? 0
      counts.set(caller, count + 1)
      const turn = (runsOf.get(caller) ?? 0) + count
      return caller === 0 || turn < maxRuns ? [{ row, turn }] : []
    })
    // Rows are sorted by waiting time, and the sort is stable.
    found.sort((one, other) => one.turn - other.turn)
    const isComplete =
      asked.length === callers.length && [...counts.values()].every((count) => count < most || most === limit)
    const sure = isComplete ? found : found.filter(({ turn }) => turn < turns)
    if (isComplete || sure.length >= limit) return sure.slice(0, limit).map(({ row }) => row)
  }
}

function countsOf(threads: readonly DueThread[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const { caller } of threads) counts.set(caller, (counts.get(caller) ?? 0) + 1)
  return counts
}
