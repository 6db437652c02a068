import type { Row } from 'millrace/view'
import { useRef, useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import type { Session } from '../session.ts'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { RowView } from './row-view.tsx'
import { useRowKeys } from './use-row-keys.ts'

/** What was said and done, with what was said and not heard yet below it. Only what is in sight is drawn. */
export function Conversation({ session }: { readonly session: Session }) {
  const [atEnd, setAtEnd] = useState(true)
  const list = useRef<ListHandle>(null)
  const { rows, waiting } = session.log
  // Read, so that it is drawn again when the log has grown.
  void session.tick.value
  const rowAt = (index: number) => (rows[index] ?? waiting[index - rows.length]) as Row
  useRowKeys()

  return (
    <div class="chat-conversation">
      <h2 class="unseen">Conversation</h2>
      <VirtualList
        handle={list}
        class="chat-list"
        label="Conversation"
        count={rows.length + waiting.length}
        estimate={() => 96}
        keyOf={(index) => rowAt(index).key}
        render={(index) => <RowView row={rowAt(index)} session={session} waits={index >= rows.length} />}
        stick
        onAtEnd={setAtEnd}
      />
      {!atEnd && (
        <button type="button" class="chat-jump" onClick={() => list.current?.toEnd()}>
          <Icon name="down" /> Jump to the latest
        </button>
      )}
    </div>
  )
}
