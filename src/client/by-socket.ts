import type { Entry, MillraceError } from '../protocol/index.ts'
import { isObject, systemClock } from '../protocol/index.ts'
import { base64url } from './base64.ts'
import type { Connection, Place } from './connection.ts'
import { entryIn } from './connection.ts'
import { broken, gone, interrupted, reasonOf, tooSlow } from './failures.ts'
import type { ClientOptions, SocketLike } from './options.ts'

export interface SocketOptions {
  readonly op: string
  /** Of the socket, without a query. */
  readonly url: string
  readonly WebSocket: NonNullable<ClientOptions['WebSocket']>
  readonly token: string | undefined
  readonly openMs: number
  readonly silenceMs: number
}

/**
 * A socket cannot be told to wait, so what its reader has not asked for piles up here. Beyond this many characters it is
 * closed, and opened again from where the reader is when that has caught up.
 */
const mostWaiting = 4 * 1024 * 1024

const isGone = 4404

/** A connection over a WebSocket. */
export async function* bySocket(
  { op, url, WebSocket, token, openMs, silenceMs }: SocketOptions,
  { after, signal }: Place,
): Connection {
  let waiting: Entry[] = []
  let waitingChars = 0
  let opened = false
  /** Nothing more is taken: there is no room, or nobody who reads it. */
  let closed = false
  let failure: MillraceError | undefined
  /** Ticks of the clock since anything came. */
  let quiet = 0
  let bell = Promise.withResolvers<void>()

  const fail = (error: MillraceError) => {
    failure ??= error
    bell.resolve()
  }

  function hear(data: unknown) {
    if (closed || failure) return
    quiet = 0
    const frame = parse(data)
    if (!frame) return fail(broken(op, 'the server sent what is not a frame of JSON'))
    if (frame.type === 'ping') return socket.send('{"type":"pong"}')
    const entry = entryIn(frame)
    if (!entry && frame.type !== 'ready') return
    opened = true
    if (entry) take(entry, String(data).length)
    bell.resolve()
  }

  function take(entry: Entry, chars: number) {
    waitingChars += chars
    // The first one always has room, however long it is, so that there is some progress.
    if (waiting.length === 0 || waitingChars <= mostWaiting) waiting.push(entry)
    else {
      closed = true
      socket.close(1000)
    }
  }

  /** The pings of the WebSocket protocol cannot be seen from a page, so there are some of our own. */
  function tick() {
    if (++quiet > 3) return fail(tooSlow(op, 'nothing came', silenceMs))
    if (quiet > 1 && opened) socket.send('{"type":"ping"}')
    cancelTick = systemClock.after(silenceMs / 3, tick)
  }

  const abort = () => fail(interrupted(op))
  const socket = open(op, `${url}?after=${after}`, WebSocket, token)
  socket.addEventListener('message', ({ data }) => hear(data))
  socket.addEventListener('close', ({ code, reason }) =>
    fail(
      code === isGone ? gone(op) : broken(op, `the socket was closed (${code}${reason && `: ${reason}`})`),
    ),
  )
  // 'close' comes after it and says more.
  socket.addEventListener('error', () => {})
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  let cancelTick = systemClock.after(silenceMs / 3, tick)
  const cancelOpening = systemClock.after(openMs, () => {
    if (!opened) fail(tooSlow(op, 'no socket was opened', openMs))
  })
  try {
    await bell.promise
    if (opened) yield []
    for (;;) {
      while (waiting.length > 0) {
        const batch = waiting
        waiting = []
        waitingChars = 0
        yield batch
      }
      if (closed) return
      if (failure) throw failure
      bell = Promise.withResolvers()
      await bell.promise
    }
  } finally {
    closed = true
    cancelTick()
    cancelOpening()
    signal.removeEventListener('abort', abort)
    socket.close(1000)
  }
}

function open(
  op: string,
  url: string,
  WebSocket: SocketOptions['WebSocket'],
  token: string | undefined,
): SocketLike {
  // A page cannot set the headers of a socket: the token comes along as the name of a subprotocol.
  const protocols = token === undefined ? [] : [`millrace.bearer.${base64url(token)}`]
  try {
    return new WebSocket(url, ['millrace.v1', ...protocols])
  } catch (thrown) {
    // As for a socket without TLS on a page with it.
    throw broken(op, `a WebSocket cannot be opened: ${reasonOf(thrown)}`, thrown)
  }
}

function parse(data: unknown): Record<string, unknown> | undefined {
  try {
    const frame: unknown = JSON.parse(data as string)
    return isObject(frame) ? frame : undefined
  } catch {
    return undefined
  }
}
