import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { copy } from '../copy-button.tsx'
import { download } from '../download.ts'
import { number } from '../format.ts'
import { IconButton } from '../icon-button.tsx'
import { Disclosure } from '../json/disclosure.tsx'
import { JsonView } from '../json/json-view.tsx'
import type { Session } from '../session.ts'
import { selectedRun } from '../state.ts'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import { VirtualList } from '../virtual/virtual-list.tsx'
import { ConnectionNote } from './connection-note.tsx'
import { EventLine } from './event-line.tsx'
import './events.css'
import { eventKinds } from './filter.ts'
import { jsonLines } from './json-lines.ts'
import { clearFilter, panelFilter, setFilter, useEntryIndex, useShownEntry } from './use-entry-index.ts'

/** The raw log of the thread, entry by entry. */
export function Events({ session }: { readonly session: Session }) {
  const { entries, thread } = session
  const { kinds, text, onlyRun } = panelFilter.value
  const index = useEntryIndex(session)
  const { found, done } = index
  const { current: opened } = useRef(new Set<number>())
  const atEnd = useSignal(true)
  const list = useRef<ListHandle>(null)
  useShownEntry(index, (place) => {
    opened.add(found[place]?.seq ?? 0)
    list.current?.scrollTo(place, 'start')
  })

  return (
    <div class="events" style={{ '--digits': `${Math.max(3, `${session.log.head}`.length)}` }}>
      <div class="events-bar">
        <input
          type="search"
          aria-label="Search events"
          placeholder="Search events"
          value={text}
          onInput={({ currentTarget }) => setFilter({ text: currentTarget.value })}
        />
        <IconButton
          icon="copy"
          label="Copy shown events"
          onClick={() => jsonLines(found).then((pieces) => copy(pieces.join('')))}
        />
        <IconButton
          icon="download"
          label="Download shown events"
          onClick={() =>
            jsonLines(found).then((pieces) => download(`${thread.id}.jsonl`, pieces, 'application/jsonl'))
          }
        />
        <div class="events-filters">
          {eventKinds.map((kind) => {
            const others = kinds.filter((other) => other !== kind)
            const isChosen = others.length < kinds.length
            return chip(kind, isChosen, () => setFilter({ kinds: isChosen ? others : [...kinds, kind] }))
          })}
          {selectedRun.value && chip('selected run only', onlyRun, () => setFilter({ onlyRun: !onlyRun }))}
          <span class="events-count quiet">
            {number(found.length)} of {number(entries.length)}
            {done ? '' : ', searching…'}
          </span>
        </div>
      </div>
      <ConnectionNote session={session} />
      {entries.length === 0 && session.connection.value === 'live' && (
        <p class="quiet">No events in this thread yet.</p>
      )}
      {done && found.length === 0 && entries.length > 0 && (
        <p class="quiet">
          No matching events.{' '}
          <button type="button" onClick={clearFilter}>
            Show all
          </button>
        </p>
      )}
      <VirtualList
        class="events-list"
        role="list"
        rowRole="listitem"
        label="Events"
        handle={list}
        count={found.length}
        keyOf={(place) => found[place]?.seq ?? place}
        estimate={() => 24}
        stick
        onAtEnd={(is) => (atEnd.value = is)}
        render={(place) => {
          const entry = found[place]
          if (!entry) return undefined
          const { seq } = entry
          return (
            <Disclosure
              line={<EventLine entry={entry} before={found[place - 1]?.at} />}
              open={opened.has(seq)}
              onToggle={(isOpen) => (isOpen ? opened.add(seq) : opened.delete(seq))}
            >
              {() => <JsonView label={`Event ${seq}`} value={entry} open={3} />}
            </Disclosure>
          )
        }}
      />
      {!atEnd.value && (
        <IconButton
          icon="down"
          label="Jump to latest"
          class="events-latest"
          onClick={() => list.current?.toEnd()}
        />
      )}
    </div>
  )
}

const chip = (name: string, isPressed: boolean, onClick: () => void) => (
  <button key={name} type="button" aria-pressed={isPressed} onClick={onClick}>
    {name}
  </button>
)
