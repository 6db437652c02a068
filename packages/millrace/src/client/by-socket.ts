import type { Entry, MillraceError } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import type { Connection, Place } from './connection.ts'
import { entryIn } from './connection.ts'
import { broken, interrupted, tooSlow } from './failures.ts'
import type { Sockets } from './options.ts'
import { onClose, openSocket, parseFrame, watchSilence } from './socket.ts'

export interface SocketOptions {
  readonly op: string
  /** Of the socket, without a query. */
  readonly url: string
  readonly WebSocket: NonNullable<Sockets['WebSocket']>
  readonly token: string | undefined
  readonly openMs: number
  readonly silenceMs: number
}

/**
 * A socket cannot be told to wait, so what its reader has not asked for piles up here. Beyond this many characters it is
 * closed, and opened again from where the reader is when that has caught up.
 */
const mostWaiting = 4 * 1024 * 1024

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
  let bell = Promise.withResolvers<void>()

  const fail = (error: MillraceError) => {
    failure ??= error
    bell.resolve()
  }

  function hear(data: unknown) {
    if (closed || failure) return
    silence.hear()
    const frame = parseFrame(data)
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

  const abort = () => fail(interrupted(op))
  const socket = openSocket(op, `${url}?after=${after}`, WebSocket, token)
  socket.addEventListener('message', ({ data }) => hear(data))
  onClose(op, socket, fail)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const silence = watchSilence(
    silenceMs,
    () => opened && socket.send('{"type":"ping"}'),
    () => fail(tooSlow(op, 'nothing came', silenceMs)),
  )
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
    silence.end()
    cancelOpening()
    signal.removeEventListener('abort', abort)
    socket.close(1000)
  }
}
