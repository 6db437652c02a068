import { useMemo } from 'preact/hooks'
import { now } from '../clock.ts'
import type { Session } from '../session.ts'
import type { Selection } from '../state.ts'
import { selectedRun, selection } from '../state.ts'
import { CallDetail } from './call-detail.tsx'
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
  const at = run?.outcome ? run.lastAt : now.value
  const version = run?.outcome && session.tick.value && run.version
  const drawn = useMemo(() => chosen && detailOf(chosen, session, at), [chosen, session, at, version])
  return <div class="detail">{drawn ?? <ThreadDetail session={session} />}</div>
}

function detailOf(chosen: Selection, { thread }: Session, at: number) {
  if (chosen.kind === 'run') return <RunDetail key={chosen.run.seq} run={chosen.run} at={at} />
  if (chosen.kind === 'call') return <CallDetail key={chosen.call.seq} call={chosen.call} at={at} />
  return <RoundDetail key={chosen.round.seq} thread={thread} round={chosen.round} at={at} />
}
