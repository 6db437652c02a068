import type { MillraceError, VoiceEvent, VoicePlace } from '../protocol/index.ts'
import { sleep, systemClock, toMillraceError } from '../protocol/index.ts'
import { audioFramer } from './audio-framer.ts'
import { broken } from './failures.ts'
import { delayAfter, withDefaults } from './patience.ts'
import type { readVoiceOptions, VoiceState } from './voice-options.ts'
import { playback } from './voice-playback.ts'
import type { VoiceSocket } from './voice-socket.ts'
import { voiceSocket } from './voice-socket.ts'
import type { VoiceWay } from './voice-way.ts'

type LineOptions = ReturnType<typeof readVoiceOptions> & { readonly signal: AbortSignal }

/** How much audio of the microphone goes into one frame. */
const frameMs = 50

/** A line that stays, over as many connections as that takes, until its signal is aborted. */
export function voiceLine(options: LineOptions, way: VoiceWay) {
  const { op, path, http, sockets, onRetry } = way
  const { speak, listen, sampleRate, onTranscript, onHearing, onRecord, onError, onState } = options
  const player = speak ? options.player : undefined
  const microphone = listen ? options.microphone : undefined
  const retry = withDefaults(way.retry)
  let { from } = options
  const heard = player && playback({ player, from, onSentence: options.onSentence })
  /** What ends it: the caller, or a microphone that is not there any more. */
  const ending = new AbortController()
  const { signal } = ending
  let state: VoiceState | undefined
  let socket: VoiceSocket | undefined
  let failure: MillraceError | undefined
  /** The server's name for the connection. */
  let session = ''
  let opened = false
  let openSince: number | undefined

  function become(next: VoiceState) {
    if (next === state) return
    state = next
    onState?.(next)
  }

  function giveUp(thrown: unknown) {
    failure ??= toMillraceError(thrown, { op, code: 'stream_error' })
    ending.abort()
  }

  function obey(event: VoiceEvent) {
    switch (event.type) {
      case 'voice':
        opened = true
        session = event.session
        openSince ??= systemClock.now()
        heard?.connected((command) => socket?.send(command))
        return become('open')
      case 'voice_hearing':
        return onHearing?.(event.speech)
      case 'voice_transcript': {
        const { type: _, ...transcript } = event
        return onTranscript?.(transcript)
      }
      case 'voice_record':
        heard?.recorded(event.record.run)
        return onRecord?.(event.record)
      case 'voice_error': {
        const { message, text } = event
        return onError?.({ message, ...(text !== undefined && { text }) })
      }
      default:
        heard?.obey(event)
    }
  }

  /** One connection, from its beginning to its end. */
  async function connection(): Promise<MillraceError> {
    const { WebSocket } = sockets
    openSince = undefined
    if (!WebSocket) throw broken(op, 'there is no WebSocket here: pass one')
    const token = await http.token(op)
    socket = voiceSocket({
      op,
      url: `${sockets.url}${path}/socket`,
      sockets: { ...sockets, WebSocket },
      token,
      signal,
      wish: { type: 'voice', speak, listen, sampleRate, ...(from && { from }) },
      onReady: (head) => heard?.begin(head),
      onEvent: obey,
      onAudio: (frame) => heard?.take(frame),
      onRefused: (message) => onError?.({ message }),
    })
    const error = await socket.over
    socket = undefined
    if (openSince !== undefined) from = comeBack(heard?.lost())
    // Why a socket is refused cannot be seen from a page. The same asked over HTTP is answered.
    else if (error.code === 'stream_error' && !signal.aborted) await http.ask({ op, path, repeatable: false })
    return error
  }

  const comeBack = (place: VoicePlace | undefined) => place && { ...place, session }

  async function stayConnected() {
    for (let failures = 1; !signal.aborted; failures++) {
      const error = await connection().catch((thrown: unknown) =>
        toMillraceError(thrown, { op, code: 'stream_error' }),
      )
      if (signal.aborted || (opened && error.code === 'not_found')) return
      // One that lasted was a good one.
      if (openSince !== undefined && systemClock.now() - openSince >= retry.maxDelayMs) failures = 1
      // A server that was there once comes back one day.
      if (!error.retryable || (!opened && failures >= retry.attempts)) throw error
      become(opened ? 'away' : 'connecting')
      const delayMs = delayAfter(failures, retry, error.retryAfterMs)
      onRetry?.(error, delayMs)
      await sleep(delayMs, { clock: systemClock, signal })
    }
  }

  async function openAll() {
    if (signal.aborted) return
    const frames = audioFramer(Math.round((sampleRate * frameMs) / 1000), (position, pcm) =>
      socket?.sendAudio(position, pcm),
    )
    await player?.open({ sampleRate, onPlayed: (played) => heard?.played(played) })
    if (!signal.aborted) await microphone?.open({ sampleRate, onAudio: frames, onEnd: giveUp })
  }

  async function run() {
    const abort = () => ending.abort()
    options.signal.addEventListener('abort', abort)
    if (options.signal.aborted) abort()
    try {
      become('connecting')
      // A person may take long to allow a microphone, and be gone by then.
      await Promise.race([openAll(), aborted(signal)])
      await stayConnected()
    } catch (thrown) {
      giveUp(thrown)
    } finally {
      options.signal.removeEventListener('abort', abort)
      ending.abort()
      await Promise.allSettled([player?.close(), microphone?.close()])
    }
    if (failure && !options.signal.aborted) onError?.({ message: failure.message })
    become('closed')
    if (failure && !options.signal.aborted) throw failure
  }

  return { interrupt: () => heard?.interrupt(), place: () => heard?.left(), ended: run() }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
}
