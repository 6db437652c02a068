import type { TextView } from 'millrace/view'
import { useState } from 'preact/hooks'
import { duration } from '../format.ts'
import { Markdown } from '../markdown/markdown.tsx'
import type { RowProps } from './row-view.tsx'
import { lastLine } from './text-tail.ts'

/** Reasoning of the model, collapsed. While it grows, its last line is shown. */
export function ReasoningRowView({ row, version }: RowProps<TextView>) {
  const [open, setOpen] = useState(false)
  const { text, at, endedAt } = row
  return (
    <details class="chat-quiet" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {text.closed ? (endedAt > at ? `Thought for ${duration(endedAt - at)}` : 'Thought') : 'Thinking… '}
        {!text.closed && !open && <i>{lastLine(text)}</i>}
      </summary>
      {open && <Markdown text={text} version={version} />}
    </details>
  )
}
