import type { OptionTable } from '../../protocol/index.ts'
import { checkOptions, invalidInput, oneOf, someText, wholeNumber } from '../../protocol/index.ts'
import { sseEnd, sseOfChunks, uiMessageChunks, uiMessageHeaders } from '../../view/index.ts'
import { disconnects } from '../disconnect.ts'
import type { Frames, HttpError, Protocol, Route, StreamSlot } from '../protocol.ts'
import type { ChatAnswer } from './chats.ts'
import { chats } from './chats.ts'
import { chatSocket } from './socket.ts'

export interface AiSdkUiOptions {
  /** Where `useChat` posts to. Defaults to `/api/chat`, as in the AI SDK. */
  readonly path?: string | undefined
  /** Where `WebSocketChatTransport` connects to. Defaults to `${path}/socket`. */
  readonly socketPath?: string | undefined
  /** The agent of new chats. Defaults to the first agent of the server. */
  readonly agent?: string | undefined
  /**
   * What happens when the last client that reads an answer has disconnected. `stop`, the default,
   * is what `stop()` of `useChat` expects: over HTTP it can only disconnect.
   */
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  /** How long a client may take to reconnect before the run is stopped. Defaults to 3000. */
  readonly graceMs?: number | undefined
  /** For how long an answer that has ended can be resumed. Defaults to 60,000. */
  readonly replayMs?: number | undefined
}

const path = (value: unknown) =>
  !(typeof value === 'string' && /^(?:\/[\w.~-]+)+$/.test(value)) && "must be a path such as '/api/chat'"

const table: OptionTable<AiSdkUiOptions> = {
  path,
  socketPath: path,
  agent: someText,
  onDisconnect: oneOf('stop', 'continue'),
  graceMs: wholeNumber(0),
  replayMs: wholeNumber(0),
}

/** Clients send whole conversations, with images. */
const bodyBytes = 32 * 1024 * 1024

/** The AI SDK's UI message stream, for `useChat` and everything that is built on it. */
export function aiSdkUi(options: AiSdkUiOptions = {}): Protocol {
  checkOptions(options, table, { op: 'aiSdkUi', what: 'the option' })
  const { path = '/api/chat', socketPath = `${path}/socket`, agent, onDisconnect = 'stop' } = options
  const { graceMs = 3000, replayMs = 60_000 } = options
  return {
    name: `ai-sdk-ui ${path}`,
    mount(host) {
      const { agents, clientOptions } = host
      if (agent !== undefined && !agents.includes(agent))
        throw invalidInput('aiSdkUi', `there is no agent '${agent}'. The server has: ${agents.join(', ')}`)
      const readers = disconnects({
        graceMs: onDisconnect === 'stop' ? graceMs : undefined,
        onError: (thrown) => void host.publicError(thrown),
      })
      const served = chats({ agent, defaultAgent: agents[0] as string, clientOptions, readers, replayMs })

      function follow(slot: StreamSlot, answer: ChatAnswer): Response {
        const { thread, after, chunks } = answer
        readers.joinSlot(slot, answer, () => chunks.isDone)
        return slot.follow(thread, { after, until: 'idle' }, answerFrames(answer))
      }

      const routes: Route[] = [
        {
          method: 'POST',
          path,
          bodyBytes,
          async handle({ caller, readJson, openStream }) {
            const body = await readJson()
            // The slot first: a request that is rejected for lack of one must have no effect.
            const slot = openStream()
            const answer = await served.post(caller, body)
            if (answer) return follow(slot, answer)
            return new Response(sseOfChunks(uiMessageChunks().end()) + sseEnd, { headers: uiMessageHeaders })
          },
        },
        {
          method: 'GET',
          path: `${path}/:id/stream`,
          async handle({ caller, params, openStream }) {
            const slot = openStream()
            const answer = await served.resume(caller, params.id as string)
            return answer ? follow(slot, answer) : new Response(null, { status: 204 })
          },
        },
        {
          method: 'GET',
          path: `${path}/:id/messages`,
          handle: async ({ caller, params }) =>
            Response.json(await served.history(caller, params.id as string)),
        },
        {
          method: 'GET',
          path: socketPath,
          bodyBytes,
          connect: async ({ caller }) => ({
            // For clients that send their key as a subprotocol: one that they offer must be chosen.
            subprotocols: ['ai-sdk-ui'],
            open: chatSocket({ chats: served, readers, caller, host }),
          }),
        },
      ]
      return { routes, prefixes: [path, socketPath], error, close: async () => readers.close() }
    },
  }
}

/** `useChat` shows the body of an error response as it is. */
function error({ status, message }: HttpError): Response {
  return new Response(message, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })
}

function answerFrames({ chunks }: ChatAnswer): Frames {
  return {
    headers: uiMessageHeaders,
    entry: (entry) => sseOfChunks(chunks.applyEntry(entry)),
    isDone: () => chunks.isDone,
    end: () => sseOfChunks(chunks.end()) + sseEnd,
    fail: ({ message }) => sseOfChunks([{ type: 'error', errorText: message }]) + sseEnd,
    heartbeat: ': \n\n',
  }
}
