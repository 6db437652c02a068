import type { RunView } from 'millrace/view'
import { runTimes } from '../chat/outcome.ts'
import { outcomeLabels } from '../chat/strings.ts'
import { shortCost } from '../cost.ts'
import { clockTime, duration, number } from '../format.ts'
import { inspect } from '../state.ts'
import { link } from './links.tsx'
import type { Column } from './table.tsx'
import { Table } from './table.tsx'

export interface RunsTableProps {
  readonly runs: readonly RunView[]
  /** The current time. Only the last run may still change. */
  readonly at: number
}

/** All runs of a thread, the latest first. The rest of their numbers is on their own pages. */
export function RunsTable({ runs, at }: RunsTableProps) {
  const rows = runs.map((run, place) => ({ run, place })).reverse()
  const columns: readonly Column<(typeof rows)[number]>[] = [
    {
      head: 'Run',
      cell: ({ run, place }) => [
        link(`Run ${number(place + 1)}`, () => inspect({ kind: 'run', run })),
        ' ',
        <span class="quiet">{clockTime(run.startedAt)}</span>,
      ],
    },
    { head: 'Outcome', cell: ({ run }) => (run.outcome ? outcomeLabels[run.outcome] : 'Running') },
    { head: 'Calls', cell: ({ run }) => number(run.calls.length), isNumber: true, isExtra: true },
    { head: 'In', cell: ({ run }) => number(run.usage.inputTokens), isNumber: true, isExtra: true },
    { head: 'Out', cell: ({ run }) => number(run.usage.outputTokens), isNumber: true, isExtra: true },
    { head: 'Active', cell: ({ run }) => duration(runTimes(run, at).activeMs), isNumber: true },
    { head: 'Cost', cell: ({ run }) => shortCost(run.spent), isNumber: true },
  ]
  return <Table label="Runs of this thread" columns={columns} rows={rows} keyOf={({ run }) => run.seq} />
}
