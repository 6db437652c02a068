import type { EndView } from 'millrace/view'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { show } from '../state.ts'
import { forkWith } from './actions.ts'
import { endWords, usageWords } from './outcome.ts'
import type { RowProps } from './row-view.tsx'
import { SmallButton } from './small-button.tsx'

/** How a run ended, what it took, and what can be done about it. */
export function EndRowView({ row, session }: RowProps<EndView>) {
  const { run, seq } = row
  const { error } = run
  const failed = error && run.outcome !== 'cancelled'
  const words = [endWords(run), usageWords(run)].filter(Boolean).join(' · ')
  return (
    <div class="chat-end chat-quiet">
      <p class={failed ? 'chat-end-failed' : ''}>
        {failed && (
          <>
            <Icon name="warning" /> <code>{error.code}</code>{' '}
          </>
        )}
        {visible(words)}
      </p>
      {session && (
        <div>
          <SmallButton
            icon="retry"
            title="Answer again in a new thread"
            // A fork that ends right before a run has its inputs and no run, so that they are answered anew.
            onClick={() => forkWith(session, run.seq - 1)}
          >
            Retry
          </SmallButton>
          <SmallButton icon="fork" title="Go on in a new thread" onClick={() => forkWith(session, seq)}>
            Fork
          </SmallButton>
          <SmallButton icon="clock" onClick={() => show({ kind: 'run', run }, 'timeline')}>
            Timeline
          </SmallButton>
        </div>
      )}
    </div>
  )
}
