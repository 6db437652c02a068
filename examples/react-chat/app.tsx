import { useThread } from '@millrace/react'
import { type FormEvent, useSyncExternalStore } from 'react'
import { createRoot } from 'react-dom/client'
import { Message } from './message.tsx'

/** Runs in the browser when the model calls it: the server does not know the user's clock. */
const tools = {
  local_time: () => ({
    time: new Date().toLocaleTimeString(),
    zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  }),
}

function followAddress(onChange: () => void) {
  addEventListener('hashchange', onChange)
  return () => removeEventListener('hashchange', onChange)
}

/** The id of the thread is in the address, so that a reload and a shared link show the same one. */
const threadInAddress = () => location.hash.slice(1) || undefined

function show(id = '') {
  location.hash = id
}

function Chat() {
  const id = useSyncExternalStore(followAddress, threadInAddress)
  const chat = useThread({ url: '/api', id, tools, onCreate: show })
  const { messages, status, connection, approvals, error, send, stop, retry, edit, selectVersion } = chat
  const isBusy = status === 'running' || status === 'queued'

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const text = String(new FormData(form).get('text')).trim()
    // While an answer is being generated, a message steers it.
    if (text) void send(text, { mode: 'steer' })
    form.reset()
  }

  return (
    <>
      <header>
        <h1>Support</h1>
        {connection === 'reconnecting' && <p role="status">Connection lost. Reconnecting…</p>}
        <button type="button" onClick={() => show()}>
          New chat
        </button>
      </header>
      <main>
        <div className="messages">
          {messages.map((message) => (
            <Message
              key={message.key}
              message={message}
              retry={retry}
              edit={edit}
              selectVersion={selectVersion}
            />
          ))}
          {isBusy && messages.at(-1)?.role === 'user' && <p className="thinking">Thinking…</p>}
          {approvals.map(({ callId, reason, name }) => (
            <div key={callId} className="card" role="alertdialog" aria-label={reason ?? name}>
              {reason ?? `Run ${name}?`}
              <button type="button" onClick={() => chat.approve(callId)}>
                Allow
              </button>
              <button type="button" onClick={() => chat.deny(callId)}>
                Deny
              </button>
            </div>
          ))}
          {error && <p role="alert">{error.message}</p>}
        </div>
      </main>
      <form onSubmit={submit}>
        <input
          name="text"
          aria-label="Message"
          placeholder="Where is ORD-42? I want my money back."
          autoComplete="off"
        />
        {isBusy ? (
          <button type="button" onClick={() => stop()}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </>
  )
}

const root = document.getElementById('root')
if (root) createRoot(root).render(<Chat />)
