// Messages to and from the Silero thread. They carry the state of the microphone, so that the
// thread
// is stateless.

/** How many samples before each frame the network sees. */
export const sileroContext = 64
/** The size of the state that is passed from frame to frame. */
export const sileroState = 2 * 128

export interface SileroRequest {
  /** The context, followed by a whole number of frames. */
  readonly pcm: Int16Array
  readonly state: Float32Array
}

export interface SileroResponse {
  readonly probabilities: readonly number[]
  readonly state: Float32Array
}
