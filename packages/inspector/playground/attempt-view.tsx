import type { RoundView } from 'millrace/view'
import { useEffect, useRef, useState } from 'preact/hooks'
import { followThread, openThread } from '../api.ts'
import { stop } from '../chat/actions.ts'
import { openRequest } from '../chat/call-state.ts'
import { Inspectable } from '../chat/inspectable.ts'
import { RowView } from '../chat/row-view.tsx'
import { now } from '../clock.ts'
import { Comparison } from '../compare/comparison.tsx'
import type { Side } from '../compare/sides.ts'
import { roundsOf } from '../compare/sides.ts'
import { errorText, Problem } from '../detail/head.tsx'
import { Section } from '../detail/list.tsx'
import type { Session } from '../session.ts'
import { panelOpen } from '../state.ts'
import { isLive } from '../timeline/layout.ts'
import type { Attempt } from './state.ts'
import { runOf } from './state.ts'

export interface AttemptViewProps {
  readonly attempt: Attempt
  /** The original. */
  readonly round: RoundView
  /** Edits what this attempt has sent. */
  readonly onReuse: () => void
  readonly onDelete: () => void
}

/** An attempt next to the original as it streams, and then their differences. */
export function AttemptView({ attempt, round, onReuse, onDelete }: AttemptViewProps) {
  const [session] = useState(() => followThread(attempt.id))
  useEffect(() => () => session.close(), [session])
  void session.tick.value
  const run = runOf(session)
  const at = run && isLive(run) ? now.value : 0
  const before: Side = { label: 'Original', run: round.run, round }
  const after: Side | undefined = run && { label: `Attempt ${attempt.number}`, run }
  const connection = session.connection.value
  const isOver = run !== undefined && !isLive(run)
  // What follows in its thread is not part of the attempt.
  useEffect(() => {
    if (isOver) session.close()
  }, [isOver, session])
  const top = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Only the panel: `scrollIntoView` would scroll the page, too.
    const body = top.current?.closest('[role="tabpanel"]')
    if (top.current && body)
      body.scrollTop += top.current.getBoundingClientRect().top - body.getBoundingClientRect().top
  }, [])
  return (
    <div ref={top}>
      <Section title={`Attempt ${attempt.number}`}>
        <div class="detail-actions">
          {run && !isOver && (
            <button type="button" onClick={() => void stop(session)}>
              Stop
            </button>
          )}
          <button type="button" onClick={() => open(attempt.id)}>
            Open thread
          </button>
          <button type="button" onClick={onReuse}>
            Edit its inputs
          </button>
          <button type="button" onClick={onDelete}>
            Delete
          </button>
        </div>
        {connection === 'reconnecting' && <p class="quiet">Connection lost. Reconnecting…</p>}
        {(connection === 'gone' || connection === 'failed') && <p role="alert">{session.problem.value}</p>}
        <div class="playground-sides">
          <Answer side={before} />
          {after ? (
            <Answer side={after} session={session} />
          ) : (
            <p class="quiet">Waiting for the run to start…</p>
          )}
        </div>
      </Section>
      {after && <Comparison before={before} after={after} at={at} isSettled={isOver} />}
    </div>
  )
}

/** On a phone the panel covers the chat. */
function open(id: string) {
  openThread(id)
  panelOpen.value = matchMedia('(min-width: 1101px)').matches
}

/** What a model wrote and called, as in the chat. */
function Answer({ side, session }: { readonly side: Side; readonly session?: Session }) {
  const rows = roundsOf(side).flatMap(({ parts }) => parts)
  return (
    <section aria-label={side.label}>
      <h4>{side.label}</h4>
      <Problem text={errorText(side.run.error)} />
      {/* The thread of an attempt is not the open one, which the inspector shows. */}
      <Inspectable.Provider value={false}>
        {rows.map((row) => (
          <RowView
            key={row.key}
            row={row}
            // Approvals can be given here.
            session={row.kind === 'call' && openRequest(row) ? session : undefined}
            isPending={false}
          />
        ))}
      </Inspectable.Provider>
      {rows.length === 0 && <p class="quiet">{side.run.outcome ? 'No output.' : 'Waiting for the model…'}</p>}
    </section>
  )
}
