import { useRef, useState } from 'preact/hooks'
import type { ApprovalRequestProps } from './approval.tsx'
import { Arguments } from './arguments.tsx'
import { parsedOrText } from './json-text.ts'
import { humanize } from './words.ts'

/** Unsent results, since a form that is scrolled out of view is unmounted. */
const drafts = new WeakMap<ApprovalRequestProps['request'], string>()

/** A call of a tool that a client runs. If none does, the user can give the result here. */
export function ResultForm({ request, session }: ApprovalRequestProps) {
  const [text, setText] = useState(drafts.get(request) ?? '')
  const [isError, setIsError] = useState(false)
  const [failure, setFailure] = useState('')
  const form = useRef<HTMLFieldSetElement>(null)
  const { thread } = session
  const { callId } = request

  function answer(send: () => Promise<unknown>) {
    // The form is about to disappear. Keep the focus in its card.
    form.current?.closest('article')?.focus()
    send().catch((error: Error) => setFailure(error.message))
  }

  return (
    <fieldset class="chat-approval" ref={form}>
      <legend>Answer {humanize(request.name)} in place of the client</legend>
      <Arguments input={request.input} isAsked />
      <label>
        Result (text or JSON)
        <textarea
          class="mono"
          rows={text.split('\n').length}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => {
            drafts.set(request, currentTarget.value)
            setText(currentTarget.value)
          }}
        />
      </label>
      <label>
        <input
          type="checkbox"
          checked={isError}
          onChange={({ currentTarget }) => setIsError(currentTarget.checked)}
        />{' '}
        The call failed
      </label>
      {failure && (
        <p class="chat-problem" role="alert">
          {failure}
        </p>
      )}
      <div class="chat-approval-actions">
        <button
          type="button"
          class="primary"
          onClick={() => answer(() => thread.respond(callId, parsedOrText(text), { isError }))}
        >
          Send result
        </button>
        <button
          type="button"
          class="danger"
          onClick={() => answer(() => thread.approve(callId, { approved: false }))}
        >
          Deny
        </button>
      </div>
    </fieldset>
  )
}
