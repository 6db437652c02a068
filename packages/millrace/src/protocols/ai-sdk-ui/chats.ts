import { invalidInput, isMillraceError } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import type { PostedChat, PostedMessage, UIMessage, UIMessageChunks } from '../../view/index.ts'
import {
  readAnswers,
  readConversation,
  readPostedChat,
  uiMessageChunks,
  uiMessages,
  userMessage,
} from '../../view/index.ts'
import type { Answer } from '../answers.ts'
import {
  acceptedRequest,
  answerAt,
  answerCalls,
  answerTo,
  currentAnswer,
  findBefore,
  inputOf,
  placeOf,
  readThread,
} from '../answers.ts'
import { derivedId, findThread } from '../derived-id.ts'
import type { Disconnects } from '../disconnect.ts'
import { httpError } from '../http-error.ts'
import type { Caller, ClientOptions, FoundThread } from '../protocol.ts'

/** An answer as a message of the AI SDK. */
export interface ChatAnswer extends Answer {
  readonly chunks: UIMessageChunks
}

export interface ChatsOptions {
  readonly agent: string | undefined
  readonly defaultAgent: string
  readonly clientOptions: ClientOptions
  readonly readers: Disconnects
  /** For how long an answer that has ended can be resumed. */
  readonly replayMs: number
}

/** Chats of the AI SDK as threads. The thread is the truth: only what is new in a history counts. */
export interface Chats {
  /** Handles what a client has posted. Returns undefined if there is nothing to send. */
  post(caller: Caller, body: unknown): Promise<ChatAnswer | undefined>
  /** Returns the current answer from its start, or undefined if there is nothing to resume. */
  resume(caller: Caller, chatId: string): Promise<ChatAnswer | undefined>
  history(caller: Caller, chatId: string): Promise<readonly UIMessage[]>
}

export function chats({ agent, defaultAgent, clientOptions, readers, replayMs }: ChatsOptions): Chats {
  const idOf = (caller: Caller, chatId: string) => derivedId('ai-sdk-ui', caller.user, agent, chatId)
  const find = async (caller: Caller, chatId: string) =>
    findThread(caller, chatId, await idOf(caller, chatId))

  /** A server that does not know the chat, such as a new one, starts with the client's history. */
  async function create(caller: Caller, id: string, { posted, request }: PostedChat) {
    if (posted.at(-1)?.role !== 'user')
      throw httpError(404, 'not_found', 'this conversation is not known here: send a new message')
    const accepted = clientOptions(agent ?? defaultAgent)
    const isAccepted = ({ role }: PostedMessage) => role !== 'system' || accepted.has('system')
    const { messages, ids } = readConversation(posted.filter(isAccepted))
    const key = ids.pop() ?? crypto.randomUUID()
    const more = { keys: [...ids, key], request: acceptedRequest(request, accepted) }
    const { thread } = await caller.createThread({ id, agent, messages, ...more })
    return withChunks(await answerTo(thread, (await thread.inputOf(key)) as number))
  }

  /** Sends the last message. */
  async function send({ thread, info }: FoundThread, { posted, mode, request }: PostedChat, key: string) {
    const message = userMessage(posted.at(-1) as PostedMessage)
    await readers.stopNow(thread.id)
    // The client may have answers that it has not sent yet.
    const before = posted.at(-2)
    if (before?.role === 'assistant') await answerCalls(thread, readAnswers(before))
    const { status } = await thread.info()
    const seq = await thread.send(message, {
      key: key || undefined,
      // Otherwise it would wait for a decision of the user, who writes a message instead.
      mode: mode ?? (status === 'waiting' ? 'interrupt' : 'queue'),
      request: acceptedRequest(request, clientOptions(info.agent)),
    })
    return withChunks(await answerTo(thread, seq))
  }

  /** After an approval or the result of a client's tool, the message continues where it ended. */
  async function continueMessage(thread: Thread, message: PostedMessage) {
    const answers = readAnswers(message)
    const { decisions, results } = answers
    await answerCalls(thread, answers)
    const { head } = await thread.info()
    const isAnswered = (callId: string, wants: unknown) => (wants ? results : decisions).has(callId)
    const request =
      decisions.size + results.size > 0 &&
      (await findBefore(
        thread,
        head,
        ({ event }) => event.type === 'approval-request' && isAnswered(event.callId, event.wants),
      ))
    const answer = request ? await answerAt(thread, request.seq) : undefined
    return answer && request ? withChunks(answer, request.seq) : undefined
  }

  async function post(caller: Caller, chat: PostedChat & { readonly id: string }) {
    const { id, posted, trigger, messageId, request } = chat
    const found = await find(caller, id)
    if (!found) return create(caller, await idOf(caller, id), chat)
    const { thread, info } = found
    const last = posted.at(-1)
    const named = posted.find((message) => messageId !== undefined && message.id === messageId)
    const isSubmitted = trigger === 'submit-message'
    const continued = named?.role === 'assistant' ? named : last
    if (isSubmitted && continued?.role === 'assistant') return continueMessage(thread, continued)
    if (last?.role !== 'user') throw invalidInput('server.fetch', "the last message must be the user's")
    const { input, key } = await inputOf(thread, last.id, info.head)
    if (input === undefined) {
      // A client that gives an edited message another id names the one that it replaces.
      const isEdited = isSubmitted && messageId !== undefined && !named
      const { input: replaced } = isEdited ? await inputOf(thread, messageId, info.head) : {}
      if (replaced !== undefined && placeOf(await readThread(thread), replaced).isShown)
        await thread.rewind(replaced)
      return send(found, chat, key)
    }
    if (isSubmitted && last !== named) return withChunks(await answerTo(thread, input))
    const { isShown, run } = placeOf(await readThread(thread), input)
    if (isSubmitted && isShown) await thread.rewind(input)
    // A message that is no longer part of the conversation is sent again.
    if (isSubmitted || !isShown) return send(found, chat, key)
    const options = { request: acceptedRequest(request, clientOptions(info.agent)) }
    return withChunks(await answerTo(thread, run ? await thread.rewind(run.seq, options) : input))
  }

  return {
    async post(caller, body) {
      const { id, ...chat } = readPostedChat(body)
      if (id === undefined) throw invalidInput('server.fetch', "'id' is missing: the id of the chat")
      try {
        return await post(caller, { id, ...chat })
      } catch (error) {
        // Another request has created the thread in the meantime.
        if (isMillraceError(error) && error.code === 'conflict') return post(caller, { id, ...chat })
        throw error
      }
    },

    async resume(caller, chatId) {
      const { thread, info } = (await find(caller, chatId)) ?? {}
      if (info?.status === 'idle' && Date.now() - info.updatedAt > replayMs) return undefined
      const answer = thread && (await currentAnswer(thread))
      return answer && withChunks(answer)
    },

    async history(caller, chatId) {
      const found = await find(caller, chatId)
      return found ? uiMessages(await readThread(found.thread)) : []
    },
  }
}

function withChunks(answer: Answer, continueAfter?: number): ChatAnswer {
  return { ...answer, chunks: uiMessageChunks({ ...answer, continueAfter }) }
}
