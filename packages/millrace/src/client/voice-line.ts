import type { MillraceError, VoiceEvent, VoicePosition } from '../protocol/index.ts'
import { sleep, systemClock, toMillraceError } from '../protocol/index.ts'
import { audioFramer } from './audio-framer.ts'
import { streamError } from './errors.ts'
import { delayAfter, withDefaults } from './retry.ts'
import type { readVoiceOptions, VoiceState } from './voice-options.ts'
import { playback } from './voice-playback.ts'
import type { VoiceSocket } from './voice-socket.ts'
import { voiceSocket } from './voice-socket.ts'
import type { VoiceTarget } from './voice-target.ts'

type LineOptions = ReturnType<typeof readVoiceOptions> & { readonly signal: AbortSignal }

/** The length of a microphone frame. */
const frameMs = 50

/** A voice line, over as many connections as needed, until its signal is aborted. */
export function voiceLine(options: LineOptions, target: VoiceTarget) {
  const { op, path, http, sockets, onRetry } = target
  const { speak, listen, sampleRate, onTranscript, onSpeech, onRecord, onError, onState } = options
  const player = speak ? options.player : undefined
  const microphone = listen ? options.microphone : undefined
  const retry = withDefaults(target.retry)
  let { from } = options
  const output = player && playback({ player, from, onSentence: options.onSentence })
  /** Aborted by the caller, or when the microphone is disconnected. */
  const ending = new AbortController()
  const { signal } = ending
  let state: VoiceState | undefined
  let socket: VoiceSocket | undefined
  let failure: MillraceError | undefined
  /** The session id that the server has assigned. */
  let session = ''
  let opened = false
  let openSince: number | undefined

  function setState(next: VoiceState) {
    if (next === state) return
    state = next
    onState?.(next)
  }

  function fail(thrown: unknown) {
    failure ??= toMillraceError(thrown, { op, code: 'stream_error' })
    ending.abort()
  }

  function handleEvent(event: VoiceEvent) {
    switch (event.type) {
      case 'voice':
        opened = true
        session = event.session
        openSince ??= systemClock.now()
        output?.connected((command) => socket?.send(command))
        return setState('open')
      case 'voice_speech':
        return onSpeech?.(event.speaking)
      case 'voice_transcript': {
        const { type: _, ...transcript } = event
        return onTranscript?.(transcript)
      }
      case 'voice_record':
        output?.recorded(event.record.run)
        return onRecord?.(event.record)
      case 'voice_error': {
        const { message, text } = event
        return onError?.({ message, ...(text !== undefined && { text }) })
      }
      default:
        output?.handleEvent(event)
    }
  }

  /** Opens one connection and waits until it ends. */
  async function connection(): Promise<MillraceError> {
    const { WebSocket } = sockets
    openSince = undefined
    if (!WebSocket) throw streamError(op, 'WebSocket is not available: pass one')
    const token = await http.token(op)
    socket = voiceSocket({
      op,
      url: `${sockets.url}${path}/socket`,
      sockets: { ...sockets, WebSocket },
      token,
      signal,
      openCommand: { type: 'voice', speak, listen, sampleRate, ...(from && { from }) },
      onReady: (head) => output?.start(head),
      onEvent: handleEvent,
      onAudio: (frame) => output?.playFrame(frame),
      onCommandError: (message) => onError?.({ message }),
    })
    const error = await socket.closed
    socket = undefined
    if (openSince !== undefined) from = withSession(output?.disconnected())
    // A page cannot see why a WebSocket was rejected. The same request over HTTP returns the
    // reason.
    else if (error.code === 'stream_error' && !signal.aborted)
      await http.request({ op, path, repeatable: false })
    return error
  }

  const withSession = (position: VoicePosition | undefined) => position && { ...position, session }

  async function stayConnected() {
    for (let failures = 1; !signal.aborted; failures++) {
      const error = await connection().catch((thrown: unknown) =>
        toMillraceError(thrown, { op, code: 'stream_error' }),
      )
      if (signal.aborted || (opened && error.code === 'not_found')) return
      // A connection that lasted was fine.
      if (openSince !== undefined && systemClock.now() - openSince >= retry.maxDelayMs) failures = 1
      // A server that has worked before is retried forever.
      if (!error.retryable || (!opened && failures >= retry.attempts)) throw error
      setState(opened ? 'reconnecting' : 'connecting')
      const delayMs = delayAfter(failures, retry, error.retryAfterMs)
      onRetry?.(error, delayMs)
      await sleep(delayMs, { clock: systemClock, signal })
    }
  }

  async function openDevices() {
    if (signal.aborted) return
    const frames = audioFramer(Math.round((sampleRate * frameMs) / 1000), (position, pcm) =>
      socket?.sendAudio(position, pcm),
    )
    await player?.open({ sampleRate, onPlayed: (played) => output?.played(played) })
    if (!signal.aborted) await microphone?.open({ sampleRate, onAudio: frames, onEnd: fail })
  }

  async function run() {
    const abort = () => ending.abort()
    options.signal.addEventListener('abort', abort)
    if (options.signal.aborted) abort()
    try {
      setState('connecting')
      // The user may take long to allow the microphone, and close the line in the meantime.
      await Promise.race([openDevices(), aborted(signal)])
      await stayConnected()
    } catch (thrown) {
      fail(thrown)
    } finally {
      options.signal.removeEventListener('abort', abort)
      ending.abort()
      await Promise.allSettled([player?.close(), microphone?.close()])
    }
    if (failure && !options.signal.aborted) onError?.({ message: failure.message })
    setState('closed')
    if (failure && !options.signal.aborted) throw failure
  }

  return { interrupt: () => output?.interrupt(), position: () => output?.position(), ended: run() }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
