import type { EndView, RunView } from 'millrace/view'
import { useContext } from 'preact/hooks'
import { CopyButton } from '../copy-button.tsx'
import { costParts, costText } from '../cost.ts'
import { IconButton } from '../icon-button.tsx'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { inspect } from '../state.ts'
import { fork, retry } from './actions.ts'
import { FeedbackButtons, FeedbackNote } from './feedback.tsx'
import { Inspectable } from './inspectable.ts'
import { endText, runTimes, timesText, usageText } from './outcome.ts'
import type { RowProps } from './row-view.tsx'
import { fullText } from './text-tail.ts'

/** How a run ended, what it took, and what the user can do next: one row for each answer. */
export function EndRowView({ row, version, session }: RowProps<EndView>) {
  const { run, seq, at } = row
  const canInspect = useContext(Inspectable)
  const { error, outcome } = run
  const failed = error && outcome !== 'canceled'
  const cost = costText(run.spent)
  const facts = [
    !failed && endText(run).replace(/\.$/, ''),
    timesText(runTimes(run, at)),
    usageText(run),
  ].filter(Boolean)
  return (
    <div class="chat-end chat-quiet">
      {failed && (
        <p class="chat-end-failed">
          <Icon name="warning" /> {visible(endText(run))} <code>{error.code}</code>
        </p>
      )}
      <p class="chat-facts">
        {visible(facts.join(' · '))}
        {cost && (
          <>
            {' · '}
            <span title={costParts([run]).join('\n')}>{cost}</span>
          </>
        )}
      </p>
      {canInspect && (
        <div class="chat-actions">
          <CopyButton text={() => answerText(run)} label="Copy answer" />
          {session && (
            <>
              <IconButton icon="retry" label="Retry" onClick={() => retry(session, run)} />
              <FeedbackButtons run={run} version={version} session={session} />
              <IconButton icon="fork" label="Fork" onClick={() => fork(session, seq)} />
            </>
          )}
          <IconButton
            icon="clock"
            label="Timeline"
            onClick={() => inspect({ kind: 'run', run }, 'timeline')}
          />
        </div>
      )}
      {session && <FeedbackNote run={run} version={version} session={session} />}
    </div>
  )
}

/** The text of an answer, without reasoning and tools. */
export function answerText({ rounds }: RunView): string {
  return rounds
    .filter(({ retracted }) => !retracted)
    .flatMap(({ parts }) => parts)
    .flatMap((part) => (part.kind === 'text' ? [fullText(part.text).trim()] : []))
    .join('\n\n')
}
