import type { TextView } from 'millrace/view'
import { visible } from '../json/visible.ts'
import { Markdown } from '../markdown/markdown.tsx'
import type { RowProps } from './row-view.tsx'
import { excerpt } from './text-tail.ts'

/** Text of the agent. */
export function TextRowView({ row: { text, played }, version }: RowProps<TextView>) {
  return (
    <div class="chat-text">
      <Markdown text={text} version={version} />
      {played !== undefined && <p class="chat-quiet">Never heard: {visible(excerpt(text, played))}</p>}
      {!text.closed && <span class="chat-dot" data-tone="live" />}
    </div>
  )
}
