import { fromColumn, toColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** A caller with threads to run. The one without a number stands for all threads that have no caller. */
interface Queue {
  readonly n: number | null
  readonly runs: number
}

interface Candidate {
  readonly n: number
  readonly id: string
  readonly due: number
  /** The number of runs that its caller has once it is claimed, with those before it. */
  readonly turn: number
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
    {
      agents,
      runs,
      time,
    }: { readonly agents: readonly string[]; readonly runs: number; readonly time: number },
  ): string[] => {
    const callers = queues(time).filter((queue) => queue.n === null || queue.runs < runs)
    const names = JSON.stringify(agents.map(toColumn))

    function candidatesOf({ n, runs: before }: Queue, most: number): Candidate[] {
      const rows = statements.strandedOf.all({ caller: n, now: time, agents: names, most })
      return rows.map((row, index) => ({ ...(row as unknown as Candidate), turn: before + index }))
    }

    // All that have their turn before `turns` are looked at. Few turns are enough where many callers wait.
    for (let turns = 1; ; turns *= 2) {
      let more = false
      const found = callers.flatMap((queue) => {
        const most = Math.min(limit, queue.n === null ? limit : runs - queue.runs)
        const asked = Math.min(most, turns - queue.runs)
        if (asked <= 0) {
          more = true
          return []
        }
        const candidates = candidatesOf(queue, asked)
        more ||= candidates.length === asked && asked < most
        return candidates
      })
      if (more && found.length < limit) continue
      const order = found.sort(
        (one, other) => one.turn - other.turn || one.due - other.due || one.n - other.n,
      )
      return order.slice(0, limit).map(({ id }) => fromColumn(id))
    }
  }
}
