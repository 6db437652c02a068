import type {
  Microphone,
  MillraceError,
  Player,
  RemoteThread,
  VoiceLine,
  VoiceLineOptions,
  VoicePosition,
  VoiceState,
} from 'millrace/client'
import { browserMicrophone, browserPlayer } from 'millrace/client'
import type { ThreadHandle } from './thread-handle.ts'

export interface UseVoiceOptions extends Pick<VoiceLineOptions, 'sampleRate' | 'onRecord'> {
  /** Makes the audio output of a line. Default: `browserPlayer()`. */
  readonly player?: (() => Player) | undefined
  /** Makes the audio input of a line. Default: `browserMicrophone()`. */
  readonly microphone?: (() => Microphone) | undefined
}

export interface VoiceStartOptions {
  /** Whether answers are spoken. Default: true. */
  readonly speak?: boolean | undefined
  /** Whether the microphone is on. Default: true. */
  readonly listen?: boolean | undefined
}

/** Speech in both directions. The functions never change and never reject. */
export interface VoiceHandle {
  readonly state: VoiceState
  /** Whether an answer is being played. */
  readonly isSpeaking: boolean
  /** The sentence that is being played; empty while nothing is played. */
  readonly sentence: string
  /** Whether the user is speaking. */
  readonly isUserSpeaking: boolean
  /** What the user is saying, as far as it was understood. It then becomes a message. */
  readonly transcript: string
  /** Why a sentence could not be spoken or understood, or why the line was closed. */
  readonly error: string | undefined
  /**
   * Opens a line; creates the thread if needed. If a line is open, it continues with the new
   * options. Browsers want a click before they play sound or open the microphone.
   */
  readonly start: (options?: VoiceStartOptions) => Promise<void>
  readonly stop: () => Promise<void>
  /** Stops the speech that is being played. */
  readonly interrupt: () => void
  /** How loud the microphone is now, from 0 to 1: for a meter that reads it in each frame. */
  readonly level: () => number
}

type VoiceValues = Pick<
  VoiceHandle,
  'state' | 'isSpeaking' | 'sentence' | 'isUserSpeaking' | 'transcript' | 'error'
>

const silent: VoiceValues = {
  state: 'closed',
  isSpeaking: false,
  sentence: '',
  isUserSpeaking: false,
  transcript: '',
  error: undefined,
}

/** The state of a voice line outside of React. Creating one has no effects. */
export function voiceStore() {
  const listeners = new Set<() => void>()
  let options: UseVoiceOptions = {}
  let open: ThreadHandle['open'] | undefined
  let line: VoiceLine | undefined
  /** Where the last line of the thread was. */
  let last: { readonly thread: string; readonly position: VoicePosition | undefined } | undefined
  let latest: object | undefined
  let loudness = 0

  function set(change: Partial<VoiceValues>) {
    current = { ...current, ...change }
    for (const listener of listeners) listener()
  }

  function lineOptions({ speak = true, listen = true }: VoiceStartOptions): VoiceLineOptions {
    const { player = browserPlayer, microphone = browserMicrophone, sampleRate, onRecord } = options
    return {
      sampleRate,
      onRecord,
      ...(speak && { player: reporting(player(), (isSpeaking) => onPlaying(isSpeaking)) }),
      ...(listen && { microphone: measured(microphone(), (level) => (loudness = level)) }),
      onState: (state) => set({ state }),
      onSentence: ({ text }) => set({ sentence: text }),
      onSpeech: (isUserSpeaking) => set({ isUserSpeaking }),
      onTranscript: ({ text, final }) => set({ transcript: final ? '' : text }),
      onError: ({ message }) => set({ error: message }),
    }
  }

  function onPlaying(isSpeaking: boolean) {
    if (isSpeaking !== current.isSpeaking) set(isSpeaking ? { isSpeaking } : { isSpeaking, sentence: '' })
  }

  async function close(): Promise<void> {
    const before = line
    line = undefined
    loudness = 0
    const position = await before?.close()
    if (before && last) last = { ...last, position }
  }

  async function begin(thread: RemoteThread, startOptions: VoiceStartOptions) {
    const from = last?.thread === thread.id ? last.position : undefined
    last = { thread: thread.id, position: from }
    const opened = thread.voice({ ...lineOptions(startOptions), from })
    line = opened
    opened.ended.then(
      () => onEnd(opened),
      () => onEnd(opened),
    )
  }

  function onEnd(ended: VoiceLine) {
    if (line !== ended) return
    line = undefined
    loudness = 0
    set({ ...silent, error: current.error })
  }

  const actions = {
    async start(startOptions: VoiceStartOptions = {}) {
      const request = {}
      latest = request
      set({ ...silent, state: 'connecting' })
      try {
        await close()
        const thread = await open?.()
        if (thread && latest === request) await begin(thread, startOptions)
      } catch (thrown) {
        if (latest === request) set({ ...silent, error: (thrown as MillraceError).message })
      }
    },
    async stop() {
      latest = undefined
      await close()
      set(silent)
    },
    interrupt: () => line?.interrupt(),
    level: () => loudness,
  }

  let current: VoiceHandle = { ...silent, ...actions }

  return {
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    getSnapshot: () => current,
    update(nextOpen: ThreadHandle['open'], next: UseVoiceOptions) {
      open = nextOpen
      options = next
    },
  }
}

/** A player that reports whether it is playing. */
function reporting(player: Player, onPlaying: (isPlaying: boolean) => void): Player {
  return {
    open: ({ onPlayed, ...rest }) =>
      player.open({
        ...rest,
        onPlayed(played) {
          onPlaying(!played.idle)
          onPlayed(played)
        },
      }),
    play: (chunk) => player.play(chunk),
    drop: (clip, position) => player.drop(clip, position),
    pause: () => player.pause(),
    resume: () => player.resume(),
    close: () => player.close(),
  }
}

/** A microphone whose loudness is measured: the root mean square of each chunk. */
function measured(microphone: Microphone, onLevel: (level: number) => void): Microphone {
  return {
    open: ({ onAudio, ...rest }) =>
      microphone.open({
        ...rest,
        onAudio(pcm) {
          let sum = 0
          for (const sample of pcm) sum += sample * sample
          onLevel(Math.sqrt(sum / Math.max(1, pcm.length)) / 32_768)
          onAudio(pcm)
        },
      }),
    close: () => microphone.close(),
  }
}
