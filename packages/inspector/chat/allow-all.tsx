import type { CallView } from 'millrace/view'
import { useState } from 'preact/hooks'
import { plural } from '../format.ts'
import type { ApprovalRequestProps } from './approval.tsx'
import { answerOf } from './approval-draft.ts'

/** Decides several calls at once. Shown in the form of the first call that waits. */
export function AllowAll({ request, call, session }: ApprovalRequestProps) {
  const [failure, setFailure] = useState('')
  // The other calls may start or stop waiting at any time.
  const waiting = session.tick.value < 0 ? [] : openApprovals(call.round.calls)
  if (waiting.length < 2 || waiting[0] !== request) return null

  async function decide(approved: boolean, button: HTMLElement) {
    // The forms are about to disappear. Keep the focus in the first card.
    button.closest('article')?.focus()
    try {
      const answers = waiting.map((one) => [one.callId, answerOf(one, approved)] as const)
      await Promise.all(answers.map(([id, answer]) => session.thread.approve(id, answer)))
    } catch (error) {
      setFailure((error as Error).message)
    }
  }

  return (
    <div class="chat-allow-all">
      <span>{plural(waiting.length, 'call')} wait for you</span>
      <button type="button" onClick={({ currentTarget }) => void decide(true, currentTarget)}>
        Allow all ({waiting.length})
      </button>
      <button type="button" class="danger" onClick={({ currentTarget }) => void decide(false, currentTarget)}>
        Deny all
      </button>
      {failure && (
        <p class="chat-problem" role="alert">
          {failure}
        </p>
      )}
    </div>
  )
}

/** The requests of a round that a user can allow as they are. */
export function openApprovals(calls: readonly CallView[]) {
  return calls
    .filter(({ state }) => state === 'asking')
    .flatMap(({ approvals }) => approvals)
    .filter(({ decision, request }) => !decision && !request.wants && !request.budget)
    .map(({ request }) => request)
}
