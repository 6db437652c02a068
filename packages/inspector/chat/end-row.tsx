import type { EndView } from 'millrace/view'
import { costParts, costText } from '../cost.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { inspect } from '../state.ts'
import { fork, rewind } from './actions.ts'
import { endText, usageText } from './outcome.ts'
import type { RowProps } from './row-view.tsx'
import { SmallButton } from './small-button.tsx'

/** How a run ended, its usage, and what the user can do next. */
export function EndRowView({ row, session }: RowProps<EndView>) {
  const { run, seq } = row
  const { error } = run
  const failed = error && run.outcome !== 'canceled'
  const cost = costText(run.spent)
  const words = [endText(run), usageText(run)].filter(Boolean).join(' · ')
  return (
    <div class="chat-end chat-quiet">
      <p class={failed ? 'chat-end-failed' : ''}>
        {failed && (
          <>
            <Icon name="warning" /> <code>{error.code}</code>{' '}
          </>
        )}
        {visible(words)}
        {cost && (
          <>
            {' · '}
            <span title={costParts([run]).join('\n')}>{cost}</span>
          </>
        )}
      </p>
      {session && (
        <div>
          <SmallButton icon="retry" title="Answer again" onClick={() => rewind(session, run.seq)}>
            Retry
          </SmallButton>
          <SmallButton icon="fork" title="Continue in a new thread" onClick={() => fork(session, seq)}>
            Fork
          </SmallButton>
          <SmallButton icon="clock" onClick={() => inspect({ kind: 'run', run }, 'timeline')}>
            Timeline
          </SmallButton>
        </div>
      )}
    </div>
  )
}
