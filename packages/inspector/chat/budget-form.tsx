import type { ApprovalView, ReachedLimit } from 'millrace/view'
import { budgetQuestion, formatAmount } from 'millrace/view'
import { useRef, useState } from 'preact/hooks'
import type { ApprovalRequestProps } from './approval.tsx'

const labels: Readonly<Record<ReachedLimit['kind'], string>> = {
  usd: 'US dollars',
  tokens: 'Tokens',
  rounds: 'Rounds',
  toolCalls: 'Tool calls',
  ms: 'Milliseconds',
}

/** Unsent amounts, since a form that is scrolled out of view is unmounted. */
const drafts = new WeakMap<ApprovalView['request'], string>()

/** Asks whether more may be spent than the budget allows, and how much. */
export function BudgetForm({ request, session }: ApprovalRequestProps) {
  const { budget, input, callId } = request
  const kind = budget?.kind ?? 'usd'
  const [text, setText] = useState(drafts.get(request) ?? String(input[kind]))
  const [failure, setFailure] = useState('')
  const form = useRef<HTMLFieldSetElement>(null)
  const amount = Number(text)
  const isValid = amount > 0 && Number.isFinite(amount)

  function decide(approved: boolean) {
    // The form is about to disappear. Keep the focus in its card.
    form.current?.closest('article')?.focus()
    const isChanged = approved && amount !== input[kind]
    session.thread
      .approve(callId, { approved, ...(isChanged && { input: { ...input, [kind]: amount } }) })
      .catch((error: Error) => setFailure(error.message))
  }

  return (
    <fieldset class="chat-approval" ref={form}>
      <legend>{budget && budgetQuestion(budget, input)}</legend>
      <label>
        {labels[kind]}{' '}
        <input
          type="number"
          min="0"
          step="any"
          value={text}
          aria-invalid={!isValid}
          onInput={({ currentTarget }) => {
            drafts.set(request, currentTarget.value)
            setText(currentTarget.value)
          }}
        />
      </label>
      {failure && (
        <p class="chat-problem" role="alert">
          {failure}
        </p>
      )}
      <div class="chat-approval-actions">
        <button type="button" class="primary" disabled={!isValid} onClick={() => decide(true)}>
          Allow
        </button>
        <button type="button" class="danger" onClick={() => decide(false)}>
          Deny
        </button>
      </div>
    </fieldset>
  )
}

/** `Allowed $2.00 more`. */
export function budgetDecision({ kind }: ReachedLimit, { decision, request }: ApprovalView): string {
  if (!decision?.approved) return decision ? 'Denied' : 'No decision'
  return `Allowed ${formatAmount(kind, Number({ ...request.input, ...decision.input }[kind]))} more`
}
