import type { NoticeView } from 'millrace/view'
import { clockTime } from '../format.ts'
import { visible } from '../json/visible.ts'
import type { RowProps } from './row-view.tsx'

/** A one-line notice, with details to expand. */
export function NoticeRowView({ row: { text, detail, at } }: RowProps<NoticeView>) {
  const line = `${text} ${clockTime(at)}`
  if (!detail) return <p class="chat-quiet">{line}</p>
  return (
    <details class="chat-quiet">
      <summary>{line}</summary>
      <p>{visible(detail)}</p>
    </details>
  )
}
