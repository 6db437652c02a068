import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { newThread } from '../api.ts'
import { Icon } from '../icons.tsx'
import { session, threadsOpen } from '../state.ts'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { deleted } from './delete.ts'
import { groupThreads } from './groups.ts'
import { importThread } from './import.ts'
import { filterNames, isUnreachable, query, results, showMore, watchThreads } from './list.ts'
import { SearchBox } from './search-box.tsx'
import { ThreadRow } from './thread-row.tsx'
import './threads.css'
import { UsageNote } from './usage-note.tsx'
import { useKeptFocus } from './use-kept-focus.ts'

/** The thread list, most recent first. */
export function Threads() {
  useEffect(watchThreads, [])
  const answer = results.value
  const isEmpty = answer?.threads.every(({ id }) => deleted.value.has(id))
  const isFiltered = query.value.search !== '' || filterNames(query.value).length > 0
  return (
    <div class="threads">
      <button
        type="button"
        class="threads-new"
        title="New thread (n)"
        onClick={() => {
          threadsOpen.value = false
          newThread()
        }}
      >
        <Icon name="plus" /> New thread
      </button>
      <SearchBox />
      {!answer && !isUnreachable.value && <p class="threads-note threads-wait quiet">Loading…</p>}
      {isEmpty && !isFiltered && <p class="threads-note quiet">No threads yet.</p>}
      {isUnreachable.value && <p class="threads-note quiet">Can't load threads. Retrying…</p>}
      <Rows />
      <button type="button" class="plain threads-import" onClick={importThread}>
        Import…
      </button>
      <UsageNote />
    </div>
  )
}

/** Only visible rows are rendered. */
function Rows() {
  const box = useRef<HTMLDivElement>(null)
  /** The place of a thread that was deleted here: the next one there gets the focus. */
  const emptied = useSignal<number | undefined>(undefined)
  const { threads = [], hasMore = false } = results.value ?? {}
  const { value: open } = session
  const lines = groupThreads(
    threads.filter(({ id }) => !deleted.value.has(id)),
    Date.now(),
  )
  useKeptFocus(box)
  useEffect(() => {
    const { value: at } = emptied
    if (at === undefined) return
    emptied.value = undefined
    const links = box.current?.querySelectorAll('a') ?? []
    const next = links[Math.min(at, links.length - 1)] ?? document.querySelector('.threads-new')
    ;(next as HTMLElement | null)?.focus()
  })

  function render(index: number) {
    const line = lines[index]
    if (!line) return <More count={threads.length} />
    if (line.kind === 'heading') return <h2 class="threads-heading">{line.text}</h2>
    const { thread } = line
    return (
      <ThreadRow
        thread={thread}
        session={open?.thread.id === thread.id ? open : undefined}
        onDelete={(id) => {
          const links = [...(box.current?.querySelectorAll('a') ?? [])]
          emptied.value = links.findIndex((link) => link.getAttribute('href')?.endsWith(`/${id}`))
        }}
      />
    )
  }
  return (
    <div class="threads-scroll" ref={box}>
      <VirtualList
        label="Threads"
        role="list"
        rowRole="listitem"
        count={lines.length + (hasMore ? 1 : 0)}
        estimate={(index) => (lines[index]?.kind === 'heading' ? 32 : 56)}
        keyOf={(index) => keyOf(lines[index])}
        render={render}
      />
    </div>
  )
}

function keyOf(line: ReturnType<typeof groupThreads>[number] | undefined): string {
  if (!line) return 'more'
  return line.kind === 'heading' ? `heading ${line.text}` : line.thread.id
}

/** The last line. More threads are loaded when it comes into view. */
function More({ count }: { readonly count: number }) {
  useEffect(showMore, [count])
  return <p class="threads-note quiet">Loading…</p>
}
