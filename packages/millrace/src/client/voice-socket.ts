import type { AudioFrame, ErrorCode, VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import { MillraceError, readAudioFrame, systemClock, writeAudioFrame } from '../protocol/index.ts'
import { broken, interrupted, tooSlow } from './failures.ts'
import type { Sockets } from './options.ts'
import { onClose, openSocket, parseFrame, watchSilence } from './socket.ts'

export interface VoiceSocketOptions {
  readonly op: string
  /** Of the thread's socket. */
  readonly url: string
  readonly sockets: Sockets & { readonly WebSocket: NonNullable<Sockets['WebSocket']> }
  readonly token: string | undefined
  readonly signal: AbortSignal
  /** What is to be turned on; the server's answer to it opens the line. */
  readonly wish: Extract<VoiceCommand, { type: 'voice' }>
  /** Told how long the log is before anything is said. */
  readonly onReady: (head: number) => void
  readonly onEvent: (event: VoiceEvent) => void
  readonly onAudio: (frame: AudioFrame) => void
  /** Told of what was refused after it was opened. */
  readonly onRefused: (message: string) => void
}

export interface VoiceSocket {
  send(command: VoiceCommand): void
  /** What was recorded; left out if so much waits already that it would come too late. */
  sendAudio(position: number, pcm: Int16Array): void
  /** Resolves with why when it is over. */
  readonly over: Promise<MillraceError>
}

/** So much audio may wait to be sent. */
const mostWaitingMs = 1000

/** One connection of a voice line, until it breaks. Throws if none can be tried. */
export function voiceSocket(options: VoiceSocketOptions): VoiceSocket {
  const { op, url, token, signal, wish, onReady, onEvent, onAudio, onRefused } = options
  const { WebSocket, openMs, silenceMs } = options.sockets
  const { promise: over, resolve } = Promise.withResolvers<MillraceError>()
  const mostWaiting = ((wish.sampleRate ?? 0) * 2 * mostWaitingMs) / 1000
  let isOpen = false
  let isOver = false
  let sentFrames = 0

  function fail(error: MillraceError) {
    if (isOver) return
    isOver = true
    silence.end()
    cancelOpening()
    signal.removeEventListener('abort', abort)
    socket.close(1000)
    resolve(error)
  }

  function hear(data: unknown) {
    if (isOver) return
    silence.hear()
    if (data instanceof ArrayBuffer) {
      const frame = readAudioFrame(new Uint8Array(data))
      return typeof frame === 'string' ? fail(broken(op, frame)) : onAudio(frame)
    }
    const frame = parseFrame(data)
    if (!frame) return fail(broken(op, 'the server sent what is not a frame of JSON'))
    if (frame.type === 'ping') return socket.send('{"type":"pong"}')
    if (frame.type === 'ready') {
      onReady(Number(frame.head))
      return send(wish)
    }
    if (frame.type === 'error') return refuse(frame as unknown as Refusal)
    if (!String(frame.type).startsWith('voice')) return
    const event = frame as unknown as VoiceEvent
    if (event.type === 'voice') {
      const problem = missing(wish, event)
      if (problem) return fail(new MillraceError({ op, code: 'invalid_input', message: problem }))
      isOpen = true
      cancelOpening()
    }
    onEvent(event)
  }

  function refuse({ code, message }: Refusal) {
    if (isOpen) onRefused(message)
    else fail(new MillraceError({ op, code, message }))
  }

  function send(command: VoiceCommand) {
    if (!isOver) socket.send(JSON.stringify(command))
  }

  function abort() {
    // So that it is not waited for.
    if (isOpen) send({ type: 'voice' })
    fail(interrupted(op))
  }

  const socket = openSocket(op, url, WebSocket, token)
  socket.binaryType = 'arraybuffer'
  const silence = watchSilence(
    silenceMs,
    () => isOpen && socket.send('{"type":"ping"}'),
    () => fail(tooSlow(op, 'nothing came', silenceMs)),
  )
  const cancelOpening = systemClock.after(openMs, () => fail(tooSlow(op, 'no voice was opened', openMs)))
  socket.addEventListener('message', ({ data }) => hear(data))
  onClose(op, socket, fail)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()

  return {
    send,
    sendAudio(position, pcm) {
      if (!isOpen || isOver || (socket.bufferedAmount ?? 0) > mostWaiting) return
      socket.send(writeAudioFrame({ kind: 'microphone', turn: 0, seq: sentFrames++, position, pcm }))
    },
    over,
  }
}

interface Refusal {
  readonly code: ErrorCode
  readonly message: string
}

/** What was asked for and is not on. */
function missing(
  wish: VoiceSocketOptions['wish'],
  { speak, listen, sampleRate }: Extract<VoiceEvent, { type: 'voice' }>,
): string | undefined {
  if (wish.speak && !speak) return "the server does not speak: give serve() a 'voice'"
  if (wish.listen && !listen) return "the server does not listen: give its voice() a 'listener'"
  return wish.sampleRate === sampleRate
    ? undefined
    : `the server speaks at ${sampleRate} samples a second, not at ${wish.sampleRate}`
}
