import type { InputView } from 'millrace/view'
import { CopyButton } from '../copy-button.tsx'
import { clockTime } from '../format.ts'
import { IconButton } from '../icon-button.tsx'
import { visible } from '../json/visible.ts'
import { forkWith } from './actions.ts'
import { Attachments } from './attachments.tsx'
import { draftFrom } from './draft.ts'
import type { Mode } from './modes.ts'
import { modes } from './modes.ts'
import type { RowProps } from './row-view.tsx'

/** What a person said. */
export function SaidRowView({ row, session, waits }: RowProps<InputView>) {
  const draft = draftFrom(row.message)
  const { text, attachments } = draft
  const fate = waits ? waitWords(row) : heardWords(row)
  return (
    <div class="chat-said" data-waits={waits}>
      <div class="chat-actions chat-quiet">
        {clockTime(row.at)}
        <CopyButton text={() => text} label="Copy the message" />
        {session && (
          <IconButton
            icon="fork"
            label="Edit in a new thread"
            onClick={() => void forkWith(session, row.seq - 1, draft)}
          />
        )}
      </div>
      <div class="chat-bubble">
        <Attachments attachments={attachments} />
        {text && <p>{visible(text)}</p>}
      </div>
      {fate && <p class="chat-fate chat-quiet">{fate}</p>}
    </div>
  )
}

function waitWords({ held, mode }: InputView): string {
  return held ? 'Held back by the stop: heard with your next message' : modes[mode as Mode]
}

function heardWords({ mode, run, seq }: InputView): string | undefined {
  if (mode === 'interrupt') return 'Interrupted the run'
  return mode === 'steer' && run && seq > run.seq ? 'Heard while it ran' : undefined
}
