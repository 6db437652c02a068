import type { LogView } from 'millrace/view'
import type { Session } from '../session.ts'
import { RowView } from './row-view.tsx'

export interface RowsProps {
  readonly log: LogView
  /** Without it nothing can be acted on. */
  readonly session: Session | undefined
}

/** So many of the newest rows are shown. A long run has more than a page can hold. */
const mostRows = 40

/** The rows of a log, one below the other, where there is no list of their own: a sub-agent's, or those of a replay. */
export function Rows({ log, session }: RowsProps) {
  const rows = log.rows.slice(-mostRows)
  return (
    <>
      {log.rows.length > mostRows && <p class="quiet">Earlier rows are not shown.</p>}
      {[...rows, ...log.waiting].map((row, index) => (
        <RowView key={row.key} row={row} session={session} waits={index >= rows.length} />
      ))}
    </>
  )
}
