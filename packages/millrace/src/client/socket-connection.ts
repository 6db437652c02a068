import type { Entry, MillraceError } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import type { Connection, ConnectOptions } from './connection.ts'
import { entryIn } from './connection.ts'
import { abortedError, streamError, timeoutError } from './errors.ts'
import type { Sockets } from './options.ts'
import { onClose, openSocket, parseFrame, watchSilence } from './socket.ts'

export interface SocketOptions {
  readonly op: string
  /** The URL of the socket, without a query. */
  readonly url: string
  readonly WebSocket: NonNullable<Sockets['WebSocket']>
  readonly token: string | undefined
  readonly openMs: number
  readonly silenceMs: number
}

/**
 * A WebSocket has no backpressure, so entries that the reader has not requested yet pile up here.
 * Beyond this many characters the socket is closed, and a new one is opened once the reader has
 * caught up.
 */
const maxWaitingChars = 4 * 1024 * 1024

export async function* socketConnection(
  { op, url, WebSocket, token, openMs, silenceMs }: SocketOptions,
  { after, signal }: ConnectOptions,
): Connection {
  let waiting: Entry[] = []
  let waitingChars = 0
  let opened = false
  /** No more entries are accepted: the buffer is full, or the reader has stopped. */
  let closed = false
  let failure: MillraceError | undefined
  let wake = Promise.withResolvers<void>()

  const fail = (error: MillraceError) => {
    failure ??= error
    wake.resolve()
  }

  function onMessage(data: unknown) {
    if (closed || failure) return
    silence.reset()
    const frame = parseFrame(data)
    if (!frame) return fail(streamError(op, 'the server sent a frame that is not a JSON object'))
    if (frame.type === 'ping') return socket.send('{"type":"pong"}')
    const entry = entryIn(frame)
    if (!entry && frame.type !== 'ready') return
    opened = true
    if (entry) take(entry, String(data).length)
    wake.resolve()
  }

  function take(entry: Entry, chars: number) {
    waitingChars += chars
    // The first entry is always accepted, whatever its size, so that there is progress.
    if (waiting.length === 0 || waitingChars <= maxWaitingChars) waiting.push(entry)
    else {
      closed = true
      socket.close(1000)
    }
  }

  const abort = () => fail(abortedError(op))
  const socket = openSocket(op, `${url}?after=${after}`, WebSocket, token)
  socket.addEventListener('message', ({ data }) => onMessage(data))
  onClose(op, socket, fail)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const silence = watchSilence(
    silenceMs,
    () => opened && socket.send('{"type":"ping"}'),
    () => fail(timeoutError(op, 'no data received', silenceMs)),
  )
  const cancelOpening = systemClock.after(openMs, () => {
    if (!opened) fail(timeoutError(op, 'the WebSocket did not open', openMs))
  })
  try {
    await wake.promise
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
      wake = Promise.withResolvers()
      await wake.promise
    }
  } finally {
    closed = true
    silence.end()
    cancelOpening()
    signal.removeEventListener('abort', abort)
    socket.close(1000)
  }
}
