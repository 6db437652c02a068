import { useRef } from 'preact/hooks'
import { number } from '../format.ts'
import { IconButton } from '../icon-button.tsx'
import { Icon } from '../icons.tsx'
import { useAction } from '../keyboard.ts'
import { showList } from '../state.ts'
import { FilterButton } from './filter-button.tsx'
import { filterLabel } from './filter-label.ts'
import { filterBy, filterNames, query, results, searchFor, showAll } from './list.ts'

/** Searches and filters the thread list, and shows the number of results. */
export function SearchBox() {
  const box = useRef<HTMLInputElement>(null)
  const focus = () => {
    box.current?.focus()
    box.current?.select()
  }
  const go = () => {
    showList()
    focus()
    // A box that was hidden appears with the next render. Elsewhere it already has the focus, and
    // the user may be typing.
    if (document.activeElement !== box.current) requestAnimationFrame(focus)
  }
  useAction({ id: 'search', label: 'Search threads', keys: 's', run: go })
  const names = filterNames(query.value)
  useAction({
    id: 'clear-search',
    label: 'Clear search and filters',
    isAvailable: () => query.value.search !== '' || names.length > 0,
    run: showAll,
  })
  return (
    <search class="threads-search">
      <div class="threads-words">
        <label class="threads-box">
          <Icon name="search" />
          <span class="visually-hidden">Search threads</span>
          <input
            ref={box}
            type="search"
            dir="auto"
            placeholder="Search"
            title="Search titles, messages and answers (s)"
            maxLength={256}
            value={query.value.search}
            onInput={({ currentTarget }) => searchFor(currentTarget.value)}
          />
        </label>
        <FilterButton />
      </div>
      {names.length > 0 && (
        <ul class="threads-chips" aria-label="Filters">
          {names.map((name) => (
            <li key={name} class="threads-chip">
              <span>{filterLabel(query.value, name)}</span>
              <IconButton
                icon="close"
                label={`Remove the filter ${filterLabel(query.value, name)}`}
                onClick={() => {
                  filterBy(name, '')
                  // The button is gone.
                  box.current?.focus()
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <p class="threads-count quiet" role="status">
        {countOf()}
      </p>
    </search>
  )
}

/** Empty unless the list is searched or filtered. */
function countOf(): string {
  const { value: answer } = results
  const { value: asked } = query
  if (!answer || (!asked.search && filterNames(asked).length === 0)) return ''
  if (answer.query !== asked) return 'Searching…'
  const { length } = answer.threads
  if (length === 0) return 'No threads found.'
  return answer.hasMore ? `More than ${number(length)} found.` : `${number(length)} found.`
}
