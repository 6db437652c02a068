import type { NoticeView } from 'millrace/view'
import { clockTime } from '../format.ts'
import { visible } from '../json/visible.ts'
import type { RowProps } from './row-view.tsx'

/** Something that happened, in one line; more of it for those who open it. */
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
