import type { TurnRecord, VoiceEvent, VoicePosition } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { Microphone } from './microphone.ts'
import type { Player } from './player.ts'

/**
 * - `connecting`: not connected yet
 * - `open`: connected
 * - `reconnecting`: the connection was lost and is being reopened; buffered audio still plays
 * - `closed`: ended
 */
export type VoiceState = 'connecting' | 'open' | 'reconnecting' | 'closed'

/** A sentence that is being played. Without a round it is a filler phrase during a tool call. */
export type VoiceSentence = Pick<
  Extract<VoiceEvent, { type: 'voice_sentence' }>,
  'text' | 'round' | 'start' | 'chars'
> & {
  /** The number of the run-start entry. */
  readonly seq: number
}

export type VoiceTranscript = Omit<Extract<VoiceEvent, { type: 'voice_transcript' }>, 'type'>

/** An error. `text` is the sentence that could not be spoken. */
export interface VoiceProblem {
  readonly message: string
  readonly text?: string
}

export interface VoiceLineOptions {
  /** The audio output: `browserPlayer()`, or your own. */
  readonly player?: Player | undefined
  /** The audio input: `browserMicrophone()`, or your own. */
  readonly microphone?: Microphone | undefined
  /** The sample rate in both directions, 8000 to 48000. Defaults to 24000. */
  readonly sampleRate?: number | undefined
  /** Enables speech output. Defaults to true if there is a player. */
  readonly speak?: boolean | undefined
  /** Enables speech input. Defaults to true if there is a microphone. */
  readonly listen?: boolean | undefined
  /** Where to start in an existing run. By default, only new text is spoken. */
  readonly from?: VoicePosition | undefined
  /** Called when the playback of a sentence starts. */
  readonly onSentence?: ((sentence: VoiceSentence) => void) | undefined
  /** Called with transcripts of the user's speech, including partial ones that may still change. */
  readonly onTranscript?: ((transcript: VoiceTranscript) => void) | undefined
  /** Called when the user starts and stops speaking. */
  readonly onSpeech?: ((speech: boolean) => void) | undefined
  /** Called with a record of each turn. */
  readonly onRecord?: ((record: TurnRecord) => void) | undefined
  /** Called when a sentence could not be spoken or understood, and when an error ends the line. */
  readonly onError?: ((problem: VoiceProblem) => void) | undefined
  readonly onState?: ((state: VoiceState) => void) | undefined
  /** Closes the line when aborted. */
  readonly signal?: AbortSignal | undefined
}

/** An open voice line to a thread. */
export interface VoiceLine {
  /** Stops playback at once and drops the rest. The position is reported to the server. */
  interrupt(): void
  /**
   * Ends the line and closes player and microphone. Text that was not spoken yet counts as read,
   * unless it was interrupted. Resolves with the position, to pass as `from` to another line. May
   * be called twice.
   */
  close(): Promise<VoicePosition | undefined>
  /**
   * Resolves when the line was closed or the thread was deleted. Rejects with errors that retrying
   * cannot fix. Those are also passed to `onError`, so handling the rejection is optional.
   */
  readonly ended: Promise<void>
}

/** Applies the defaults. Throws `invalid_input` if the options do not fit together. */
export function readVoiceOptions(op: string, options: VoiceLineOptions) {
  const { player, microphone, sampleRate = 24_000 } = options
  const { speak = player !== undefined, listen = microphone !== undefined } = options
  if (speak && !player) throw invalidInput(op, "'speak' needs a 'player': pass browserPlayer()")
  if (listen && !microphone) throw invalidInput(op, "'listen' needs a 'microphone': pass browserMicrophone()")
  if (!speak && !listen) throw invalidInput(op, "nothing to do: pass a 'player', a 'microphone' or both")
  return { ...options, sampleRate, speak, listen }
}
