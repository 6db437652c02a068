import { client, type RemoteThread, type ThreadSnapshot } from 'millrace/client'
import { type FormEvent, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useThread } from './use-thread.ts'

type Message = ThreadSnapshot['messages'][number]

const server = client('/api')

/** The thread whose id is in the address, so that a reload and a shared link show the same one. */
async function openThread(): Promise<RemoteThread> {
  const id = location.hash.slice(1)
  if (id) return server.thread(id)
  const thread = await server.create()
  history.replaceState(null, '', `#${thread.id}`)
  return thread
}

function App() {
  const [thread, setThread] = useState<RemoteThread>()
  useEffect(() => void openThread().then(setThread), [])
  return thread ? <Chat thread={thread} /> : <p>Connecting…</p>
}

function Chat({ thread }: { readonly thread: RemoteThread }) {
  const state = useThread(thread)
  const isRunning = state?.status === 'running' || state?.status === 'queued'

  function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const text = String(new FormData(form).get('text'))
    form.reset()
    void thread.send(text)
  }

  return (
    <main>
      <h1>Support</h1>
      {/* Messages only grow at the end, so their index is a stable key. */}
      {state?.messages.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <MessageView key={index} message={message} messages={state.messages} />
      ))}
      {state?.approvals.map(({ callId, reason, name }) => (
        <div key={callId} className="approval" role="alertdialog" aria-label={reason ?? name}>
          {reason ?? `Run ${name}?`}{' '}
          <button type="button" onClick={() => thread.approve(callId, { approved: true })}>
            Allow
          </button>{' '}
          <button type="button" onClick={() => thread.approve(callId, { approved: false })}>
            Deny
          </button>
        </div>
      ))}
      <form onSubmit={send}>
        <input
          name="text"
          aria-label="Message"
          placeholder="Where is ORD-42? I want my money back."
          required
        />
        {isRunning ? (
          <button type="button" onClick={() => thread.stop()}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </main>
  )
}

function MessageView({
  message,
  messages,
}: {
  readonly message: Message
  readonly messages: readonly Message[]
}) {
  if (message.role === 'tool' || message.role === 'system') return null
  const parts =
    typeof message.content === 'string' ? [{ type: 'text' as const, text: message.content }] : message.content
  return (
    <article className={message.role}>
      {parts.map((part, index) => {
        if (part.type === 'text')
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts only grow at the end
            <p key={index} className="text">
              {part.text}
            </p>
          )
        if (part.type !== 'tool-call') return null
        const result = messages.find((one) => one.role === 'tool' && one.callId === part.callId)
        const status = !result ? 'running' : result.role === 'tool' && result.isError ? 'failed' : 'done'
        return (
          <div key={part.callId} className="call">
            <code>
              {part.name}({JSON.stringify(part.input)})
            </code>{' '}
            {status}
          </div>
        )
      })}
    </article>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<App />)
