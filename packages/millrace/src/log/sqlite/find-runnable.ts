import { fromColumn, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/**
 * A caller with threads to run, and its number of runs. Null stands for all threads without a
 * caller.
 */
interface CallerQueue {
  readonly n: number | null
  readonly runs: number
}

interface RunnableThread {
  readonly id: string
  readonly caller: number | null
}

/** How many callers one search considers. If there are more, the next search starts after them. */
const maxCallers = 1000

/** Returns the function that finds threads to run, fairly: see `ThreadStore.findRunnable`. */
export function runnableFinder(statements: Statements) {
  let after = 0

  function queues(time: number): CallerQueue[] {
    const found = statements.callersDue.all({
      after,
      now: time,
      most: maxCallers,
    }) as unknown as CallerQueue[]
    after = found.length < maxCallers ? 0 : Number(found.at(-1)?.n)
    return [{ n: null, runs: 0 }, ...found]
  }

  return (
    limit: number,
    search: { readonly agents: readonly string[]; readonly runs: number; readonly time: number },
  ): string[] => {
    const callers = queues(search.time).filter(({ n, runs }) => n === null || runs < search.runs)
    const agents = JSON.stringify(search.agents.map(toColumn))
    // Considers threads whose turn is below `turns`: with many callers, the first turns are enough.
    for (let turns = 1; ; turns *= 2) {
      const asked = callers.filter(({ runs }) => runs < turns)
      const fewest = Math.min(...asked.map(({ runs }) => runs))
      const most = Math.min(limit, turns - fewest)
      const rows = statements.runnableOf.all({
        callers: JSON.stringify(asked.map(({ n }) => n)),
        agents,
        now: search.time,
        most,
      }) as unknown as RunnableThread[]
      const counts = new Map<number | null, number>()
      const runsOf = new Map(asked.map(({ n, runs }) => [n, runs]))
      const found = rows.flatMap(({ id, caller }) => {
        const count = counts.get(caller) ?? 0
        counts.set(caller, count + 1)
        const turn = (runsOf.get(caller) ?? 0) + count
        return caller === null || turn < search.runs ? [{ id, turn }] : []
      })
      // Rows are sorted by waiting time, and the sort is stable.
      found.sort((one, other) => one.turn - other.turn)
      const isComplete =
        asked.length === callers.length &&
        [...counts.values()].every((count) => count < most || most === limit)
      const sure = isComplete ? found : found.filter(({ turn }) => turn < turns)
      if (isComplete || sure.length >= limit) return sure.slice(0, limit).map(({ id }) => fromColumn(id))
    }
  }
}
