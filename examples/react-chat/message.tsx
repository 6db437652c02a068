import type { AnswerCall, AnswerPart, SentMessage, ThreadHandle, ThreadMessage } from '@millrace/react'
import { memo, useState } from 'react'

interface MessageProps extends Pick<ThreadHandle, 'retry' | 'edit' | 'selectVersion'> {
  readonly message: ThreadMessage
}

/** Only a message that changed is a new object, so `memo` skips all others while an answer streams. */
export const Message = memo(function Message({ message, retry, edit, selectVersion }: MessageProps) {
  const [isEditing, setEditing] = useState(false)
  const { versions } = message
  const isOver = message.status !== 'running' && message.status !== 'waiting'
  return (
    <article className={message.role} data-status={message.status}>
      {message.role === 'user' ? (
        isEditing ? (
          <Editor message={message} edit={edit} onDone={() => setEditing(false)} />
        ) : (
          <p className="text">{message.text}</p>
        )
      ) : (
        message.parts.map((part) => <Part key={part.key} part={part} />)
      )}
      {message.error && <p role="alert">{message.error.message}</p>}
      {isOver && (
        <footer>
          {versions && (
            <>
              <button
                type="button"
                aria-label="Previous version"
                disabled={versions.current === 0}
                onClick={() => selectVersion(message, versions.current - 1)}
              >
                ‹
              </button>
              {versions.current + 1} of {versions.count}
              <button
                type="button"
                aria-label="Next version"
                disabled={versions.current === versions.count - 1}
                onClick={() => selectVersion(message, versions.current + 1)}
              >
                ›
              </button>
            </>
          )}
          {message.role === 'user' && message.status !== 'failed' ? (
            <button type="button" onClick={() => setEditing(!isEditing)}>
              Edit
            </button>
          ) : (
            <button type="button" onClick={() => retry(message)}>
              Try again
            </button>
          )}
        </footer>
      )}
    </article>
  )
})

interface EditorProps extends Pick<ThreadHandle, 'edit'> {
  readonly message: SentMessage
  readonly onDone: () => void
}

function Editor({ message, edit, onDone }: EditorProps) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void edit(message, String(new FormData(event.currentTarget).get('text')))
        onDone()
      }}
    >
      <input name="text" aria-label="Edited message" defaultValue={message.text} />
      <button type="submit">Save</button>
    </form>
  )
}

const Part = memo(function Part({ part }: { readonly part: AnswerPart }) {
  if (part.kind === 'call') return <Call call={part} />
  if (part.kind === 'notice') return <p className="notice">{part.text}</p>
  return <p className={part.kind}>{part.text}</p>
})

const states: Partial<Record<AnswerCall['state'], string>> = {
  writing: 'writing …',
  queued: 'waiting …',
  asking: 'waiting …',
  running: 'running …',
  ok: 'done',
}

/** The arguments appear while the model is writing them. */
function Call({ call: { name, input, state } }: { readonly call: AnswerCall }) {
  return (
    <div className="card">
      <code>
        {name}({input && JSON.stringify(input)})
      </code>
      <span>{states[state] ?? state}</span>
    </div>
  )
}
