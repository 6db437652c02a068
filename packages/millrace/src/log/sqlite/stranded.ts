import { fromColumn, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** A caller with threads to run, and the runs that it has. Null stands for all threads that have no caller. */
interface Queue {
  readonly n: number | null
  readonly runs: number
}

interface Stranded {
  readonly id: string
  readonly caller: number | null
}

/** So many callers are looked at in a turn. Where there are more the next look begins after them. */
const mostCallers = 1000

/** Gives the function that finds threads to run, fairly: see `ThreadStore.stranded`. */
export function strandedFinder(statements: Statements) {
  let after = 0

  function queues(time: number): Queue[] {
    const found = statements.callersDue.all({ after, now: time, most: mostCallers }) as unknown as Queue[]
    after = found.length < mostCallers ? 0 : Number(found.at(-1)?.n)
    return [{ n: null, runs: 0 }, ...found]
  }

  return (
    limit: number,
    search: { readonly agents: readonly string[]; readonly runs: number; readonly time: number },
  ): string[] => {
    const callers = queues(search.time).filter(({ n, runs }) => n === null || runs < search.runs)
    const agents = JSON.stringify(search.agents.map(toColumn))
    // Threads that have their turn below `turns` are looked at: with many callers the first turns are enough.
    for (let turns = 1; ; turns *= 2) {
      const asked = callers.filter(({ runs }) => runs < turns)
      const fewest = Math.min(...asked.map(({ runs }) => runs))
      const most = Math.min(limit, turns - fewest)
      const rows = statements.strandedOf.all({
        callers: JSON.stringify(asked.map(({ n }) => n)),
        agents,
        now: search.time,
        most,
      }) as unknown as Stranded[]
      const counts = new Map<number | null, number>()
      const runsOf = new Map(asked.map(({ n, runs }) => [n, runs]))
      const found = rows.flatMap(({ id, caller }) => {
        const count = counts.get(caller) ?? 0
        counts.set(caller, count + 1)
        const turn = (runsOf.get(caller) ?? 0) + count
        return caller === null || turn < search.runs ? [{ id, turn }] : []
      })
      // Rows are in the order of waiting, and those of a turn stay in it.
      found.sort((one, other) => one.turn - other.turn)
      const isComplete =
        asked.length === callers.length &&
        [...counts.values()].every((count) => count < most || most === limit)
      const sure = isComplete ? found : found.filter(({ turn }) => turn < turns)
      if (isComplete || sure.length >= limit) return sure.slice(0, limit).map(({ id }) => fromColumn(id))
    }
  }
}
