// What goes over the socket of a thread when it is spoken: JSON frames beside those of the log, and audio in binary ones.

/** What a client says to hear a thread, and to be heard by it. */
export type VoiceCommand =
  /** Turns speaking and listening on or off for this socket; what is left out is off. `from` goes on where playback was cut off. */
  | {
      readonly type: 'voice'
      readonly speak?: boolean | undefined
      readonly listen?: boolean | undefined
      /** Of the audio in both directions, 8000 to 48000 a second; 24000 if absent. */
      readonly sampleRate?: number | undefined
      readonly from?: VoicePlace | undefined
    }
  /** So much of a turn has been played. Sent about five times a second, and at once after a pause, a hush and the end of a turn. */
  | { readonly type: 'voice_played'; readonly turn: number; readonly position: number }
  /** The person wants quiet: the client has stopped there by itself. */
  | { readonly type: 'voice_interrupt'; readonly turn: number; readonly position: number }

/** How far an answer has been heard: so many characters of the words of a round. */
export interface VoicePlace {
  /** What the server called the connection that was lost, so that nobody waits for it. */
  readonly session?: string | undefined
  /** The run that was heard last over it, if its record has not come. */
  readonly awaits?: string | undefined
  /** The number of the entry that began the run. */
  readonly seq: number
  readonly round: number
  readonly chars: number
}

/** What a server says of a voice. A turn is the answer of one run; a position counts its samples from 0. */
export type VoiceEvent =
  /** What is on now. */
  | {
      readonly type: 'voice'
      /** The name of this connection, for `from`. */
      readonly session: string
      readonly speak: boolean
      readonly listen: boolean
      readonly sampleRate: number
    }
  /** A run has something to say. `seq` is the number of the entry that began it. */
  | { readonly type: 'voice_turn'; readonly turn: number; readonly run: string; readonly seq: number }
  /** The audio from `position` on says `text`: `chars` characters of the words of the round, from `start` on. */
  | {
      readonly type: 'voice_sentence'
      readonly turn: number
      readonly position: number
      readonly text: string
      /** Absent if the model has not said it: a line that is spoken while a tool takes its time. */
      readonly round?: number
      readonly start?: number
      readonly chars?: number
    }
  /** All of the turn has been sent: it is this long. */
  | { readonly type: 'voice_end'; readonly turn: number; readonly samples: number }
  /** Stop playing, and keep what is there: it may go on. Answered by `voice_played`. */
  | { readonly type: 'voice_pause'; readonly turn: number }
  | { readonly type: 'voice_resume'; readonly turn: number }
  /** Stop playing, and forget what is left. Answered by `voice_played`. */
  | { readonly type: 'voice_hush'; readonly turn: number }
  /** Forget what was sent of the turn from `position` on, unless it has been played: it will be said anew. */
  | { readonly type: 'voice_retract'; readonly turn: number; readonly position: number }
  /** Whether somebody is speaking into the microphone. */
  | { readonly type: 'voice_hearing'; readonly speech: boolean }
  /** What was understood. `seq` is the number of the input that it became; absent while it may change, and if it is no input. */
  | {
      readonly type: 'voice_transcript'
      readonly text: string
      readonly final: boolean
      readonly seq?: number
    }
  | { readonly type: 'voice_record'; readonly record: TurnRecord }
  /** A sentence could not be spoken, or what was said not be understood. The rest goes on. */
  | { readonly type: 'voice_error'; readonly message: string; readonly turn?: number; readonly text?: string }

/** How one turn went. Times are milliseconds since it began. */
export interface TurnRecord {
  readonly turn: number
  readonly run: string
  /** What it counts from: the end of what a person said into the microphone, or the beginning of the run. */
  readonly since: 'speech' | 'run'
  /** The model's first words, the end of its first sentence, the first audio that left, the first that was played. Absent if it never came to that. */
  readonly firstTokenMs?: number
  readonly firstSentenceMs?: number
  readonly firstAudioMs?: number
  readonly playbackMs?: number
  /** When there was nothing left to play before the end, for how long, and what was waited for. */
  readonly gaps: readonly {
    readonly position: number
    readonly ms: number
    readonly for: 'model' | 'tool' | 'voice'
  }[]
  readonly sentences: number
  /** Of those, how many the voice failed at. */
  readonly failed: number
  readonly audioMs: number
  readonly playedMs: number
  /** Of the model's words: generated, and heard. */
  readonly words: number
  readonly wordsHeard: number
  /** `lost`: the connection was. */
  readonly outcome: 'completed' | 'interrupted' | 'lost'
}

/** One binary frame: a header of 16 bytes, then samples, 16 bits each, little-endian, one channel. */
export interface AudioFrame {
  readonly kind: 'speech' | 'microphone'
  /** 0 from a microphone. */
  readonly turn: number
  /** Counts the frames of a socket in one direction, from 0. */
  readonly seq: number
  /** The first sample's place in the turn; from a microphone, since it was switched on. */
  readonly position: number
  readonly pcm: Int16Array
}

const version = 1
const headerBytes = 16
const kinds = ['speech', 'microphone'] as const

/**
 * | byte | 0 | 1 | 2 | 4 | 8 | 12 | 16 |
 * | --- | --- | --- | --- | --- | --- | --- | --- |
 * | | version | kind: 1 speech, 2 microphone | 0 | turn | seq | position | samples |
 */
export function writeAudioFrame({ kind, turn, seq, position, pcm }: AudioFrame): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(headerBytes + pcm.byteLength)
  const header = new DataView(bytes.buffer)
  header.setUint8(0, version)
  header.setUint8(1, kinds.indexOf(kind) + 1)
  header.setUint32(4, turn, true)
  header.setUint32(8, seq, true)
  header.setUint32(12, position, true)
  bytes.set(new Uint8Array(pcm.buffer, pcm.byteOffset, pcm.byteLength), headerBytes)
  return bytes
}

/** Gives a text that says what is wrong with it if it is none. */
export function readAudioFrame(bytes: Uint8Array): AudioFrame | string {
  if (bytes.length < headerBytes)
    return `an audio frame has a header of ${headerBytes} bytes, and this has ${bytes.length} in all`
  const header = new DataView(bytes.buffer, bytes.byteOffset, headerBytes)
  if (header.getUint8(0) !== version)
    return `an audio frame begins with its version, ${version}, not ${header.getUint8(0)}`
  const kind = kinds[header.getUint8(1) - 1]
  if (!kind)
    return `the kind of an audio frame is 1 for speech or 2 for a microphone, not ${header.getUint8(1)}`
  if (bytes.length % 2 > 0) return 'samples are of 16 bits, and there is an odd byte'
  // A copy: what came from a socket may begin at an odd address, and is used again.
  const pcm = new Int16Array(new Uint8Array(bytes.subarray(headerBytes)).buffer)
  const [turn, seq, position] = [4, 8, 12].map((at) => header.getUint32(at, true)) as [number, number, number]
  return { kind, turn, seq, position, pcm }
}
