import { invalidInput, isObject } from '../../protocol/index.ts'
import { uiMessageChunks } from '../../view/index.ts'
import { stopAnswer } from '../answers.ts'
import { closeCodes } from '../attach-socket.ts'
import type { Disconnects } from '../disconnect.ts'
import { parseJson } from '../fields.ts'
import type { Caller, ProtocolHost, SocketHandler } from '../protocol.ts'
import { textSocket } from '../text-socket.ts'
import type { ChatAnswer, Chats } from './chats.ts'

const op = 'socket.frame'
/** How many answers may be sent at once. */
const maxRequests = 32

export interface ChatSocketOptions {
  readonly chats: Chats
  readonly caller: Caller
  readonly readers: Disconnects
  readonly host: ProtocolHost
}

/** A request whose answer is being sent. */
interface OpenRequest {
  readonly end: AbortController
  isStopped: boolean
  answer?: ChatAnswer | undefined
}

/** The server side of the AI SDK's `WebSocketChatTransport`: several answers over one socket. */
export function chatSocket({ chats, caller, readers, host }: ChatSocketOptions): SocketHandler['open'] {
  return (ws, socket) => {
    const requests = new Map<string, OpenRequest>()
    const connection = textSocket(ws, socket, {
      host,
      // A frame without a request id cannot be answered.
      onText: (text) => void receive(text).catch(() => connection.close(closeCodes.policy, 'invalid frame')),
      onClose() {
        for (const { end } of requests.values()) end.abort()
      },
    })
    const reply = (type: string, requestId: string, more: object = {}) =>
      connection.write(JSON.stringify({ type, requestId, ...more }))

    async function receive(text: string) {
      const frame = parseJson(text, { op, what: 'the frame' })
      if (!isObject(frame) || typeof frame.requestId !== 'string')
        throw invalidInput(op, 'a frame must be an object with a requestId')
      const { requestId, type } = frame as { requestId: string; type?: unknown }
      const known = requests.get(requestId)
      const request: OpenRequest = { end: new AbortController(), isStopped: false }
      try {
        if (type === 'abort') return known && (await stop(known))
        if (known || requests.size >= maxRequests)
          throw invalidInput(op, 'too many requests are in progress, or one with this id')
        requests.set(requestId, request)
        caller.rateLimit()
        await handle(requestId, request, frame)
      } catch (error) {
        reply('error', requestId, { errorText: host.publicError(error).message })
      } finally {
        if (requests.get(requestId) === request) requests.delete(requestId)
      }
    }

    async function stop(request: OpenRequest) {
      request.isStopped = true
      request.end.abort()
      if (request.answer) await stopAnswer(request.answer, 'stopped by the user')
    }

    function open({ type, id, body, messages, trigger, messageId }: Record<string, unknown>) {
      if (type === 'resume') return chats.resume(caller, String(id))
      if (type !== 'send') throw invalidInput(op, "the type must be 'send', 'resume' or 'abort'")
      return chats.post(caller, { ...(isObject(body) && body), id, messages, trigger, messageId })
    }

    async function handle(requestId: string, request: OpenRequest, frame: Record<string, unknown>) {
      const answer = await open(frame)
      if (!answer && frame.type === 'resume') return reply('no-active', requestId)
      reply('start', requestId)
      const start = `{"type":"chunk","requestId":${JSON.stringify(requestId)},"sequence":`
      let sequence = 0
      const send = (chunks: readonly object[]) => {
        for (const chunk of chunks)
          connection.write(`${start}${sequence++},"chunk":${JSON.stringify(chunk)}}`)
      }
      request.answer = answer
      if (answer && request.isStopped) await stop(request)
      else if (answer) await follow(answer, request, send)
      if (request.end.signal.aborted) return
      send((answer?.chunks ?? uiMessageChunks()).end())
      reply('end', requestId)
    }

    async function follow(
      answer: ChatAnswer,
      request: OpenRequest,
      send: (chunks: readonly object[]) => void,
    ) {
      const { thread, after, chunks } = answer
      const { signal } = request.end
      const leave = readers.join(answer)
      try {
        for await (const entry of thread.follow({ after, until: 'idle', signal })) {
          send(chunks.applyEntry(entry))
          if (chunks.isDone) return
          if ((await connection.drained(signal)) === 'stuck')
            return connection.close(closeCodes.tryAgainLater, 'too slow: reconnect and resume')
        }
      } finally {
        leave({ isCut: signal.aborted && !request.isStopped && !connection.isClosing })
      }
    }

    return connection
  }
}
