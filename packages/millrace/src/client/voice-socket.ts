import type { AudioFrame, ErrorCode, VoiceCommand, VoiceEvent } from '../protocol/index.ts'
import { MillraceError, readAudioFrame, systemClock, writeAudioFrame } from '../protocol/index.ts'
import { abortedError, streamError, timeoutError } from './errors.ts'
import type { Sockets } from './options.ts'
import { onClose, openSocket, parseFrame, watchSilence } from './socket.ts'

export interface VoiceSocketOptions {
  readonly op: string
  /** The URL of the thread's socket. */
  readonly url: string
  readonly sockets: Sockets & { readonly WebSocket: NonNullable<Sockets['WebSocket']> }
  readonly token: string | undefined
  readonly signal: AbortSignal
  /** Sent first. The line is open when the server has answered it. */
  readonly openCommand: Extract<VoiceCommand, { type: 'voice' }>
  /** Called with the head of the log, before anything is spoken. */
  readonly onReady: (head: number) => void
  readonly onEvent: (event: VoiceEvent) => void
  readonly onAudio: (frame: AudioFrame) => void
  /** Called when a command fails after the line was opened. */
  readonly onCommandError: (message: string) => void
}

export interface VoiceSocket {
  send(command: VoiceCommand): void
  /** Sends microphone audio. Drops it if the send buffer is too full: it would arrive too late. */
  sendAudio(position: number, pcm: Int16Array): void
  /** Resolves with the reason when the connection has ended. */
  readonly closed: Promise<MillraceError>
}

/** How much audio may wait in the send buffer. */
const maxWaitingMs = 1000

/** One connection of a voice line. Throws if no WebSocket can be created. */
export function voiceSocket(options: VoiceSocketOptions): VoiceSocket {
  const { op, url, token, signal, openCommand, onReady, onEvent, onAudio, onCommandError } = options
  const { WebSocket, openMs, silenceMs } = options.sockets
  const { promise: closed, resolve } = Promise.withResolvers<MillraceError>()
  const maxWaitingBytes = ((openCommand.sampleRate ?? 0) * 2 * maxWaitingMs) / 1000
  let isOpen = false
  let isClosed = false
  let sentFrames = 0

  function fail(error: MillraceError) {
    if (isClosed) return
    isClosed = true
    silence.end()
    cancelOpening()
    signal.removeEventListener('abort', abort)
    socket.close(1000)
    resolve(error)
  }

  function onMessage(data: unknown) {
    if (isClosed) return
    silence.reset()
    if (data instanceof ArrayBuffer) {
      const frame = readAudioFrame(new Uint8Array(data))
      return typeof frame === 'string' ? fail(streamError(op, frame)) : onAudio(frame)
    }
    const frame = parseFrame(data)
    if (!frame) return fail(streamError(op, 'the server sent a frame that is not a JSON object'))
    if (frame.type === 'ping') return socket.send('{"type":"pong"}')
    if (frame.type === 'ready') {
      onReady(Number(frame.head))
      return send(openCommand)
    }
    if (frame.type === 'error') return handleError(frame as unknown as ErrorFrame)
    if (!String(frame.type).startsWith('voice')) return
    const event = frame as unknown as VoiceEvent
    if (event.type === 'voice') {
      const problem = mismatch(openCommand, event)
      if (problem) return fail(new MillraceError({ op, code: 'invalid_input', message: problem }))
      isOpen = true
      cancelOpening()
    }
    onEvent(event)
  }

  function handleError({ code, message }: ErrorFrame) {
    if (isOpen) onCommandError(message)
    else fail(new MillraceError({ op, code, message }))
  }

  function send(command: VoiceCommand) {
    if (!isClosed) socket.send(JSON.stringify(command))
  }

  function abort() {
    // Turns voice off, so that the server does not wait for a reconnect.
    if (isOpen) send({ type: 'voice' })
    fail(abortedError(op))
  }

  const socket = openSocket(op, url, WebSocket, token)
  socket.binaryType = 'arraybuffer'
  const silence = watchSilence(
    silenceMs,
    () => isOpen && socket.send('{"type":"ping"}'),
    () => fail(timeoutError(op, 'no data received', silenceMs)),
  )
  const cancelOpening = systemClock.after(openMs, () =>
    fail(timeoutError(op, 'the voice session did not open', openMs)),
  )
  socket.addEventListener('message', ({ data }) => onMessage(data))
  onClose(op, socket, fail)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()

  return {
    send,
    sendAudio(position, pcm) {
      if (!isOpen || isClosed || (socket.bufferedAmount ?? 0) > maxWaitingBytes) return
      socket.send(writeAudioFrame({ kind: 'microphone', turn: 0, seq: sentFrames++, position, pcm }))
    },
    closed,
  }
}

interface ErrorFrame {
  readonly code: ErrorCode
  readonly message: string
}

/** What was requested but is not supported, as an error message. */
function mismatch(
  requested: VoiceSocketOptions['openCommand'],
  { speak, listen, sampleRate }: Extract<VoiceEvent, { type: 'voice' }>,
): string | undefined {
  if (requested.speak && !speak) return "the server has no voice: pass 'voice' to serve()"
  if (requested.listen && !listen) return "the server has no speech input: pass 'listener' to voice()"
  return requested.sampleRate === sampleRate
    ? undefined
    : `the server uses a sample rate of ${sampleRate}, not ${requested.sampleRate}`
}
