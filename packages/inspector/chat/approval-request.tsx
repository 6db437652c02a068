import type { TargetedKeyboardEvent } from 'preact'
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks'
import { IconButton } from '../icon-button.tsx'
import { Icon } from '../icons.tsx'
import { inspect } from '../state.ts'
import { AllowAll } from './allow-all.tsx'
import type { ApprovalRequestProps } from './approval.tsx'
import type { ApprovalDraft } from './approval-draft.ts'
import { answerOf, draftOf, keepDraft, originalText } from './approval-draft.ts'
import { Arguments } from './arguments.tsx'
import { InlineCode } from './inline-code.tsx'
import { Inspectable } from './inspectable.ts'
import { inputProblem } from './json-text.ts'
import { SmallButton } from './small-button.tsx'
import { rememberLabels } from './strings.ts'
import { callTitle, rulesText } from './words.ts'

/** Asks whether a call may run: what will happen, Allow and Deny. The rest is folded away. */
export function ApprovalRequest({ request, call, session }: ApprovalRequestProps) {
  const original = originalText(request)
  const [draft, setDraft] = useState(draftOf(request))
  const canInspect = useContext(Inspectable)
  const [failure, setFailure] = useState('')
  const form = useRef<HTMLFieldSetElement>(null)
  /** The field that was just opened. */
  const opened = useRef('')
  const id = useId()
  const { text, reason, remember, isEditing, hasReason } = draft
  const inputError = inputProblem(text)
  const problem = inputError || failure

  useEffect(() => {
    if (opened.current) form.current?.querySelector<HTMLElement>(opened.current)?.focus()
    opened.current = ''
  }, [isEditing, hasReason])

  function change(changes: Partial<ApprovalDraft>) {
    const next = { ...draft, ...changes }
    keepDraft(request, next)
    setDraft(next)
  }

  async function decide(approved: boolean) {
    // The form is about to disappear. Keep the focus in its card.
    form.current?.closest('article')?.focus()
    try {
      await session.thread.approve(request.callId, answerOf(request, approved))
    } catch (error) {
      setFailure((error as Error).message)
    }
  }

  /** Escape discards the changes, then closes the editor. It does not count as a request to stop. */
  function onKeyDown(event: TargetedKeyboardEvent<HTMLElement>) {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    if (text === original) event.currentTarget.closest('article')?.focus()
    change({ text: original, isEditing: text !== original })
  }

  return (
    <>
      <AllowAll request={request} call={call} session={session} />
      <fieldset class="chat-approval" ref={form}>
        <legend>
          <Icon name="warning" />{' '}
          <InlineCode text={request.reason ?? `${callTitle(request.name, request.input)}?`} maxCode={160} />
        </legend>
        {/* Those of a sub-agent have no details of their own. */}
        {canInspect && request.callId === call.callId && (
          <IconButton icon="panel" label="Details" onClick={() => inspect({ kind: 'call', call })} />
        )}
        {!isEditing && <Arguments input={request.input} isAsked />}
        {isEditing && (
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
        )}
        {hasReason && (
          <label>
            Reason (optional, shown to the model)
            <input
              dir="auto"
              value={reason}
              onInput={({ currentTarget }) => change({ reason: currentTarget.value })}
            />
          </label>
        )}
        {request.remember && (
          <Remember
            rules={request.remember.rules}
            choices={['once', ...request.remember.for]}
            chosen={remember}
            onChange={(how) => change({ remember: how })}
          />
        )}
        {problem && (
          <p class="chat-problem" id={id} role={inputError ? undefined : 'alert'}>
            {problem}
          </p>
        )}
        <div class="chat-approval-actions">
          <button
            type="button"
            class="primary"
            disabled={inputError !== ''}
            onClick={() => void decide(true)}
          >
            {text === original ? 'Allow' : 'Allow with changes'}
          </button>
          <button type="button" class="danger" onClick={() => void decide(false)}>
            Deny
          </button>
          <SmallButton
            expanded={isEditing}
            // What is allowed is always visible, so closing the editor discards the changes.
            onClick={() => {
              opened.current = isEditing ? '' : 'textarea'
              change({ isEditing: !isEditing, text: isEditing ? original : text })
            }}
          >
            {isEditing ? 'Cancel edit' : 'Edit arguments'}
          </SmallButton>
          <SmallButton
            expanded={hasReason}
            onClick={() => {
              opened.current = hasReason ? '' : 'input:not([type])'
              change({ hasReason: !hasReason, reason: hasReason ? '' : reason })
            }}
          >
            {hasReason ? 'Remove reason' : 'Add a reason'}
          </SmallButton>
        </div>
      </fieldset>
    </>
  )
}

type How = ApprovalDraft['remember']

interface RememberProps {
  readonly rules: readonly string[]
  readonly choices: readonly How[]
  readonly chosen: How
  readonly onChange: (how: How) => void
}

/** For how long such calls are allowed, and what that means in words. */
function Remember({ rules, choices, chosen, onChange }: RememberProps) {
  const name = useId()
  return (
    <div class="chat-remember" role="radiogroup" aria-label="Allow for how long">
      <span aria-hidden="true">Allow</span>
      {choices.map((how) => (
        <label key={how}>
          <input type="radio" name={name} checked={how === chosen} onChange={() => onChange(how)} />
          {rememberLabels[how]}
        </label>
      ))}
      {chosen !== 'once' && (
        <p class="chat-quiet">
          <InlineCode text={rulesText(rules, chosen)} />
        </p>
      )}
    </div>
  )
}
