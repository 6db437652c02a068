import type { RunView } from 'millrace/view'
import { useMemo } from 'preact/hooks'
import { now } from '../clock.ts'
import type { Session } from '../session.ts'
import type { Selection } from '../state.ts'
import { inspect, selectedRun, selection } from '../state.ts'
import { CallDetail } from './call-detail.tsx'
import './detail.css'
import { link } from './links.tsx'
import { RoundDetail } from './round-detail.tsx'
import { RunDetail } from './run-detail.tsx'

/** Everything about the selected run, round or call. */
export function Detail({ session }: { readonly session: Session }) {
  const { value: chosen } = selection
  const { value: run } = selectedRun
  // A running run is rendered when the clock ticks, not for each delta, which would be expensive
  // for long texts.
  const at = run?.outcome ? run.lastAt : now.value
  const version = run?.outcome && session.tick.value && run.version
  const drawn = useMemo(() => chosen && detailOf(chosen, session, at), [chosen, session, at, version])
  return <div class="detail">{drawn ?? <Nothing run={session.log.runs.at(-1)} />}</div>
}

function detailOf(chosen: Selection, { thread }: Session, at: number) {
  if (chosen.kind === 'run') return <RunDetail key={chosen.run.seq} run={chosen.run} at={at} />
  if (chosen.kind === 'call') return <CallDetail key={chosen.call.seq} call={chosen.call} at={at} />
  return <RoundDetail key={chosen.round.seq} thread={thread} round={chosen.round} at={at} />
}

function Nothing({ run }: { readonly run: RunView | undefined }) {
  return (
    <p class="quiet">
      Nothing is selected. Select a bar in the timeline, “Details” in the chat, or{' '}
      {run ? link('the latest run', () => inspect({ kind: 'run', run })) : 'the latest run'} to see its times,
      tokens, and the exact request and response of each model call.
    </p>
  )
}
