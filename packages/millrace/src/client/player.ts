/**
 * The audio output of a voice line. Calls take effect at once and in order; only `open` may fail.
 * Each line needs its own.
 */
export interface Player {
  /**
   * Opens the audio output. Called once, before anything else. Rejects if there is no audio output.
   */
  open(options: PlayerOptions): Promise<void>
  /** Appends a chunk to the queue. */
  play(chunk: PlayerChunk): void
  /** Drops the unplayed audio of a clip from `position` on. Resolves with the playback position. */
  drop(clip: number, position: number): Promise<Played>
  /** Pauses and keeps the queue. Resolves with the playback position. */
  pause(): Promise<Played>
  resume(): void
  /** Releases all resources. Called once, possibly before or during `open`. */
  close(): Promise<void>
}

export interface PlayerOptions {
  /** The sample rate of all chunks and positions. */
  readonly sampleRate: number
  /**
   * Call with the playback position: many times a second while playing, and when the queue is
   * empty.
   */
  readonly onPlayed: (played: Played) => void
}

/** A chunk of a clip. Clips are played one after the other. */
export interface PlayerChunk {
  readonly clip: number
  /** The position of its first sample in the clip. */
  readonly position: number
  readonly pcm: Int16Array
}

/** A playback position: the clip and its next sample. */
export interface Played {
  /** 0 if nothing has been played yet. */
  readonly clip: number
  readonly position: number
  /** Whether the queue is empty. */
  readonly idle: boolean
}
