// What goes to the thread of Silero and comes back. All that is known of a microphone goes with it, so that the thread keeps nothing.

/** So many samples before a frame are seen with it. */
export const sileroContext = 64
/** Numbers that it carries from frame to frame. */
export const sileroState = 2 * 128

export interface SileroQuestion {
  /** The context, then a whole number of frames. */
  readonly pcm: Int16Array
  readonly state: Float32Array
}

export interface SileroAnswer {
  readonly probabilities: readonly number[]
  readonly state: Float32Array
}
