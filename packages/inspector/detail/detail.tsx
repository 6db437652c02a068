import { useMemo } from 'preact/hooks'
import { now } from '../clock.ts'
import type { Session } from '../session.ts'
import type { Selection } from '../state.ts'
import { selectedRun, selection } from '../state.ts'
import { isLive } from '../timeline/layout.ts'
import { CallDetail } from './call-detail.tsx'
import { ConnectionNote } from './connection-note.tsx'
import './detail.css'
import { RoundDetail } from './round-detail.tsx'
import { RunDetail } from './run-detail.tsx'
import { ThreadDetail } from './thread-detail.tsx'

/** Everything about the selected run, round or call. */
export function Detail({ session }: { readonly session: Session }) {
  const { value: chosen } = selection
  const { value: run } = selectedRun
  // A running run is rendered when the clock ticks, not for each delta, which would be expensive
  // for long texts.
  const isOver = run !== undefined && !isLive(run)
  const at = isOver ? run.lastAt : now.value
  const version = isOver && session.tick.value && run.version
  const drawn = useMemo(() => chosen && detailOf(chosen, session, at), [chosen, session, at, version])
  return (
    <div class="detail">
      <ConnectionNote session={session} />
      {drawn ?? <ThreadDetail session={session} />}
    </div>
  )
}

function detailOf(chosen: Selection, session: Session, at: number) {
  if (chosen.kind === 'run')
    return <RunDetail key={chosen.run.seq} session={session} run={chosen.run} at={at} />
  if (chosen.kind === 'call') return <CallDetail key={chosen.call.seq} call={chosen.call} at={at} />
  return <RoundDetail key={chosen.round.seq} session={session} round={chosen.round} at={at} />
}
