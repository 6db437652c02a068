import { signal } from '@preact/signals'
import type { RunView } from 'millrace/view'
import type { TargetedKeyboardEvent, TargetedSubmitEvent } from 'preact'
import { useState } from 'preact/hooks'
import { IconButton } from '../icon-button.tsx'
import type { Session } from '../session.ts'
import { showError } from './actions.ts'

export interface FeedbackProps {
  readonly run: RunView
  /** Renders it again when the run changes. */
  readonly version: number
  readonly session: Session
}

type Rating = 'up' | 'down'

/** The run whose note is being written, and the text so far. */
const open = signal<{ readonly run: string; readonly note: string } | undefined>(undefined)

/** What this user said. Others are known by name; this page does not know its own. */
function ownFeedback({ feedback }: RunView) {
  return feedback.get('') ?? (feedback.size === 1 ? [...feedback.values()][0] : undefined)
}

/** Rates an answer, and opens the field for a note. The same rating again is withdrawn. */
export function rate(session: Session, run: RunView, rating: Rating): void {
  const given = ownFeedback(run)
  const isWithdrawn = given?.rating === rating
  open.value = isWithdrawn ? undefined : { run: run.id, note: given?.note ?? '' }
  const next = isWithdrawn ? {} : { rating, ...(given?.note && { note: given.note }) }
  void session.thread.feedback(run.id, next).catch(showError)
}

/** Thumbs up and down. Pressed again, a thumb withdraws the feedback. */
export function FeedbackButtons({ run, session }: FeedbackProps) {
  const given = ownFeedback(run)
  return (
    <>
      <IconButton
        icon="thumb-up"
        label="Good answer"
        pressed={given?.rating === 'up'}
        onClick={() => rate(session, run, 'up')}
      />
      <IconButton
        icon="thumb-down"
        label="Bad answer"
        pressed={given?.rating === 'down'}
        onClick={() => rate(session, run, 'down')}
      />
    </>
  )
}

/** The note of the user, or the field for it after a thumb. */
export function FeedbackNote({ run, session }: FeedbackProps) {
  const [busy, setBusy] = useState(false)
  const given = ownFeedback(run)
  if (open.value?.run !== run.id)
    return given?.note ? <p class="chat-feedback-text">Your note: {given.note}</p> : null
  const { note } = open.value

  /** The field disappears with the focus in it. */
  function close(from: EventTarget) {
    ;(from as Element).closest('article')?.focus()
    open.value = undefined
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLElement>) {
    if (event.key !== 'Escape') return
    // It does not count as a request to stop.
    event.stopPropagation()
    close(event.currentTarget)
  }

  async function send(event: TargetedSubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const { currentTarget } = event
    setBusy(true)
    const { rating } = given ?? {}
    try {
      const trimmed = note.trim()
      await session.thread.feedback(run.id, { ...(rating && { rating }), ...(trimmed && { note: trimmed }) })
      close(currentTarget)
    } catch (error) {
      showError(error as Error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <form class="chat-feedback" onSubmit={(event) => void send(event)} onKeyDown={onKeyDown}>
      <input
        aria-label="Note (optional)"
        placeholder="What was good or bad about it? (optional)"
        maxLength={4000}
        value={note}
        readOnly={busy}
        dir="auto"
        onInput={({ currentTarget }) => (open.value = { run: run.id, note: currentTarget.value })}
      />
      <button type="submit" disabled={busy}>
        Save note
      </button>
      <button type="button" onClick={({ currentTarget }) => close(currentTarget)}>
        Cancel
      </button>
    </form>
  )
}
