import type { RunView } from 'millrace/view'
import { useMemo } from 'preact/hooks'
import { now } from '../clock.ts'
import type { Session } from '../session.ts'
import type { Selection } from '../state.ts'
import { selectedRun, selection, show } from '../state.ts'
import { CallDetail } from './call-detail.tsx'
import './detail.css'
import { link } from './links.tsx'
import { RoundDetail } from './round-detail.tsx'
import { RunDetail } from './run-detail.tsx'

/** Everything about what was chosen: a run, a round of it, or a call. */
export function Detail({ session }: { readonly session: Session }) {
  const { value: chosen } = selection
  const { value: run } = selectedRun
  // While it goes on it is drawn with the clock, and not with each word: what is long would be put together anew each time.
  const at = run?.outcome ? run.lastAt : now.value
  const version = run?.outcome && session.tick.value && run.version
  const drawn = useMemo(() => chosen && detailOf(chosen, session, at), [chosen, session, at, version])
  return <div class="detail">{drawn ?? <Nothing run={session.log.runs.at(-1)} />}</div>
}

/** As it is at a time. */
function detailOf(chosen: Selection, { thread }: Session, at: number) {
  if (chosen.kind === 'run') return <RunDetail key={chosen.run.seq} run={chosen.run} at={at} />
  if (chosen.kind === 'call') return <CallDetail key={chosen.call.seq} call={chosen.call} at={at} />
  return <RoundDetail key={chosen.round.seq} thread={thread} round={chosen.round} at={at} />
}

function Nothing({ run }: { readonly run: RunView | undefined }) {
  return (
    <p class="quiet">
      Nothing is chosen. Choose a bar of the timeline, “Details” of something in the chat, or{' '}
      {run ? link('the latest run', () => show({ kind: 'run', run })) : 'the latest run'}. All there is to
      know of it is shown here: times, tokens, and the exact request and answer of each call of the model.
    </p>
  )
}
