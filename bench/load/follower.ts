import { connect } from 'node:net'
import { deltaLength } from './conversation.ts'
import type { FollowerPlan } from './part.ts'

// Minimal readers for the two transports, so that reading costs little compared with serving. Bytes
// are decoded as latin1, since everything here is ASCII.

/** Takes pieces of the response body and emits the JSON of each entry. */
export type Reader = (piece: string) => void

/** Reads server-sent events; only those with an id count. */
export function sseReader(onEntry: (json: string) => void): Reader {
  let rest = ''
  return (piece) => {
    rest = rest === '' ? piece : rest + piece
    let start = 0
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n', start)) {
      if (rest.startsWith('id: ', start)) onEntry(rest.slice(rest.indexOf('\ndata: ', start) + 7, end))
      start = end + 2
    }
    rest = rest.slice(start)
  }
}

export interface FrameListeners {
  readonly onText: (json: string) => void
  readonly onPing: (payload: string) => void
  readonly onClose: (code: number, reason: string) => void
}

/** Reads the frames of a WebSocket server (RFC 6455 §5.2), which are unfragmented and unmasked. */
export function frameReader({ onText, onPing, onClose }: FrameListeners): Reader {
  let rest = ''
  return (piece) => {
    rest = rest === '' ? piece : rest + piece
    let start = 0
    for (;;) {
      const frame = frameAt(rest, start)
      if (!frame) break
      const { opcode, payload } = frame
      start = frame.end
      if (opcode === 1) onText(payload)
      else if (opcode === 8) onClose(numberAt(payload, 0, 2), payload.slice(2))
      else if (opcode === 9) onPing(payload)
    }
    rest = rest.slice(start)
  }
}

function frameAt(bytes: string, at: number) {
  if (bytes.length < at + 2) return undefined
  const short = bytes.charCodeAt(at + 1)
  const extra = short < 126 ? 0 : short === 126 ? 2 : 8
  const begin = at + 2 + extra
  if (bytes.length < begin) return undefined
  const end = begin + (extra === 0 ? short : numberAt(bytes, at + 2, extra))
  if (bytes.length < end) return undefined
  return { opcode: bytes.charCodeAt(at) & 15, payload: bytes.slice(begin, end), end }
}

function numberAt(bytes: string, at: number, length: number): number {
  let number = 0
  for (let index = at; index < at + length; index++) number = number * 256 + bytes.charCodeAt(index)
  return number
}

/** A client frame that answers a ping. A zero mask is valid. */
export const pong = (payload: string) => `\x8a${String.fromCharCode(0x80 | payload.length)}\0\0\0\0${payload}`

/** What a follower needs of an entry. */
export interface SeenEntry {
  readonly seq: number
  readonly from?: number
  readonly at: number
  readonly event: { readonly type: string; readonly text?: string; readonly outcome?: string }
}

/** Follows a log and records what is wrong with it. */
export interface LogCheck {
  /** The last number. */
  readonly head: number
  /** How many words arrived. */
  readonly words: number
  readonly faults: readonly string[]
  take(entry: SeenEntry): void
}

export function logCheck(): LogCheck {
  let head = 0
  let chars = 0
  const faults: string[] = []
  return {
    get head() {
      return head
    },
    get words() {
      return chars / deltaLength
    },
    faults,
    take({ seq, from = seq, event }) {
      if (from !== head + 1 || seq < from) faults.push(`after ${head} came ${from} to ${seq}`)
      head = seq
      if (event.type === 'text') chars += event.text?.length ?? 0
      else if (event.type === 'run-end' && event.outcome !== 'completed')
        faults.push(`a run was ${event.outcome}`)
    },
  }
}

/** One connection that follows a thread from its start. */
export interface Follower {
  readonly plan: FollowerPlan
  readonly log: Pick<LogCheck, 'head' | 'words' | 'faults'>
  /** Resolves when the server has answered, or the connection has failed. */
  readonly connected: Promise<void>
  /** Makes a stuck follower start to read. */
  startReading(): void
}

export interface FollowerOptions {
  readonly plan: FollowerPlan
  /** The address of the server. */
  readonly url: string
  readonly onEntry: (entry: SeenEntry) => void
}

export function follower({ plan, url, onEntry }: FollowerOptions): Follower {
  const { thread, transport, stuck } = plan
  const { hostname, port, host } = new URL(url)
  const log = logCheck()
  const faults: string[] = []
  let read: Reader | undefined
  let head = ''
  let answered = () => {}
  const connected = new Promise<void>((resolve) => {
    answered = resolve
  })

  const onJson = (json: string) => {
    const entry: SeenEntry = JSON.parse(json)
    // A WebSocket also sends a ready message.
    if (entry.seq === undefined) return
    log.take(entry)
    onEntry(entry)
  }
  const frames = () =>
    frameReader({
      onText: onJson,
      onPing: (payload) => socket.write(pong(payload), 'latin1'),
      onClose: (code, reason) => faults.push(`closed with ${code} ${reason}`),
    })

  function readHead(piece: string) {
    head += piece
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    const expected = transport === 'sse' ? 'HTTP/1.1 200' : 'HTTP/1.1 101'
    // A chunked body would need another reader.
    if (!head.startsWith(expected) || /^transfer-encoding:/im.test(head.slice(0, end)))
      faults.push(`got the response ${head.slice(0, end)}`)
    read = transport === 'sse' ? sseReader(onJson) : frames()
    read(head.slice(end + 4))
    if (stuck) socket.pause()
    answered()
  }

  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true).setEncoding('latin1')
  socket.on('data', (piece) => (read ?? readHead)(String(piece)))
  socket.on('error', (error) => faults.push(error.message))
  socket.on('close', () => {
    faults.push('the connection closed')
    answered()
  })
  socket.write(transport === 'sse' ? eventsRequest(thread, host) : socketRequest(thread, host))

  return {
    plan,
    connected,
    log: {
      get head() {
        return log.head
      },
      get words() {
        return log.words
      },
      get faults() {
        return [...log.faults, ...faults]
      },
    },
    startReading: () => void socket.resume(),
  }
}

const eventsRequest = (thread: string, host: string) =>
  `GET /threads/${thread}/events?after=0 HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`

/** The key is the example of RFC 6455 §1.3; the accept header is not checked. */
const socketRequest = (thread: string, host: string) =>
  `GET /threads/${thread}/socket?after=0 HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
