import type { Row } from 'millrace/view'
import { useRef, useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import type { Session } from '../session.ts'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { RowView } from './row-view.tsx'
import { useRowKeys } from './use-row-keys.ts'
import { VersionSwitch } from './versions.tsx'

/** The rows of the log, then inputs that no run has read yet. Only visible rows are rendered. */
export function Conversation({ session }: { readonly session: Session }) {
  const [atEnd, setAtEnd] = useState(true)
  const list = useRef<ListHandle>(null)
  const { rows, waiting, versions } = session.log
  // Subscribes to changes of the log.
  void session.tick.value
  const rowAt = (index: number) => (rows[index] ?? waiting[index - rows.length]) as Row
  const versionsAfter = (key: string) => {
    const found = versions.get(key)
    return found && <VersionSwitch versions={found} session={session} />
  }
  // The versions of the first message have a row of their own.
  const first = versions.has('') ? 1 : 0
  useRowKeys()

  return (
    <div class="chat-conversation">
      <h2 class="visually-hidden">Conversation</h2>
      <VirtualList
        handle={list}
        class="chat-list"
        label="Conversation"
        count={first + rows.length + waiting.length}
        estimate={() => 96}
        keyOf={(index) => (index < first ? '' : rowAt(index - first).key)}
        render={(place) => {
          const index = place - first
          if (index < 0) return versionsAfter('')
          const row = rowAt(index)
          return (
            <>
              <RowView row={row} session={session} isPending={index >= rows.length} />
              {versionsAfter(row.key)}
            </>
          )
        }}
        stick
        onAtEnd={setAtEnd}
      />
      {!atEnd && (
        <button type="button" class="chat-jump" onClick={() => list.current?.toEnd()}>
          <Icon name="down" /> Jump to latest
        </button>
      )}
    </div>
  )
}
