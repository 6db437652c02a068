import type { RunView } from 'millrace/view'
import { contextOf, costText, spentIn } from '../cost.ts'
import type { Session } from '../session.ts'
import { inspect } from '../state.ts'
import { ContextSection, CostSection } from './cost-section.tsx'
import { link } from './links.tsx'

/** Shown if nothing is selected: what the whole thread has cost, and how full the context is. */
export function ThreadDetail({ session }: { readonly session: Session }) {
  void session.tick.value
  const { log } = session
  const run: RunView | undefined = log.runs.at(-1)
  const cost = costText(spentIn(log.runs))
  return (
    <>
      <p class="quiet">
        Nothing is selected. Select a bar in the timeline, “Details” in the chat, or{' '}
        {run ? link('the latest run', () => inspect({ kind: 'run', run })) : 'the latest run'} to see its
        times, tokens, and the exact request and response of each model call.
      </p>
      <CostSection title={`Cost of this thread: ${cost}`} runs={log.runs} />
      <ContextSection use={contextOf(log)} />
    </>
  )
}
