import type { LogView } from 'millrace/view'
import type { Session } from '../session.ts'
import { RowView } from './row-view.tsx'

export interface RowsProps {
  readonly log: LogView
  /** Absent for read-only rows. */
  readonly session: Session | undefined
}

/** How many of the latest rows are shown. */
const maxRows = 40

/** The rows of a log outside the virtual list: those of a sub-agent or of a replay. */
export function Rows({ log, session }: RowsProps) {
  const rows = log.rows.slice(-maxRows)
  return (
    <>
      {log.rows.length > maxRows && <p class="quiet">Earlier rows are not shown.</p>}
      {[...rows, ...log.waiting].map((row, index) => (
        <RowView key={row.key} row={row} session={session} isPending={index >= rows.length} />
      ))}
    </>
  )
}
