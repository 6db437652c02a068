import type { Log } from '../log/types.ts'
import type { Session } from '../session.ts'
import { RowView } from './row-view.tsx'

export interface RowsProps {
  readonly log: Log
  /** Without it nothing can be acted on. */
  readonly session: Session | undefined
}

/** All rows of a log, one below the other: for those that are short, such as a sub-agent's. */
export function Rows({ log, session }: RowsProps) {
  return (
    <>
      {[...log.rows, ...log.waiting].map((row, index) => (
        <RowView key={row.key} row={row} session={session} waits={index >= log.rows.length} />
      ))}
    </>
  )
}
