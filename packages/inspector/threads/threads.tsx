import { useSignal } from '@preact/signals'
import type { ThreadInfo } from 'millrace/client'
import { useEffect, useRef } from 'preact/hooks'
import { newThread } from '../api.ts'
import { Icon } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import { session, threadsOpen } from '../state.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { found, isOutOfReach, showMore, watchThreads } from './list.ts'
import { SearchBox } from './search-box.tsx'
import { ThreadRow } from './thread-row.tsx'
import './threads.css'
import { UsageNote } from './usage-note.tsx'
import { useKeptFocus } from './use-kept-focus.ts'

/** The threads that there are, the latest first, as they are now. */
export function Threads() {
  const doomed = useSignal<ThreadInfo | undefined>(undefined)
  const list = useRef<HTMLUListElement>(null)
  const begin = () => {
    threadsOpen.value = false
    newThread()
  }
  useShortcut({ keys: 'n', does: 'Begins a new thread', run: begin })
  useEffect(watchThreads, [])

  /** What stands in the place of the row that is gone is next to be looked at. */
  function focusAt(index: number) {
    const links = list.current?.querySelectorAll('a') ?? []
    const next =
      links[Math.min(index, links.length - 1)] ?? document.querySelector<HTMLElement>('.threads-new')
    next?.focus()
  }

  const { value: threads } = found
  const { value: chosen } = doomed
  return (
    <div class="threads">
      <button type="button" class="threads-new" title="New thread (n)" onClick={begin}>
        <Icon name="plus" /> New thread
      </button>
      <SearchBox />
      <div class="threads-scroll" onScroll={({ currentTarget }) => nearEnd(currentTarget) && showMore()}>
        <Rows list={list} onDelete={(thread) => (doomed.value = thread)} />
        {threads?.hasMore && (
          <button type="button" class="threads-more" onClick={showMore}>
            More
          </button>
        )}
        {threads?.threads.length === 0 && !threads.wanted.search && !threads.wanted.status && (
          <p class="threads-note quiet">There are no threads yet.</p>
        )}
        {isOutOfReach.value && <p class="threads-note quiet">The list is out of reach. It is tried again.</p>}
      </div>
      <UsageNote />
      {chosen && (
        <DeleteDialog
          thread={chosen}
          onClose={() => (doomed.value = undefined)}
          onDone={() => focusAt(threads?.threads.findIndex(({ id }) => id === chosen.id) ?? 0)}
        />
      )}
    </div>
  )
}

interface RowsProps {
  readonly list: { current: HTMLUListElement | null }
  onDelete(thread: ThreadInfo): void
}

function Rows({ list, onDelete }: RowsProps) {
  const { value: open } = session
  useKeptFocus(list)
  return (
    <ul class="threads-list" ref={list}>
      {found.value?.threads.map((thread) => (
        <ThreadRow
          key={thread.id}
          thread={thread}
          session={open?.thread.id === thread.id ? open : undefined}
          onDelete={onDelete}
        />
      ))}
    </ul>
  )
}

function nearEnd({ scrollTop, scrollHeight, clientHeight }: Element): boolean {
  return scrollHeight - scrollTop - clientHeight < 200
}
