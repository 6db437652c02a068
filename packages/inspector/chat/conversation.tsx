import type { Row } from 'millrace/view'
import type { RefObject } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'
import type { Session } from '../session.ts'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { repeatsOf } from './call-state.ts'
import { ItemView } from './item-view.tsx'
import type { Item } from './items.ts'
import { createItems } from './items.ts'
import { useFoundMessage } from './use-found-message.ts'
import { useRowKeys } from './use-row-keys.ts'
import { VersionSwitch } from './versions.tsx'

export interface ConversationProps {
  readonly session: Session
  readonly list: RefObject<ListHandle | null>
}

/** About how high items are, until they are measured. */
const heights: Partial<Record<Row['kind'], number>> = {
  call: 36,
  reasoning: 38,
  notice: 33,
  end: 64,
  input: 76,
}

/** The rows of the log, then inputs that no run has read yet. Only visible rows are rendered. */
export function Conversation({ session, list }: ConversationProps) {
  const [atEnd, setAtEnd] = useState(true)
  const itemsOf = useMemo(createItems, [session])
  const box = useRef<HTMLDivElement>(null)
  const { rows, waiting, versions } = session.log
  // Subscribes to changes of the log.
  void session.tick.value
  const items = itemsOf(rows)
  const itemAt = (index: number): Item => {
    const row = waiting[index - items.length]
    return items[index] ?? ({ key: row?.key, row } as Item)
  }
  const isGone = session.connection.value === 'gone'
  const acting = session.isReadOnly || isGone ? undefined : session
  const versionsAfter = ({ row, calls }: Item, next: Row | undefined) => {
    const found = versions.get((calls?.at(-1) ?? row).key)
    return (
      found && acting && <VersionSwitch versions={found} session={acting} isEdit={next?.kind === 'input'} />
    )
  }
  // The versions of the first message have a row of their own.
  const firstVersions = acting && versions.get('')
  const first = firstVersions ? 1 : 0
  useRowKeys()
  useFoundMessage(session, { items, first }, list)
  useKeptFocus(box, rows, items)

  return (
    <div class="chat-conversation" ref={box}>
      <h2 class="visually-hidden">Conversation</h2>
      <VirtualList
        handle={list}
        class="chat-list"
        label="Conversation"
        count={first + items.length + waiting.length}
        estimate={(index) => (index < first ? 40 : (heights[itemAt(index - first).row.kind] ?? 96))}
        keyOf={(index) => (index < first ? '' : itemAt(index - first).key)}
        render={(place) => {
          const index = place - first
          if (index < 0)
            return firstVersions && <VersionSwitch versions={firstVersions} session={session} isEdit />
          const item = itemAt(index)
          return (
            <>
              <ItemView item={item} session={acting} isPending={index >= items.length} />
              {versionsAfter(item, itemAt(index + 1).row)}
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

/**
 * Moves the focus if its row disappears: to the group that the call joins, or to the denied call
 * that it repeats.
 */
function useKeptFocus(
  { current: box }: RefObject<HTMLElement | null>,
  rows: readonly Row[],
  items: readonly Item[],
) {
  const { activeElement } = document
  const lost = (box?.contains(activeElement) && activeElement?.closest<HTMLElement>('.chat-row')) || undefined
  useLayoutEffect(() => {
    if (!box || !lost || lost.isConnected || document.activeElement !== document.body) return
    const row = rows.find(({ key }) => key === lost.dataset.key)
    const shown = row?.kind === 'call' ? repeatsOf(row)[0] : row
    const item = items.find((one) => one.row === shown || one.calls?.some((call) => call === shown))
    const next = item && box.querySelector<HTMLElement>(`.chat-row[data-key="${item.key}"]`)
    // It may be out of view.
    const target = next ?? box.querySelector<HTMLElement>('.chat-list')
    target?.focus({ preventScroll: true })
  })
}
