import type { TextView } from 'millrace/view'
import { CopyButton } from '../copy-button.tsx'
import { visible } from '../json/visible.ts'
import { Markdown } from '../markdown/markdown.tsx'
import type { RowProps } from './row-view.tsx'
import { excerpt, whole } from './text-tail.ts'

/** What the agent says. */
export function TextRowView({ row: { text, heard }, version }: RowProps<TextView>) {
  return (
    <div class="chat-text">
      <Markdown text={text} version={version} />
      {heard !== undefined && (
        <p class="chat-quiet">Not heard from here on: {visible(excerpt(text, heard))}</p>
      )}
      {text.closed ? (
        <div class="chat-actions">
          <CopyButton text={() => whole(text)} label="Copy the answer" />
        </div>
      ) : (
        <span class="chat-dot" data-tone="live" />
      )}
    </div>
  )
}
