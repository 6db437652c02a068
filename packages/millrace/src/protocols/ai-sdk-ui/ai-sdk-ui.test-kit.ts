import { Chat } from '@ai-sdk/react'
import type { ChatInit, UIMessage } from 'ai'
import { DefaultChatTransport, WebSocketChatTransport } from 'ai'
import { onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import type { Agent } from '../../agent/index.ts'
import type { AiSdkUiOptions, ServerOptions } from '../../server/index.ts'
import { aiSdkUi } from '../../server/index.ts'
import { served } from '../../server/server.test-kit.ts'
import type { AppOptions, Thread } from '../../threads/index.ts'
import { derivedId } from '../derived-id.ts'

export type Transport = 'HTTP' | 'WebSocket'
export const transports: readonly Transport[] = ['HTTP', 'WebSocket']

type ChatOptions = Omit<ChatInit<UIMessage>, 'transport'> & {
  readonly over?: Transport
  readonly headers?: Record<string, string>
  readonly body?: object
  /** The address of the server, if not the server's own. */
  readonly url?: string
}

/** A server for the AI SDK, on a real port. */
export async function serveChats(
  agents: Agent | Record<string, Agent>,
  {
    ui,
    app: more,
    ...options
  }: ServerOptions & { ui?: AiSdkUiOptions; app?: Omit<AppOptions, 'agents'> } = {},
) {
  const given = served(agents, { protocols: [aiSdkUi(ui)], ...options }, more)
  const { url } = await given.app.listen()
  /** The thread of a chat. */
  async function threadOf(chatId: string, user?: string): Promise<Thread> {
    return given.app.thread(await derivedId('ai-sdk-ui', user, ui?.agent, chatId))
  }
  return { ...given, url, threadOf, chat: (options?: ChatOptions) => newChat({ url, ...options }) }
}

/** A chat of the AI SDK, as `useChat` creates it. It is stopped at the end of the test. */
export function newChat({ over = 'HTTP', url = '', headers = {}, body = {}, ...init }: ChatOptions = {}) {
  const transport =
    over === 'HTTP'
      ? new DefaultChatTransport({ api: `${url}/api/chat`, headers, body })
      : new WebSocketChatTransport({
          url: `${url}/api/chat/socket`,
          body,
          webSocket: WebSocket as never,
          ...(headers.authorization && { protocols: bearer(headers.authorization) }),
        })
  const chat = new Chat<UIMessage>({ ...init, transport } as ConstructorParameters<typeof Chat<UIMessage>>[0])
  onTestFinished(async () => {
    await chat.stop()
    if (transport instanceof WebSocketChatTransport) transport.close()
  })
  return chat
}

/** A browser sends its key in a subprotocol. */
function bearer(authorization: string): string[] {
  const key = authorization.replace(/^Bearer /, '')
  return ['ai-sdk-ui', `millrace.bearer.${Buffer.from(key).toString('base64url')}`]
}

/** The text of a message, its parts joined. */
export function textIn(message: UIMessage | undefined): string {
  return message?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''
}

/** The role and text of each message. */
export function conversation(messages: readonly UIMessage[]): string[] {
  return messages.map((message) => `${message.role}: ${textIn(message)}`)
}

/** A message without the fields that a request does not carry. */
export function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value
}

/** What `useChat` posts for one new message. */
export function posted(text: string, more: object = {}) {
  const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text }] }
  return { id: 'chat-1', messages: [message], trigger: 'submit-message', ...more }
}
