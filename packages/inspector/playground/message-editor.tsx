import { useId, useRef } from 'preact/hooks'
import { IconButton } from '../icon-button.tsx'
import type { Draft, DraftMessage, Problems } from './draft.ts'
import { emptyMessage, roles, withRole } from './draft.ts'
import { Field } from './field.tsx'

type Role = DraftMessage['role']

export interface MessagesProps {
  readonly messages: Draft['messages']
  readonly problems: Problems
  /** How many of the last messages are shown. */
  readonly most: number
  readonly onMore: () => void
  readonly onChange: (messages: Draft['messages']) => void
}

/** The messages of a draft: each can be edited, moved and removed. */
export function Messages({ messages, problems, most, onMore, onChange }: MessagesProps) {
  const add = useRef<HTMLButtonElement>(null)
  const hidden = Math.max(0, messages.length - most)
  const replaced = (place: number, ...by: DraftMessage[]) => messages.toSpliced(place, 1, ...by)
  const moved = (place: number, by: 1 | -1) => {
    const message = messages[place]
    return message ? messages.toSpliced(place, 1).toSpliced(place + by, 0, message) : messages
  }
  return (
    <fieldset class="playground-messages">
      <legend>Messages</legend>
      {hidden > 0 && (
        <button type="button" onClick={onMore}>
          Show {hidden} earlier
        </button>
      )}
      {messages.slice(hidden).map((message, shown) => {
        const place = hidden + shown
        return (
          <MessageEditor
            key={message.id}
            message={message}
            number={place + 1}
            problem={problems.get(`message ${message.id}`)}
            isFirst={place === 0}
            isLast={place === messages.length - 1}
            onChange={(changed) => onChange(replaced(place, changed))}
            onMove={(by) => {
              const { activeElement } = document
              onChange(moved(place, by))
              // An element that is moved in the document loses the focus.
              requestAnimationFrame(() => (activeElement as HTMLElement | null)?.focus())
            }}
            onRemove={() => {
              onChange(replaced(place))
              add.current?.focus()
            }}
          />
        )
      })}
      {problems.has('messages') && (
        <p class="playground-problem" role="alert">
          {problems.get('messages')}
        </p>
      )}
      <button ref={add} type="button" onClick={() => onChange([...messages, emptyMessage('user')])}>
        Add message
      </button>
    </fieldset>
  )
}

interface MessageEditorProps {
  readonly message: DraftMessage
  readonly number: number
  readonly problem: string | undefined
  readonly isFirst: boolean
  readonly isLast: boolean
  readonly onChange: (message: DraftMessage) => void
  readonly onMove: (by: 1 | -1) => void
  readonly onRemove: () => void
}

function MessageEditor(props: MessageEditorProps) {
  const { message, number, problem, isFirst, isLast, onChange, onMove, onRemove } = props
  const id = useId()
  const name = `message ${number}`
  return (
    <div class="playground-message">
      <div class="playground-message-head">
        <label for={id} class="visually-hidden">
          Role of {name}
        </label>
        <select
          id={id}
          value={message.role}
          onChange={({ currentTarget }) => onChange(withRole(message, currentTarget.value as Role))}
        >
          {roles.map((role) => (
            <option key={role}>{role}</option>
          ))}
        </select>
        {message.isJson && (
          <span class="quiet">{message.role === 'tool' ? 'result, JSON' : 'parts, JSON'}</span>
        )}
        <span class="app-space" />
        <IconButton icon="send" label={`Move ${name} up`} disabled={isFirst} onClick={() => onMove(-1)} />
        <IconButton icon="down" label={`Move ${name} down`} disabled={isLast} onClick={() => onMove(1)} />
        <IconButton icon="trash" label={`Remove ${name}`} onClick={onRemove} />
      </div>
      <Field
        label={`${message.role} ${name}`}
        isLabelHidden
        isJson={message.isJson}
        value={message.text}
        problem={problem}
        onChange={(text) => onChange({ ...message, text })}
      />
    </div>
  )
}
