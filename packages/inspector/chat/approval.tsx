import type { ApprovalView } from 'millrace/view'
import type { TargetedKeyboardEvent } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { pretty } from '../format.ts'
import { visible } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { inputProblem } from './json-text.ts'

export interface ApprovalProps {
  readonly approval: ApprovalView
  /** Absent where nothing can be decided any more. */
  readonly session: Session | undefined
}

/** A call that a person has to decide about, or has decided about: here or elsewhere. */
export function ApprovalForm({ approval, session }: ApprovalProps) {
  const { decision, request } = approval
  if (!decision && session) return <Ask request={request} session={session} />
  return (
    <p class="chat-quiet">
      {decision ? decisionWords(decision) : 'Not decided'}
      {decision?.reason && `: ${visible(decision.reason)}`}
    </p>
  )
}

const howLong = { once: 'once', thread: 'in this thread', always: 'always' }

export function decisionWords({ approved, input, remember }: NonNullable<ApprovalView['decision']>): string {
  if (!approved) return 'Denied'
  return `Allowed${input ? ' as changed' : ''}${remember ? ` ${howLong[remember.for]}` : ''}`
}

/** What is being written in forms: one that is scrolled out of sight is not there, and what was written in it is. */
const drafts = new WeakMap<
  ApprovalView['request'],
  { readonly text: string; readonly reason: string; readonly remember: keyof typeof howLong }
>()

type AskProps = Pick<ApprovalView, 'request'> & { readonly session: Session }

function Ask({ request, session }: AskProps) {
  // JSON says the same with what cannot be seen written out.
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
  const wrong = inputProblem(text)
  const problem = wrong || failure

  function change(changes: Partial<typeof draft>) {
    const next = { ...draft, ...changes }
    drafts.set(request, next)
    setDraft(next)
  }

  async function decide(approved: boolean) {
    const why = reason.trim()
    // The form goes away, and the focus should not go with it.
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
    <fieldset class="chat-ask" ref={form}>
      <legend>Allow {request.name}?</legend>
      {request.reason && <p>{visible(request.reason)}</p>}
      <label>
        Input (Escape gives the original back)
        <textarea
          class="mono"
          rows={text.split('\n').length}
          spellcheck={false}
          value={text}
          aria-invalid={wrong !== ''}
          aria-describedby={id}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
          onKeyDown={onKeyDown}
        />
      </label>
      <label>
        Reason for the model, if you deny
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
                {howLong[how]}
              </option>
            ))}
          </select>
        </label>
      )}
      {problem && (
        <p class="chat-problem" id={id} role={wrong ? undefined : 'alert'}>
          {problem}
        </p>
      )}
      <div>
        <button type="button" class="primary" disabled={wrong !== ''} onClick={() => void decide(true)}>
          {text === original ? 'Allow' : 'Allow as changed'}
        </button>
        <button type="button" class="danger" onClick={() => void decide(false)}>
          Deny
        </button>
      </div>
    </fieldset>
  )
}
