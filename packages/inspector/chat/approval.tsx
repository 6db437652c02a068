import type { ApprovalView } from 'millrace/view'
import { limitText } from 'millrace/view'
import type { TargetedKeyboardEvent } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { pretty } from '../format.ts'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { BudgetForm, budgetDecision } from './budget-form.tsx'
import { InlineCode } from './inline-code.tsx'
import { inputProblem } from './json-text.ts'
import { ResultForm } from './result-form.tsx'
import { rememberLabels } from './strings.ts'

export interface ApprovalProps {
  readonly approval: ApprovalView
  /** Absent if it can no longer be decided. */
  readonly session: Session | undefined
}

/** The approval of a call: a form, or the decision once a user has made it, here or elsewhere. */
export function ApprovalForm({ approval, session }: ApprovalProps) {
  const { decision, request } = approval
  if (!decision && session) {
    const Form = request.budget ? BudgetForm : request.wants === 'result' ? ResultForm : ApprovalRequest
    return <Form request={request} session={session} />
  }
  if (request.budget)
    return (
      <p class="chat-quiet">
        {limitText(request.budget)} {budgetDecision(request.budget, approval)}
      </p>
    )
  return (
    <p class="chat-quiet">
      {decision ? decisionText(decision) : request.wants ? 'No result' : 'No decision'}
      {decision?.reason && ` · ${visible(decision.reason)}`}
    </p>
  )
}

export function decisionText({
  approved,
  input,
  remember,
  output,
}: NonNullable<ApprovalView['decision']>): string {
  if (!approved) return 'Denied'
  if (output) return 'Answered by a client'
  return `Allowed${input ? ' with changes' : ''}${remember ? ` ${rememberLabels[remember.for]}` : ''}`
}

/** Unsent input of the forms, since a form that is scrolled out of view is unmounted. */
const drafts = new WeakMap<
  ApprovalView['request'],
  { readonly text: string; readonly reason: string; readonly remember: keyof typeof rememberLabels }
>()

export type ApprovalRequestProps = Pick<ApprovalView, 'request'> & { readonly session: Session }

function ApprovalRequest({ request, session }: ApprovalRequestProps) {
  // Invisible characters are escaped, which is still the same JSON.
  const original = visible(pretty(request.input))
  const [draft, setDraft] = useState(
    drafts.get(request) ?? {
      text: original,
      reason: '',
      remember: 'once' as const,
    },
  )
  const [failure, setFailure] = useState('')
  const form = useRef<HTMLFieldSetElement>(null)
  const id = useId()
  const { text, reason, remember } = draft
  const inputError = inputProblem(text)
  const problem = inputError || failure

  function change(changes: Partial<typeof draft>) {
    const next = { ...draft, ...changes }
    drafts.set(request, next)
    setDraft(next)
  }

  async function decide(approved: boolean) {
    const why = reason.trim()
    // The form is about to disappear. Keep the focus in its card.
    form.current?.closest('article')?.focus()
    try {
      await session.thread.approve(request.callId, {
        approved,
        ...(approved && text !== original && { input: JSON.parse(text) }),
        ...(why && { reason: why }),
        ...(approved && remember !== 'once' && { remember }),
      })
    } catch (error) {
      setFailure((error as Error).message)
    }
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLElement>) {
    if (event.key !== 'Escape' || text === original) return
    event.stopPropagation()
    change({ text: original })
  }

  return (
    <fieldset class="chat-approval" ref={form}>
      <legend>Allow {request.name}?</legend>
      {request.reason && (
        <p>
          <InlineCode text={request.reason} />
        </p>
      )}
      <label>
        Arguments · Esc to reset
        <textarea
          class="mono"
          rows={text.split('\n').length}
          spellcheck={false}
          value={text}
          aria-invalid={inputError !== ''}
          aria-describedby={id}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          onKeyDown={onKeyDown}
        />
      </label>
      <label>
        Reason (optional, shown to the model)
        <input value={reason} onInput={({ currentTarget }) => change({ reason: currentTarget.value })} />
      </label>
      {request.remember && (
        <label>
          Allow {visible(request.remember.rules.join(', '))}{' '}
          <select
            value={remember}
            onChange={({ currentTarget }) => change({ remember: currentTarget.value as typeof remember })}
          >
            {(['once', ...request.remember.for] as const).map((how) => (
              <option key={how} value={how}>
                {rememberLabels[how]}
              </option>
            ))}
          </select>
        </label>
      )}
      {problem && (
        <p class="chat-problem" id={id} role={inputError ? undefined : 'alert'}>
          {problem}
        </p>
      )}
      <div>
        <button type="button" class="primary" disabled={inputError !== ''} onClick={() => void decide(true)}>
          {text === original ? 'Allow' : 'Allow with changes'}
        </button>
        <button type="button" class="danger" onClick={() => void decide(false)}>
          Deny
        </button>
      </div>
    </fieldset>
  )
}
