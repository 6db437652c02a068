import type { ThreadStatus } from 'millrace/client'
import { useRef } from 'preact/hooks'
import { number } from '../format.ts'
import { Icon } from '../icons.tsx'
import { useShortcut } from '../keyboard.ts'
import { threadsOpen } from '../state.ts'
import type { Wanted } from './list.ts'
import { found, onlyThose, searchFor, wanted } from './list.ts'
import { statuses } from './status.ts'

/** Which threads are shown, and how many that are. */
export function SearchBox() {
  const box = useRef<HTMLInputElement>(null)
  const take = () => {
    box.current?.focus()
    box.current?.select()
  }
  const go = () => {
    threadsOpen.value = true
    take()
    // On a small screen it is there only after the next drawing. Elsewhere somebody may be writing by then.
    if (document.activeElement !== box.current) requestAnimationFrame(take)
  }
  useShortcut({ keys: 's', does: 'Searches the threads', run: go })
  useShortcut({
    keys: 'mod+k',
    does: 'Searches the threads, also while you write',
    run: go,
    whileWriting: true,
  })
  return (
    <search class="threads-search">
      <label class="threads-words">
        <Icon name="search" />
        <span class="unseen">Search threads</span>
        <input
          ref={box}
          type="search"
          placeholder="Search (s)"
          maxLength={256}
          value={wanted.value.search}
          onInput={({ currentTarget }) => searchFor(currentTarget.value)}
        />
      </label>
      <select
        aria-label="Show threads that are"
        value={wanted.value.status}
        onChange={({ currentTarget }) => onlyThose(currentTarget.value as Wanted['status'])}
      >
        <option value="">All</option>
        {(Object.keys(statuses) as ThreadStatus[]).map((status) => (
          <option key={status} value={status}>
            {statuses[status].words}
          </option>
        ))}
      </select>
      <p class="threads-count quiet" role="status">
        {countOf()}
      </p>
    </search>
  )
}

/** Only of a search: how many threads there are in all nobody asks. */
function countOf(): string {
  const { value: answer } = found
  const { search, status } = wanted.value
  if (!answer || (!search && !status)) return ''
  if (answer.wanted !== wanted.value) return 'Searching…'
  const { length } = answer.threads
  if (length === 0) return 'Nothing found.'
  return answer.hasMore ? `More than ${number(length)} found.` : `${number(length)} found.`
}
