import { Chat } from '@ai-sdk/react'
import type { UIMessage } from 'ai'
import { DefaultChatTransport, getToolName, isToolUIPart } from 'ai'
import { derivedId } from '../../../packages/millrace/src/protocols/derived-id.ts'
import type { Answer, Driver, Seen } from '../protocol-client.ts'

/** The UI message stream, with `Chat` of the AI SDK, which is behind `useChat`. */
export const aiSdk: Driver = {
  name: 'AI SDK',
  rejection: /^'messages' must be /,
  async connect({ url }) {
    let chat = newChat(url)
    return {
      async send(text) {
        return answerOf(chat, chat.chat.sendMessage({ text }))
      },
      async resume() {
        return answerOf(chat, chat.chat.resumeStream())
      },
      threadId: () => derivedId('ai-sdk-ui', undefined, undefined, chat.chat.id),
      async open(threadId) {
        const history = await fetch(`${url}/api/chat/${threadId}/messages`)
        chat = newChat(url, { id: threadId, messages: await history.json() })
      },
      async wrong() {
        const broken = newChat(url, { body: { messages: 'none' } })
        await broken.chat.sendMessage({ text: 'Hello' })
        return broken.chat.error?.message ?? ''
      },
      async close() {
        await chat.chat.stop()
      },
    }
  },
}

interface ConnectedChat {
  readonly chat: Chat<UIMessage>
  /** Closes the open connections. */
  cut(): void
}

function newChat(
  url: string,
  more: { id?: string; messages?: UIMessage[]; body?: object } = {},
): ConnectedChat {
  const { body, ...init } = more
  let connection = new AbortController()
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${url}/api/chat`,
    ...(body && { prepareSendMessagesRequest: ({ id }) => ({ body: { id, ...body } }) }),
    fetch: (input, init) =>
      fetch(input, {
        ...init,
        signal: AbortSignal.any([connection.signal, ...(init?.signal ? [init.signal] : [])]),
      }),
  })
  return {
    chat: new Chat<UIMessage>({ ...init, transport }),
    cut() {
      connection.abort(new TypeError('the network failed'))
      connection = new AbortController()
    },
  }
}

function answerOf({ chat, cut }: ConnectedChat, receiving: Promise<void>): Answer {
  let hasEnded = false
  let isCut = false
  let isCanceled = false
  const ended = receiving
    .catch(() => {})
    .finally(() => {
      hasEnded = true
    })

  function seen(): Seen {
    const message = chat.messages.at(-1)
    const parts = message?.role === 'assistant' ? message.parts : []
    const tools = parts.filter(isToolUIPart)
    const asks = tools.filter(({ state }) => state === 'approval-requested').map(getToolName)
    const end = (): Seen['end'] => {
      if (isCut) return 'cut'
      if (isCanceled) return 'canceled'
      return chat.error ? 'failed' : asks.length > 0 ? 'waiting' : 'completed'
    }
    return {
      text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      results: tools.filter(({ state }) => state === 'output-available').map(getToolName),
      asks: hasEnded ? asks : [],
      end: hasEnded ? end() : undefined,
      error: chat.error?.message,
    }
  }

  return {
    seen,
    async cut() {
      isCut = true
      cut()
      await ended
    },
    async cancel() {
      isCanceled = true
      await chat.stop()
    },
    async decide(approved) {
      for (const part of chat.messages.at(-1)?.parts ?? [])
        if (isToolUIPart(part) && part.state === 'approval-requested')
          await chat.addToolApprovalResponse({ id: part.approval.id, approved })
      return answerOf({ chat, cut }, chat.sendMessage())
    },
  }
}
