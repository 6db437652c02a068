import { useMemo } from 'preact/hooks'
import { now } from '../clock.ts'
import { contextOf } from '../cost.ts'
import { openAgentView } from '../extra-view.tsx'
import { plural } from '../format.ts'
import type { Session } from '../session.ts'
import { isLive } from '../timeline/layout.ts'
import { ContextSection, CostSection, compactionsIn } from './cost-section.tsx'
import { Facts } from './head.tsx'
import { Section } from './list.tsx'
import { addFigures, factsOf, runFigures } from './measures.ts'
import { RunsTable } from './runs-table.tsx'

/** Shown if nothing is selected: the totals of the thread, its runs, and the context. */
export function ThreadDetail({ session }: { readonly session: Session }) {
  const { log } = session
  const { runs, rows } = log
  const run = runs.at(-1)
  // A live thread is updated by the clock, not for each delta.
  const at = run && isLive(run) ? now.value : session.tick.value && 0
  const compacted = useMemo(() => compactionsIn(log), [log, rows.length])
  // Sums over all runs are made when a run starts or a round ends, not for each delta.
  const earlier = useMemo(
    () => addFigures(runs.slice(0, -1).map((one) => runFigures(one, 0))),
    [runs, runs.length],
  )
  const { nanos, unknown } = run?.spent ?? {}
  const cost = useMemo(() => <CostSection runs={runs} />, [runs, runs.length, nanos, unknown])
  const isLoaded = session.connection.value !== 'loading'
  return (
    <>
      {run && <h2>This thread</h2>}
      {run && <Facts facts={factsOf(addFigures([earlier, runFigures(run, at)]))} />}
      {!run && session.connection.value === 'live' && <p class="quiet">No runs in this thread yet.</p>}
      {isLoaded && !session.isReadOnly && (
        <div class="detail-actions">
          <button type="button" onClick={() => openAgentView(session.agent.value, session)}>
            Show agent
          </button>
        </div>
      )}
      {run && (
        <Section title={plural(runs.length, 'run')}>
          <p class="quiet">
            Select a run here, a bar in the timeline, or “Details” in the chat for everything about it
            {session.isReadOnly ? '.' : ', including the exact request and response of each model call.'}
          </p>
          <RunsTable runs={runs} at={at} />
        </Section>
      )}
      {cost}
      <ContextSection use={contextOf(log)} compacted={compacted} />
    </>
  )
}
