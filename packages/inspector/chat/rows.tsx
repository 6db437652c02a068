import type { LogView } from 'millrace/view'
import { useMemo } from 'preact/hooks'
import type { Session } from '../session.ts'
import { Inspectable } from './inspectable.ts'
import { ItemView } from './item-view.tsx'
import { createItems } from './items.ts'

export interface RowsProps {
  readonly log: LogView
  /** Absent for read-only rows. */
  readonly session: Session | undefined
}

/** How many of the latest rows are shown. */
const maxRows = 40

/** The rows of a log outside the virtual list: those of a sub-agent or of a replay. */
export function Rows({ log, session }: RowsProps) {
  const itemsOf = useMemo(createItems, [log])
  const items = itemsOf(log.rows)
  return (
    <Inspectable.Provider value={false}>
      {items.length > maxRows && <p class="quiet">Earlier rows are not shown.</p>}
      {items.slice(-maxRows).map((item) => (
        <ItemView key={item.key} item={item} session={session} isPending={false} />
      ))}
      {log.waiting.map((row) => (
        <ItemView key={row.key} item={{ key: row.key, row }} session={session} isPending />
      ))}
    </Inspectable.Provider>
  )
}
