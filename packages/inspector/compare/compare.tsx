import type { ThreadInfo } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { textOf } from 'millrace/view'
import { useState } from 'preact/hooks'
import { now } from '../clock.ts'
import '../detail/detail.css'
import { clockTime } from '../format.ts'
import { oneLine } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { isLive } from '../timeline/layout.ts'
import './compare.css'
import { Comparison } from './comparison.tsx'
import { useOtherThread, useThreadSearch } from './use-threads.ts'

export interface CompareProps {
  readonly session: Session
  readonly run: RunView
}

/** How many runs of a thread are offered, the latest first. */
const maxRuns = 100

/** Compares a run with another one, of this thread or of another. */
export function Compare({ session, run }: CompareProps) {
  const [search, setSearch] = useState('')
  const [thread, setThread] = useState<ThreadInfo | undefined>(undefined)
  const threadId = thread?.id ?? ''
  const [chosen, choose] = useState<RunView | undefined>(undefined)
  const [isSwapped, setSwapped] = useState(false)
  const found = useThreadSearch(search)
  const other = useOtherThread(threadId)
  // The chosen one stays, also if another search does not find it.
  const threads = found.threads.filter(({ id }) => id !== session.thread.id && id !== threadId)
  if (thread) threads.unshift(thread)
  const here = session.log.runs.filter((one) => one !== run)
  const runs = (threadId ? (other.runs ?? []) : here).slice(-maxRuns).reverse()
  const previous = threadId ? undefined : runs.find(({ seq }) => seq < run.seq)
  const second = chosen && runs.includes(chosen) ? chosen : (previous ?? runs[0])
  const isChanging = isLive(run) || (second !== undefined && isLive(second))
  const at = isChanging ? now.value : 0
  const sides = [
    { label: 'First', run },
    { label: 'Second', run: second ?? run },
  ] as const
  return (
    <div class="detail compare">
      <h2>Compare runs</h2>
      <p class="quiet">First: {titleOf(run)}</p>
      <div class="compare-pick">
        <label>
          Search other threads
          <input
            type="search"
            value={search}
            placeholder="Title or words"
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
        <label>
          Thread of the second run
          <select
            value={threadId}
            onChange={({ currentTarget }) => {
              setThread(threads.find(({ id }) => id === currentTarget.value))
              choose(undefined)
            }}
          >
            <option value="">This thread</option>
            {threads.map(({ id, title }) => (
              <option key={id} value={id}>
                {title ?? id}
              </option>
            ))}
          </select>
        </label>
        <label>
          Second run
          <select
            value={second?.seq ?? ''}
            disabled={!second}
            onChange={({ currentTarget }) => choose(runs.find(({ seq }) => `${seq}` === currentTarget.value))}
          >
            {runs.map((one) => (
              <option key={one.seq} value={one.seq}>
                {titleOf(one)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {found.problem && <p role="alert">{found.problem}</p>}
      {other.problem && <p role="alert">{other.problem}</p>}
      {threadId !== '' && !other.runs && !other.problem && <p class="quiet">Loading the thread…</p>}
      {!second && (threadId === '' || other.runs) && (
        <p class="quiet">
          {threadId ? 'That thread has no runs yet.' : 'This thread has no other run. Search another thread.'}
        </p>
      )}
      {second && (
        <>
          <div class="detail-actions">
            <button type="button" aria-pressed={isSwapped} onClick={() => setSwapped(!isSwapped)}>
              Swap sides
            </button>
          </div>
          <Comparison
            before={sides[isSwapped ? 1 : 0]}
            after={sides[isSwapped ? 0 : 1]}
            at={at}
            isSettled={!isChanging}
          />
        </>
      )}
    </div>
  )
}

/** `10:24:03 · Where is my parcel?` */
function titleOf({ startedAt, inputs, agent }: RunView): string {
  const [first] = inputs
  const text = first && oneLine(textOf(first.message), 60)
  return `${clockTime(startedAt)} · ${text || `Run of ${agent}`}`
}
