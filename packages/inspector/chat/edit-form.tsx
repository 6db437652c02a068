import { signal } from '@preact/signals'
import type { InputView } from 'millrace/view'
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Session } from '../session.ts'
import { replaceMessage } from './actions.ts'
import { requestFor, useAgent } from './agents.ts'
import { Attachments } from './attachments.tsx'
import type { Draft } from './draft.ts'
import { draftFrom, isEmpty } from './draft.ts'

interface Edit {
  readonly row: InputView
  readonly draft: Draft
  /** Why it could not be sent. */
  readonly problem: string
}

/** The message that is edited. Kept here while its row is not rendered. */
const edited = signal<Edit | undefined>(undefined)

export function startEdit(row: InputView): void {
  edited.value = { row, draft: draftFrom(row.message), problem: '' }
}

export function editOf(row: InputView): Edit | undefined {
  return edited.value?.row === row ? edited.value : undefined
}

export interface EditFormProps {
  readonly edit: Edit
  readonly session: Session
}

/** Edits a message in place. Sending it replaces the message and everything after it. */
export function EditForm({ edit, session }: EditFormProps) {
  const { row, draft, problem } = edit
  const [busy, setBusy] = useState(false)
  const box = useRef<HTMLTextAreaElement>(null)
  const cannotSend = busy || isEmpty(draft)
  const agent = useAgent(session)

  useEffect(() => box.current?.focus(), [])

  function change(changes: Partial<Draft>) {
    edited.value = { row, draft: { ...draft, ...changes }, problem: '' }
  }

  function cancel() {
    box.current?.closest('article')?.focus()
    edited.value = undefined
  }

  async function send() {
    if (cannotSend) return
    setBusy(true)
    try {
      await replaceMessage(session, row.seq, draft, requestFor(session, agent))
      edited.value = undefined
    } catch (error) {
      edited.value = { ...edit, problem: `Not sent: ${(error as Error).message}` }
    } finally {
      setBusy(false)
    }
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLTextAreaElement>) {
    if (event.isComposing) return
    if (event.key === 'Escape') {
      event.stopPropagation()
      cancel()
    }
    if (event.key !== 'Enter' || event.shiftKey) return
    event.preventDefault()
    void send()
  }

  return (
    <fieldset class="chat-edit">
      <Attachments attachments={draft.attachments} onChange={(attachments) => change({ attachments })} />
      <textarea
        ref={box}
        rows={draft.text.split('\n').length}
        dir="auto"
        enterkeyhint="send"
        aria-label="Edit your message"
        value={draft.text}
        readOnly={busy}
        onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        onKeyDown={onKeyDown}
      />
      {problem && (
        <p class="chat-problem" role="alert">
          {problem}
        </p>
      )}
      <div class="chat-actions">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        <button type="button" class="primary" disabled={cannotSend} onClick={() => void send()}>
          Send
        </button>
      </div>
    </fieldset>
  )
}
