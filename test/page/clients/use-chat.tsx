import { useChat } from '@ai-sdk/react'
import type { UIMessage } from 'ai'
import {
  DefaultChatTransport,
  generateId,
  getToolName,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  WebSocketChatTransport,
} from 'ai'
import { type FormEvent, type ReactNode, StrictMode, useEffect } from 'react'
import { createRoot } from 'react-dom/client'

// A chat with `useChat` that looks like the one with `useThread()`, so that the same tests use both.

const params = new URLSearchParams(location.search)
const api = params.get('api') ?? '/api/chat'
location.hash ||= generateId()
const id = location.hash.slice(1)

const tools = {
  locate: {
    description: 'Where the user is',
    parameters: { type: 'object', properties: { exact: { type: 'boolean' } } },
  },
}
const transport = params.has('socket')
  ? new WebSocketChatTransport<UIMessage>({ url: `${api}/socket`, body: { tools } })
  : new DefaultChatTransport<UIMessage>({ api, body: { tools } })

async function history(): Promise<UIMessage[]> {
  const response = await fetch(`${api}/${id}/messages`)
  return response.json()
}

/** Tests wait for this, since a message that is resumed is built again from its start. */
function markEnd({ isAbort }: { readonly isAbort: boolean }) {
  if (!isAbort) document.body.dataset.finished = 'true'
}

function Button({ onClick, children }: { onClick: () => unknown; children: ReactNode }) {
  return (
    <button type="button" onClick={onClick}>
      {children}
    </button>
  )
}

function Chat({ initial }: { initial: UIMessage[] }) {
  const chat = useChat({
    id,
    messages: initial,
    transport,
    resume: true,
    onFinish: markEnd,
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
      lastAssistantMessageIsCompleteWithToolCalls(state),
    onToolCall({ toolCall: { toolName, toolCallId } }) {
      if (toolName === 'locate')
        void chat.addToolOutput({ tool: toolName, toolCallId, output: { city: 'Bern' } })
    },
  })
  const { messages, status, error, sendMessage, regenerate, stop, setMessages, resumeStream } = chat

  useEffect(() => {
    const resume = () => void resumeStream()
    addEventListener('online', resume)
    return () => removeEventListener('online', resume)
  }, [resumeStream])

  /** Other clients may have sent something. */
  async function refresh() {
    delete document.body.dataset.finished
    setMessages(await history())
    await resumeStream()
  }

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text'))
    const { files } = event.currentTarget.elements.namedItem('image') as HTMLInputElement
    void sendMessage({ text, ...(files?.length && { files }) }).then(undefined, reportError)
    event.currentTarget.reset()
  }

  return (
    <>
      <p>
        <output aria-label="Status">{status === 'ready' ? 'idle' : status}</output>{' '}
        <output aria-label="Error">{error?.message}</output>
      </p>
      {messages.map((message) => (
        <article key={message.id} aria-label={message.role}>
          {message.parts.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts only grow at the end
            <Part key={index} part={part} chat={chat} />
          ))}
          {message.role === 'user' ? (
            <Button
              onClick={() => sendMessage({ text: `${textOf(message)}, please`, messageId: message.id })}
            >
              Edit
            </Button>
          ) : (
            <Button onClick={() => regenerate({ messageId: message.id })}>Retry</Button>
          )}
        </article>
      ))}
      {error && <Button onClick={() => regenerate()}>Retry</Button>}
      <form onSubmit={submit}>
        <input name="text" aria-label="Message" />
        <input name="image" type="file" aria-label="Image" />
        <button type="submit">Send</button>
        <Button onClick={stop}>Stop</Button>
        <Button onClick={refresh}>Refresh</Button>
      </form>
    </>
  )
}

type Helpers = ReturnType<typeof useChat<UIMessage>>

function Part({ part, chat }: { part: UIMessage['parts'][number]; chat: Helpers }) {
  if (part.type === 'text') return <p>{part.text}</p>
  if (part.type === 'steering-message')
    return part.parts.map((inner, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message that was sent
      <Part key={index} part={inner} chat={chat} />
    ))
  if (part.type === 'file') return <img alt="Attached" src={part.url} />
  if (!isToolUIPart(part)) return null
  const { state, approval } = part
  return (
    <div>
      <code>
        {getToolName(part)}({JSON.stringify(part.input)}) {states[state] ?? state}{' '}
        {JSON.stringify(part.output)}
      </code>
      {state === 'approval-requested' && (
        <Button onClick={() => chat.addToolApprovalResponse({ id: approval?.id ?? '', approved: true })}>
          Allow
        </Button>
      )}
    </div>
  )
}

const states: Partial<Record<string, string>> = { 'input-available': 'running', 'output-available': 'ok' }

function textOf({ parts }: UIMessage): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

const root = createRoot(document.getElementById('root') as HTMLElement)
root.render(
  <StrictMode>
    <Chat initial={await history()} />
  </StrictMode>,
)
