import { MillraceError, messageOf, nameOf } from '../protocol/index.ts'

export interface WorkletOptions {
  /**
   * The URL of the audio worklet, `dist/client/voice-worklet.js` of the package. Defaults to the
   * folder of this module.
   */
  readonly workletUrl?: string | URL | undefined
}

export const workletTable = {
  workletUrl: (value: unknown) =>
    !(typeof value === 'string' || value instanceof URL) && `must be a URL, not ${nameOf(value)}`,
}

export function audioError(op: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'invalid_input', message, cause })
}

/** Opens an audio context with the worklet loaded, at the given sample rate if any. */
export async function openContext(
  op: string,
  sampleRate: number | undefined,
  { workletUrl = new URL('./voice-worklet.js', import.meta.url) }: WorkletOptions,
): Promise<AudioContext> {
  if (!globalThis.AudioContext)
    throw audioError(op, 'AudioContext is not available: this only works in a browser')
  const context = new AudioContext({ latencyHint: 'interactive', ...(sampleRate && { sampleRate }) })
  try {
    if (!context.audioWorklet)
      throw audioError(
        op,
        'AudioWorklet is not available: browsers only provide it over https and on localhost',
      )
    await context.audioWorklet.addModule(workletUrl).catch((thrown: unknown) => {
      throw audioError(op, `cannot load the audio worklet from ${workletUrl}: ${messageOf(thrown)}`, thrown)
    })
  } catch (thrown) {
    void context.close()
    throw thrown
  }
  return context
}

/**
 * Browsers only let a page play sound after a user gesture. Resumes the context at the next one.
 * Returns a function that removes the listeners.
 */
export function resumeOnGesture(context: AudioContext): () => void {
  const gestures = ['pointerdown', 'pointerup', 'keydown'] as const
  const resume = () => {
    // Stays pending until the browser allows it.
    if (context.state !== 'running' && context.state !== 'closed') void context.resume().catch(() => {})
  }
  resume()
  for (const gesture of gestures) addEventListener(gesture, resume, { capture: true })
  // A phone call interrupts the audio for a while.
  context.addEventListener('statechange', resume)
  return () => {
    for (const gesture of gestures) removeEventListener(gesture, resume, { capture: true })
    context.removeEventListener('statechange', resume)
  }
}
