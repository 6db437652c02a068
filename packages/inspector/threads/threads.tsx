import { useSignal } from '@preact/signals'
import type { ThreadInfo } from 'millrace/client'
import { useEffect, useRef } from 'preact/hooks'
import { newThread } from '../api.ts'
import { Icon } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import { session, threadsOpen } from '../state.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { isUnreachable, results, showMore, watchThreads } from './list.ts'
import { SearchBox } from './search-box.tsx'
import { ThreadRow } from './thread-row.tsx'
import './threads.css'
import { UsageNote } from './usage-note.tsx'
import { useKeptFocus } from './use-kept-focus.ts'

/** The thread list, most recent first. */
export function Threads() {
  const threadToDelete = useSignal<ThreadInfo | undefined>(undefined)
  const list = useRef<HTMLUListElement>(null)
  const startThread = () => {
    threadsOpen.value = false
    newThread()
  }
  useShortcut({ keys: 'n', label: 'New thread', run: startThread })
  useEffect(watchThreads, [])

  /** Moves the focus to the row that took the place of a deleted one. */
  function focusAt(index: number) {
    const links = list.current?.querySelectorAll('a') ?? []
    const next =
      links[Math.min(index, links.length - 1)] ?? document.querySelector<HTMLElement>('.threads-new')
    next?.focus()
  }

  const { value: threads } = results
  const { value: chosen } = threadToDelete
  return (
    <div class="threads">
      <button type="button" class="threads-new" title="New thread (n)" onClick={startThread}>
        <Icon name="plus" /> New thread
      </button>
      <SearchBox />
      <div class="threads-scroll" onScroll={({ currentTarget }) => nearEnd(currentTarget) && showMore()}>
        <Rows list={list} onDelete={(thread) => (threadToDelete.value = thread)} />
        {threads?.hasMore && (
          <button type="button" class="threads-more" onClick={showMore}>
            Show more
          </button>
        )}
        {threads?.threads.length === 0 && !threads.query.search && !threads.query.status && (
          <p class="threads-note quiet">No threads yet.</p>
        )}
        {isUnreachable.value && <p class="threads-note quiet">Can't load threads. Retrying…</p>}
      </div>
      <UsageNote />
      {chosen && (
        <DeleteDialog
          thread={chosen}
          onClose={() => (threadToDelete.value = undefined)}
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
      {results.value?.threads.map((thread) => (
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
