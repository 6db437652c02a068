import type { ThreadStatus } from 'millrace/client'
import { useRef } from 'preact/hooks'
import { number } from '../format.ts'
import { Icon } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import { threadsOpen } from '../state.ts'
import type { ThreadQuery } from './list.ts'
import { filterByStatus, query, results, searchFor } from './list.ts'
import { statuses } from './status.ts'

/** Searches and filters the thread list, and shows the number of results. */
export function SearchBox() {
  const box = useRef<HTMLInputElement>(null)
  const focus = () => {
    box.current?.focus()
    box.current?.select()
  }
  const go = () => {
    threadsOpen.value = true
    focus()
    // On a small screen the box appears with the next render. Elsewhere it already has the focus,
    // and the user may be typing.
    if (document.activeElement !== box.current) requestAnimationFrame(focus)
  }
  useShortcut({ keys: 's', label: 'Search threads', run: go })
  useShortcut({
    keys: 'mod+k',
    label: 'Search threads (works while typing)',
    run: go,
    whileTyping: true,
  })
  return (
    <search class="threads-search">
      <label class="threads-words">
        <Icon name="search" />
        <span class="visually-hidden">Search threads</span>
        <input
          ref={box}
          type="search"
          placeholder="Search (s)"
          maxLength={256}
          value={query.value.search}
          onInput={({ currentTarget }) => searchFor(currentTarget.value)}
        />
      </label>
      <select
        aria-label="Filter by status"
        value={query.value.status}
        onChange={({ currentTarget }) => filterByStatus(currentTarget.value as ThreadQuery['status'])}
      >
        <option value="">All</option>
        {(Object.keys(statuses) as ThreadStatus[]).map((status) => (
          <option key={status} value={status}>
            {statuses[status].label}
          </option>
        ))}
      </select>
      <p class="threads-count quiet" role="status">
        {countOf()}
      </p>
    </search>
  )
}

/** Empty unless the list is searched or filtered. */
function countOf(): string {
  const { value: answer } = results
  const { search, status } = query.value
  if (!answer || (!search && !status)) return ''
  if (answer.query !== query.value) return 'Searching…'
  const { length } = answer.threads
  if (length === 0) return 'No threads found.'
  return answer.hasMore ? `More than ${number(length)} found.` : `${number(length)} found.`
}
