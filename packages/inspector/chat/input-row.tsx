import type { InputView } from 'millrace/view'
import { CopyButton } from '../copy-button.tsx'
import { clockTime } from '../format.ts'
import { IconButton } from '../icon-button.tsx'
import { Attachments } from './attachments.tsx'
import { draftFrom } from './draft.ts'
import { EditForm, editOf, startEdit } from './edit-form.tsx'
import type { RowProps } from './row-view.tsx'
import type { Mode } from './strings.ts'
import { modes } from './strings.ts'
import { UserText } from './user-text.tsx'

/** A message of the user. */
export function InputRowView({ row, session, isPending }: RowProps<InputView>) {
  const { text, attachments } = draftFrom(row.message)
  const edit = editOf(row)
  if (session && edit) return <EditForm edit={edit} session={session} />
  const note = isPending ? pendingNote(row) : readNote(row)
  return (
    <div class="chat-input" data-pending={isPending}>
      <div class="chat-actions chat-quiet">
        {clockTime(row.at)}
        <CopyButton text={() => text} label="Copy message" />
        {session && !isPending && (
          <IconButton icon="edit" label="Edit message" onClick={() => startEdit(row)} />
        )}
      </div>
      <div class="chat-bubble">
        <Attachments attachments={attachments} />
        {text && <UserText row={row} text={text} />}
      </div>
      {note && <p class="chat-input-note chat-quiet">{note}</p>}
    </div>
  )
}

function pendingNote({ held, mode }: InputView): string {
  if (held) return 'On hold since the stop · sent with your next message'
  const { label, hint } = modes[mode as Mode]
  return `${label} — ${hint}`
}

function readNote({ mode, run, seq }: InputView): string | undefined {
  if (mode === 'interrupt') return 'Interrupted the run'
  return mode === 'steer' && run && seq > run.seq ? 'Sent while running' : undefined
}
