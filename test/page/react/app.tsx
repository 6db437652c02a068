import {
  type Answer,
  type AnswerPart,
  type ClientTool,
  type SentMessage,
  type ThreadHandle,
  type ThreadMessage,
  type UseThreadOptions,
  useThread,
} from '@millrace/react'
import { type FormEvent, memo, type ReactNode, StrictMode, useEffect, useState, version } from 'react'
import { createRoot } from 'react-dom/client'

// A chat with everything that `useThread()` has, for tests in a browser.

declare global {
  interface Window {
    /** How often each part and message was rendered, by key. */
    renders: Record<string, number>
    /** The calls of tools that this page has run. */
    toolCalls: unknown[]
  }
}

window.renders = {}
window.toolCalls = []

/** In StrictMode, only the first render of a component counts twice. */
function useRenderCount(key: string) {
  useEffect(() => {
    window.renders[key] = (window.renders[key] ?? 0) + 1
  })
}

const tools: Record<string, ClientTool> = {
  locate: {
    description: 'Where the user is',
    inputSchema: { type: 'object', properties: { exact: { type: 'boolean' } } },
    run(input) {
      window.toolCalls.push(input)
      return { city: 'Bern' }
    },
  },
  pick_color: {
    description: 'Lets the user pick a color',
    inputSchema: { type: 'object', properties: {} },
  },
}

function Button({ onClick, children }: { onClick: () => unknown; children: ReactNode }) {
  return (
    <button type="button" onClick={onClick}>
      {children}
    </button>
  )
}

const threadInAddress = () => location.hash.slice(1) || undefined

function App() {
  const [id, setId] = useState(threadInAddress)
  useEffect(() => {
    const follow = () => setId(threadInAddress())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const onCreate = (created: string) => {
    location.hash = created
  }
  return <Chat url="/" id={id} tools={tools} onCreate={onCreate} />
}

function Chat(options: UseThreadOptions) {
  const chat = useThread(options)
  const { messages, status, connection, approvals, error, send, stop, approve, deny } = chat
  const [mode, setMode] = useState<'queue' | 'steer' | 'interrupt'>('queue')

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const data = new FormData(form)
    const text = String(data.get('text'))
    const image = data.get('image') as File
    form.reset()
    if (image.size === 0) return void send(text, { mode })
    void image.bytes().then((bytes) =>
      send({
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'image', data: bytes, mediaType: image.type },
        ],
      }),
    )
  }

  return (
    <>
      <p>
        React {version} <output aria-label="Status">{status}</output>{' '}
        <output aria-label="Connection">{connection}</output>{' '}
        <output aria-label="Error">{error?.message}</output>
      </p>
      <Button
        onClick={() => {
          location.hash = ''
        }}
      >
        New chat
      </Button>
      {messages.map((message) => (
        <Message key={message.key} message={message} chat={actionsOf(chat)} />
      ))}
      {approvals.map(({ callId, reason }) => (
        <p key={callId}>
          {reason} <Button onClick={() => approve(callId)}>Allow</Button>{' '}
          <Button onClick={() => deny(callId, 'not today')}>Deny</Button>
        </p>
      ))}
      <form onSubmit={submit}>
        <input name="text" aria-label="Message" />
        <input name="image" type="file" aria-label="Image" />
        <select
          aria-label="Mode"
          value={mode}
          onChange={(event) => setMode(event.target.value as typeof mode)}
        >
          <option>queue</option>
          <option>steer</option>
          <option>interrupt</option>
        </select>
        <button type="submit">Send</button>
        <Button onClick={() => stop()}>Stop</Button>
      </form>
    </>
  )
}

type Actions = Pick<ThreadHandle, 'respond' | 'retry' | 'edit' | 'selectVersion' | 'discard'>

let lastActions: Actions | undefined

/** The functions of a thread never change, so one object with them is enough for `memo()`. */
function actionsOf({ respond, retry, edit, selectVersion, discard }: ThreadHandle): Actions {
  if (lastActions?.retry !== retry) lastActions = { respond, retry, edit, selectVersion, discard }
  return lastActions
}

const Message = memo(function Message({ message, chat }: { message: ThreadMessage; chat: Actions }) {
  useRenderCount(message.key)
  return (
    <article aria-label={message.role} data-status={message.status}>
      {message.role === 'user' ? (
        <Sent message={message} chat={chat} />
      ) : (
        <Answered message={message} chat={chat} />
      )}
      {message.versions && (
        <span>
          <Button onClick={() => chat.selectVersion(message, (message.versions?.current ?? 0) - 1)}>
            Previous
          </Button>
          {message.versions.current + 1} of {message.versions.count}
          <Button onClick={() => chat.selectVersion(message, (message.versions?.current ?? 0) + 1)}>
            Next
          </Button>
        </span>
      )}
    </article>
  )
})

function Sent({ message, chat }: { message: SentMessage; chat: Actions }) {
  const { text, content, status, error } = message
  return (
    <>
      <p>{text}</p>
      {typeof content !== 'string' &&
        content.map((part) =>
          part.type === 'image' && 'data' in part ? (
            <img key={part.data} alt="Attached" src={`data:${part.mediaType};base64,${part.data}`} />
          ) : null,
        )}
      <Button onClick={() => chat.edit(message, `${text}, please`)}>Edit</Button>
      {status === 'failed' && (
        <>
          <em>{error?.message}</em>
          <Button onClick={() => chat.retry(message)}>Send again</Button>
          <Button onClick={() => chat.discard(message)}>Discard</Button>
        </>
      )}
    </>
  )
}

function Answered({ message, chat }: { message: Answer; chat: Actions }) {
  return (
    <>
      {message.parts.map((part) => (
        <Part key={part.key} part={part} chat={chat} />
      ))}
      {message.error && <strong>{message.error.message}</strong>}
      <Button onClick={() => chat.retry(message)}>Retry</Button>
    </>
  )
}

const Part = memo(function Part({ part, chat }: { part: AnswerPart; chat: Actions }) {
  useRenderCount(`part ${part.key}`)
  if (part.kind === 'notice') return <small>{part.text}</small>
  if (part.kind !== 'call') return <p data-part={part.key}>{part.text}</p>
  const { callId, name, input, state, result, requests } = part
  return (
    <div>
      <code>
        {name}({JSON.stringify(input)}) {state} {JSON.stringify(result?.output)}
      </code>
      {name === 'pick_color' && requests.length > 0 && (
        <Button onClick={() => chat.respond(callId, { color: 'blue' })}>Blue</Button>
      )}
    </div>
  )
})

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
