import type { Session } from '../session.ts'
import { CallGroup } from './call-group.tsx'
import type { Item } from './items.ts'
import { RowView } from './row-view.tsx'

export interface ItemViewProps {
  readonly item: Item
  /** Absent where the rows are read-only. */
  readonly session: Session | undefined
  /** Whether it is an input that no run has read yet. */
  readonly isPending: boolean
}

/** A row of the chat, or a group of calls. */
export function ItemView({ item: { row, calls }, session, isPending }: ItemViewProps) {
  if (calls) return <CallGroup calls={calls} session={session} />
  return <RowView row={row} session={session} isPending={isPending} />
}
