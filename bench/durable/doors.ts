import { messageFor } from '../load/conversation.ts'
import { frameReader, pong, type Reader } from '../load/follower.ts'

/** How the servers under test are reached. */
export type Door = 'runs' | 'threads' | 'socket' | 'chat'

/** What a follower sends to a server. */
export interface Requests {
  /** Starts a run, unless following it does. */
  start(url: string, id: string): Promise<void>
  /** The bytes that a connection begins with. */
  followRequest(id: string, after?: number): string
  /** Takes the bytes of the response as latin1 and emits those that can contain words. */
  reader(emit: (piece: string) => void, reply: (bytes: string) => void): Reader
  /** The number of the last event that is complete in these bytes, and what they have up to it. */
  lastEvent(bytes: string): { readonly after: number; readonly bytes: string }
  /** What the end of a completed run contains. */
  readonly lastWords: string
}

const messageOf = (id: string) => messageFor(id, 'talk')

async function post(url: string, body: object): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`${url} responded ${response.status}`)
}

/** The framing of server-sent events contains no words. */
const asTheyAre = (emit: Reader) => emit

/** The length of a frame may look like the beginning of a word. */
const framesOf: Requests['reader'] = (emit, reply) =>
  frameReader({ onText: emit, onPing: (payload) => reply(pong(payload)), onClose() {} })

const lastMatch = (pattern: RegExp, text: string) => Number([...text.matchAll(pattern)].at(-1)?.[1] ?? 0)

const lastOfStream: Requests['lastEvent'] = (bytes) => {
  const complete = bytes.slice(0, bytes.lastIndexOf('\n\n'))
  return { after: lastMatch(/^id: (\d+)$/gm, complete), bytes: complete }
}

const lastOfFrames: Requests['lastEvent'] = (bytes) => ({ after: lastMatch(/"seq":(\d+)/g, bytes), bytes })

async function startThread(url: string, id: string) {
  await post(`${url}/threads`, { id })
  await post(`${url}/threads/${id}/messages`, { message: messageOf(id) })
}

/** With a number of the last event, as a browser reconnects. */
const get = (host: string, path: string, after = 0) =>
  `GET ${path} HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\nlast-event-id: ${after}\r\n\r\n`

export const doors: Readonly<Record<Door, (host: string) => Requests>> = {
  runs: (host) => ({
    start: (url, id) => post(`${url}/runs/${id}`, { message: messageOf(id) }),
    followRequest: (id, after) => get(host, `/runs/${id}/events`, after),
    reader: asTheyAre,
    lastEvent: lastOfStream,
    lastWords: '{"type":"end"}',
  }),
  threads: (host) => ({
    start: startThread,
    followRequest: (id, after) => get(host, `/threads/${id}/events`, after),
    reader: asTheyAre,
    lastEvent: lastOfStream,
    lastWords: '"outcome":"completed"',
  }),
  socket: (host) => ({
    start: startThread,
    // The key is the example of RFC 6455 §1.3; the accept header is not checked.
    followRequest: (id, after = 0) =>
      `GET /threads/${id}/socket?after=${after} HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    reader: framesOf,
    lastEvent: lastOfFrames,
    lastWords: '"outcome":"completed"',
  }),
  chat: (host) => ({
    start: async () => {},
    followRequest(id) {
      const messages = [
        { id, role: 'user', content: messageOf(id), parts: [{ type: 'text', text: messageOf(id) }] },
      ]
      const body = JSON.stringify({ id, messages })
      return `POST /api/chat HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    },
    reader: asTheyAre,
    lastEvent: lastOfStream,
    lastWords: 'data: ',
  }),
}
