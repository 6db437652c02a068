import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  type FileMessagePartProps,
  MessagePrimitive,
  makeAssistantTool,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
  useAui,
  useAuiState,
} from '@assistant-ui/react'
import {
  AssistantChatTransport,
  useAISDKChat,
  useAISDKError,
  useChatRuntime,
} from '@assistant-ui/react-ai-sdk'
import type { UIMessage } from 'ai'
import {
  generateId,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { StrictMode, useEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { z } from 'zod'

// A chat with assistant-ui that looks like the one with `useThread()`, so that the same tests use
// both.

const api = new URLSearchParams(location.search).get('api') ?? '/api/chat'
location.hash ||= generateId()
const id = location.hash.slice(1)

let posted = await history()

/** The chat keeps its id after a reload, and an edit names the message that was in its place. */
const transport = new AssistantChatTransport<UIMessage>({
  api,
  prepareSendMessagesRequest({ body, messages, trigger, messageId }) {
    const { id: replaced } = posted[messages.length - 1] ?? {}
    const isEdited = replaced !== undefined && replaced !== messages.at(-1)?.id
    posted = messages
    return { body: { ...body, id, messages, trigger, messageId: isEdited ? replaced : messageId } }
  },
  prepareReconnectToStreamRequest: () => ({ api: `${api}/${id}/stream` }),
})

const Locate = makeAssistantTool({
  toolName: 'locate',
  description: 'Where the user is',
  parameters: z.object({ exact: z.boolean().optional() }),
  execute: async () => ({ city: 'Bern' }),
})

async function history(): Promise<UIMessage[]> {
  const response = await fetch(`${api}/${id}/messages`)
  return response.json()
}

/** Tests wait for this, since a message that is resumed is built again from its start. */
function markEnd({ isAbort }: { readonly isAbort: boolean }) {
  if (!isAbort) document.body.dataset.finished = 'true'
}

function App() {
  const runtime = useChatRuntime({
    messages: posted,
    transport,
    onFinish: markEnd,
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
      lastAssistantMessageIsCompleteWithToolCalls(state),
  })
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <Locate />
      <Chat />
    </AssistantRuntimeProvider>
  )
}

function Chat() {
  const chat = useAISDKChat()
  const error = useAISDKError()
  const { setMessages, resumeStream, status } = chat ?? {}

  useEffect(() => {
    const resume = () => void resumeStream?.()
    resume()
    addEventListener('online', resume)
    return () => removeEventListener('online', resume)
  }, [resumeStream])

  /** Other clients may have sent something. */
  async function refresh() {
    delete document.body.dataset.finished
    posted = await history()
    setMessages?.(posted)
    await resumeStream?.()
  }

  return (
    <ThreadPrimitive.Root>
      <p>
        <output aria-label="Status">{status === 'ready' ? 'idle' : status}</output>{' '}
        <output aria-label="Error">{error?.message}</output>
      </p>
      <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
      <ComposerPrimitive.Root>
        <ComposerPrimitive.Input aria-label="Message" />
        <ImageInput />
        <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
        <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        <button type="button" onClick={refresh}>
          Refresh
        </button>
      </ComposerPrimitive.Root>
    </ThreadPrimitive.Root>
  )
}

function ImageInput() {
  const aui = useAui()
  return (
    <input
      type="file"
      aria-label="Image"
      onChange={({ target: { files } }) => {
        for (const file of files ?? []) void aui.composer().addAttachment(file)
      }}
    />
  )
}

function UserMessage() {
  const aui = useAui()
  const edit = () => {
    const { content } = aui.message().getState()
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    const composer = aui.message().composer()
    composer.beginEdit()
    composer.setText(`${text}, please`)
    composer.send()
  }
  return (
    <article aria-label="user">
      <MessagePrimitive.Parts components={{ Text, File: Attached }} />
      <MessagePrimitive.Attachments components={{ Attachment: AttachedFile }} />
      <button type="button" onClick={edit}>
        Edit
      </button>
    </article>
  )
}

function AssistantMessage() {
  const aui = useAui()
  return (
    <article aria-label="assistant">
      <MessagePrimitive.Parts components={{ Text, tools: { Fallback: Call } }} />
      <button type="button" onClick={() => aui.message().reload()}>
        Retry
      </button>
    </article>
  )
}

function Text({ text }: { text: string }) {
  return <p>{text}</p>
}

function Attached({ data }: FileMessagePartProps) {
  return <img alt="Attached" src={data} />
}

function AttachedFile() {
  const content = useAuiState((state) => state.attachment.content)
  return content?.map((part) =>
    part.type === 'image' ? (
      <img key={part.image} alt="Attached" src={part.image} />
    ) : part.type === 'file' ? (
      <img key={part.data} alt="Attached" src={part.data} />
    ) : null,
  )
}

function Call({ toolName, args, result, approval, respondToApproval }: ToolCallMessagePartProps) {
  const isAsking = approval !== undefined && approval.approved === undefined
  return (
    <div>
      <code>
        {toolName}({JSON.stringify(args)}) {result === undefined ? (isAsking ? 'asking' : 'running') : 'ok'}{' '}
        {JSON.stringify(result)}
      </code>
      {isAsking && (
        <button type="button" onClick={() => respondToApproval({ approved: true })}>
          Allow
        </button>
      )}
    </div>
  )
}

const root = createRoot(document.getElementById('root') as HTMLElement)
root.render(
  <StrictMode>
    <App />
  </StrictMode>,
)
