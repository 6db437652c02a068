import { connect } from 'node:net'
import type { LogCheck, SeenEntry } from './log-check.ts'
import { logCheck } from './log-check.ts'
import type { Reader } from './readers.ts'
import { frameReader, pong, sseReader } from './readers.ts'
import type { FollowerPlan } from './size.ts'

/** One connection that follows a thread from its beginning. */
export interface Follower {
  readonly plan: FollowerPlan
  readonly log: Pick<LogCheck, 'head' | 'words' | 'faults'>
  /** Resolves when the server has answered, or the connection has failed. */
  readonly connected: Promise<void>
  /** One that was stuck begins to read. */
  awaken(): void
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
    // Beside entries a WebSocket tells that it is ready.
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
    // What comes in chunks would need another reader.
    if (!head.startsWith(expected) || /^transfer-encoding:/im.test(head.slice(0, end)))
      faults.push(`was answered ${head.slice(0, end)}`)
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
    faults.push('the connection is gone')
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
    awaken: () => void socket.resume(),
  }
}

const eventsRequest = (thread: string, host: string) =>
  `GET /threads/${thread}/events?after=0 HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`

/** The key is the example's of RFC 6455 §1.3; nobody looks at what it is answered with. */
const socketRequest = (thread: string, host: string) =>
  `GET /threads/${thread}/socket?after=0 HTTP/1.1\r\nhost: ${host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`
