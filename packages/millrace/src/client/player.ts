/**
 * What makes the audio of a voice line heard. Everything it is told is done in order and at once; nothing here throws but `open`.
 * One is for one line.
 */
export interface Player {
  /** Makes ready, once, before anything else is asked for. Rejects if there is no sound to be had. */
  open(options: PlayerOptions): Promise<void>
  /** Plays it behind what is there. */
  play(chunk: PlayerChunk): void
  /** Forgets what it has of a clip from `position` on and has not played. Resolves with where it is then. */
  drop(clip: number, position: number): Promise<Played>
  /** Stops and keeps what is there. Resolves with where it stopped. */
  pause(): Promise<Played>
  resume(): void
  /** Gives up what it holds, once; it may not have been opened, or be about to be. */
  close(): Promise<void>
}

export interface PlayerOptions {
  /** Of everything that is played, and of all positions. */
  readonly sampleRate: number
  /** Told how far it is: many times a second while it plays, and when nothing is left to play. */
  readonly onPlayed: (played: Played) => void
}

/** A piece of a clip. Clips are played one after the other, each from its first piece to its last. */
export interface PlayerChunk {
  readonly clip: number
  /** Of its first sample. */
  readonly position: number
  readonly pcm: Int16Array
}

/** So much of a clip has been heard: the position of the sample that is next. */
export interface Played {
  /** 0 if nothing was played yet. */
  readonly clip: number
  readonly position: number
  /** Nothing is left to play. */
  readonly idle: boolean
}
