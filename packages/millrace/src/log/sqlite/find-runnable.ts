import type { Priority, RunnableThread } from '../store.ts'
import type { CallerQueue } from '../take-turns.ts'
import { takeTurns } from '../take-turns.ts'
import { fromColumn, toColumn } from './rows.ts'
import type { ReadStatements } from './statements.ts'

interface RunnableRow {
  readonly id: string
  readonly agent: string
  readonly head: number
  readonly due: number
  readonly caller: number
}

interface Search {
  readonly agents: readonly string[]
  /** How many runs a caller may have. */
  readonly runs: number
  readonly time: number
}

/** How many callers one search considers. If there are more, the next search starts after them. */
const maxCallers = 1000

/** Returns the function that finds threads to run, fairly: see `ThreadStore.findRunnable`. */
export function runnableFinder(statements: ReadStatements) {
  const after = [0, 0]

  function queues(background: 0 | 1, time: number): CallerQueue[] {
    const found = statements.callersDue.all({
      background,
      after: after[background] as number,
      now: time,
      most: maxCallers,
    }) as unknown as CallerQueue[]
    after[background] = found.length < maxCallers ? 0 : Number(found.at(-1)?.caller)
    return [{ caller: 0, runs: 0 }, ...found]
  }

  /** `before` are the threads that are claimed before these. */
  function find(
    limit: number,
    { agents, runs: maxRuns, time }: Search,
    { background, before }: { readonly background: 0 | 1; readonly before: readonly RunnableRow[] },
  ): RunnableRow[] {
    const turns = takeTurns<RunnableRow>({ limit, queues: queues(background, time), maxRuns, before })
    for (let step = turns.next(); ; ) {
      if (step.done) return step.value
      const { callers, most } = step.value
      const rows = statements.runnableOf.all({
        background,
        callers: JSON.stringify(callers),
        agents: JSON.stringify(agents.map(toColumn)),
        now: time,
        most,
      })
      step = turns.next(rows as unknown as RunnableRow[])
    }
  }

  return (limit: number, search: Search): RunnableThread[] => {
    const describe =
      (priority: Priority) =>
      ({ id, agent, head, due }: RunnableRow): RunnableThread => ({
        id: fromColumn(id),
        agent: fromColumn(agent),
        head,
        priority,
        waitedMs: Math.max(0, search.time - due),
      })
    const first = find(limit, search, { background: 0, before: [] })
    const rest =
      first.length < limit ? find(limit - first.length, search, { background: 1, before: first }) : []
    return [...first.map(describe('interactive')), ...rest.map(describe('batch'))]
  }
}
