import type { TurnRecord, VoiceEvent, VoicePlace } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { Microphone } from './microphone.ts'
import type { Player } from './player.ts'

/**
 * - `connecting`: not reached yet
 * - `open`: it speaks and listens
 * - `away`: the connection is lost and comes back by itself; what is there is played
 * - `closed`: it is over
 */
export type VoiceState = 'connecting' | 'open' | 'away' | 'closed'

/** One that is being said. Without a round it is a line that fills the time of a tool. */
export type VoiceSentence = Pick<
  Extract<VoiceEvent, { type: 'voice_sentence' }>,
  'text' | 'round' | 'start' | 'chars'
> & {
  /** The number of the entry that began the run. */
  readonly seq: number
}

export type VoiceTranscript = Omit<Extract<VoiceEvent, { type: 'voice_transcript' }>, 'type'>

/** Something that went wrong; `text` is the sentence that could not be said. */
export interface VoiceProblem {
  readonly message: string
  readonly text?: string
}

export interface VoiceLineOptions {
  /** What the thread is heard by: `browserPlayer()`, or one of your own. */
  readonly player?: Player | undefined
  /** What it hears: `browserMicrophone()`, or one of your own. */
  readonly microphone?: Microphone | undefined
  /** Of the audio in both directions, 8000 to 48000 a second; 24000 if absent. */
  readonly sampleRate?: number | undefined
  /** Whether the thread speaks; if absent, it does where there is a player. */
  readonly speak?: boolean | undefined
  /** Whether it listens; if absent, it does where there is a microphone. */
  readonly listen?: boolean | undefined
  /** Where to begin in a run that is there already; if absent, with what is said from now on. */
  readonly from?: VoicePlace | undefined
  /** Told of each sentence when it begins to be heard. */
  readonly onSentence?: ((sentence: VoiceSentence) => void) | undefined
  /** Told what was understood, and again while that may change. */
  readonly onTranscript?: ((transcript: VoiceTranscript) => void) | undefined
  /** Told when somebody begins and ceases to speak into the microphone. */
  readonly onHearing?: ((speech: boolean) => void) | undefined
  /** Told how each turn went. */
  readonly onRecord?: ((record: TurnRecord) => void) | undefined
  /** Told of sentences that could not be said or understood, and of what ends the line. */
  readonly onError?: ((problem: VoiceProblem) => void) | undefined
  readonly onState?: ((state: VoiceState) => void) | undefined
  /** Closes it. */
  readonly signal?: AbortSignal | undefined
}

/** A thread that is spoken and spoken to. */
export interface VoiceLine {
  /** Quiet at once: the rest of what is being said is not heard. The server is told how far it was. */
  interrupt(): void
  /**
   * Ends it, and gives player and microphone up. What was not said yet is taken as read, unless it was interrupted. Resolves, when that
   * is done, with where it was, for the `from` of another. May be called twice.
   */
  close(): Promise<VoicePlace | undefined>
  /**
   * Resolves when it is over: it was closed, or the thread is gone. Rejects with what no waiting makes good, which `onError` is told
   * too, so that nobody has to look here.
   */
  readonly ended: Promise<void>
}

/** What is on, with everything filled in. Throws `invalid_input` if that cannot be. */
export function readVoiceOptions(op: string, options: VoiceLineOptions) {
  const { player, microphone, sampleRate = 24_000 } = options
  const { speak = player !== undefined, listen = microphone !== undefined } = options
  if (speak && !player) throw invalidInput(op, "to 'speak' takes a 'player': pass browserPlayer()")
  if (listen && !microphone)
    throw invalidInput(op, "to 'listen' takes a 'microphone': pass browserMicrophone()")
  if (!speak && !listen)
    throw invalidInput(op, "nothing would be heard: pass a 'player', a 'microphone' or both")
  return { ...options, sampleRate, speak, listen }
}
