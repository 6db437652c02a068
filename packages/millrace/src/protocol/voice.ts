// Voice over the WebSocket of a thread: JSON frames next to those of the log, and audio in binary
// frames.

/** Commands of a client that plays a thread's speech or sends microphone audio. */
export type VoiceCommand =
  /**
   * Turns speaking and listening on or off for this socket; omitted fields are off. `from`
   * continues where playback was cut off.
   */
  | {
      readonly type: 'voice'
      readonly speak?: boolean | undefined
      readonly listen?: boolean | undefined
      /** The sample rate of the audio in both directions, 8000 to 48000 Hz; 24000 if absent. */
      readonly sampleRate?: number | undefined
      readonly from?: VoicePosition | undefined
    }
  /**
   * How much of a turn has been played. Sent about five times a second, and immediately after
   * `voice_pause`, `voice_silence` and the end of a turn.
   */
  | { readonly type: 'voice_played'; readonly turn: number; readonly position: number }
  /** The user interrupted: the client has already stopped playing at this position. */
  | { readonly type: 'voice_interrupt'; readonly turn: number; readonly position: number }

/** How much of an answer has been played: the first `chars` characters of a round's text. */
export interface VoicePosition {
  /** The session id of the connection that was lost, so that the server does not wait for it. */
  readonly session?: string | undefined
  /** The last run played over that connection, if its `voice_record` has not arrived. */
  readonly awaits?: string | undefined
  /** The number of the entry that started the run. */
  readonly seq: number
  readonly round: number
  readonly chars: number
}

/**
 * Voice events of a server. A turn is the answer of one run; a position counts its samples from 0.
 */
export type VoiceEvent =
  /** What is turned on now. */
  | {
      readonly type: 'voice'
      /** The id of this connection, for `from`. */
      readonly session: string
      readonly speak: boolean
      readonly listen: boolean
      readonly sampleRate: number
    }
  /** A run starts to speak. `seq` is the number of the entry that started it. */
  | { readonly type: 'voice_turn'; readonly turn: number; readonly run: string; readonly seq: number }
  /**
   * The audio from `position` on speaks `text`: `chars` characters of the round's text, from
   * `start` on.
   */
  | {
      readonly type: 'voice_sentence'
      readonly turn: number
      readonly position: number
      readonly text: string
      /** Absent if the text is not the model's: a filler line, spoken while a slow tool runs. */
      readonly round?: number
      readonly start?: number
      readonly chars?: number
    }
  /** The whole turn has been sent; its length in samples. */
  | { readonly type: 'voice_end'; readonly turn: number; readonly samples: number }
  /** Stop playing but keep the buffered audio: it may resume. Answered by `voice_played`. */
  | { readonly type: 'voice_pause'; readonly turn: number }
  | { readonly type: 'voice_resume'; readonly turn: number }
  /** Stop playing and drop the rest. Answered by `voice_played`. */
  | { readonly type: 'voice_silence'; readonly turn: number }
  /**
   * Drop the audio of the turn from `position` on that has not been played: it will be spoken
   * again.
   */
  | { readonly type: 'voice_retract'; readonly turn: number; readonly position: number }
  /** Whether the user is speaking into the microphone. */
  | { readonly type: 'voice_speech'; readonly speaking: boolean }
  /**
   * The transcript of the user's speech. `seq` is the number of the input; absent while it may
   * change, or if it did not become one.
   */
  | {
      readonly type: 'voice_transcript'
      readonly text: string
      readonly final: boolean
      readonly seq?: number
    }
  | { readonly type: 'voice_record'; readonly record: TurnRecord }
  /**
   * A sentence could not be synthesized, or speech could not be transcribed. The rest continues.
   */
  | { readonly type: 'voice_error'; readonly message: string; readonly turn?: number; readonly text?: string }

/** Measurements of one turn. Times are milliseconds since its start. */
export interface TurnRecord {
  readonly turn: number
  readonly run: string
  /** What times are relative to: the end of the user's speech, or the start of the run. */
  readonly since: 'speech' | 'run'
  /**
   * The model's first text, the end of its first sentence, the first audio sent, the first audio
   * played. Absent if that point was never reached.
   */
  readonly firstTokenMs?: number
  readonly firstSentenceMs?: number
  readonly firstAudioMs?: number
  readonly playbackMs?: number
  /** Where playback ran dry before the end, for how long, and what it waited for. */
  readonly gaps: readonly {
    readonly position: number
    readonly ms: number
    readonly for: 'model' | 'tool' | 'voice'
  }[]
  readonly sentences: number
  /** How many of them could not be synthesized. */
  readonly failed: number
  readonly audioMs: number
  readonly playedMs: number
  /** The number of the model's words generated, and played. */
  readonly words: number
  readonly wordsPlayed: number
  /** `lost`: the connection was lost. */
  readonly outcome: 'completed' | 'interrupted' | 'lost'
}

/** One binary frame: a 16-byte header, then 16-bit little-endian samples, mono. */
export interface AudioFrame {
  readonly kind: 'speech' | 'microphone'
  /** 0 from a microphone. */
  readonly turn: number
  /** Counts the frames of a socket in one direction, from 0. */
  readonly seq: number
  /** The position of the first sample in the turn; from a microphone, since it was turned on. */
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

/** Returns an error message if the bytes are not a valid frame. */
export function readAudioFrame(bytes: Uint8Array): AudioFrame | string {
  if (bytes.length < headerBytes)
    return `an audio frame has a header of ${headerBytes} bytes, but this one has only ${bytes.length} bytes`
  const header = new DataView(bytes.buffer, bytes.byteOffset, headerBytes)
  if (header.getUint8(0) !== version)
    return `an audio frame must start with its version, ${version}, not ${header.getUint8(0)}`
  const kind = kinds[header.getUint8(1) - 1]
  if (!kind)
    return `the kind of an audio frame must be 1 for speech or 2 for a microphone, not ${header.getUint8(1)}`
  if (bytes.length % 2 > 0) return 'samples have 16 bits each, but the number of bytes is odd'
  // A copy: data from a socket may start at an odd offset, and its buffer is reused.
  const pcm = new Int16Array(new Uint8Array(bytes.subarray(headerBytes)).buffer)
  const [turn, seq, position] = [4, 8, 12].map((at) => header.getUint32(at, true)) as [number, number, number]
  return { kind, turn, seq, position, pcm }
}
