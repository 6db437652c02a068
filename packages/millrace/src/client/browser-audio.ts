import { MillraceError, messageOf, nameOf } from '../protocol/index.ts'

export interface WorkletOptions {
  /** Where the audio worklet is served from, if not beside this module: `dist/client/voice-worklet.js` of the package. */
  readonly workletUrl?: string | URL | undefined
}

export const workletTable = {
  workletUrl: (value: unknown) =>
    !(typeof value === 'string' || value instanceof URL) && `must be an address, not ${nameOf(value)}`,
}

export function noSound(op: string, message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op, code: 'invalid_input', message, cause })
}

/** A context with the worklet in it, at this rate if the browser can. It runs as soon as it may. */
export async function openContext(
  op: string,
  sampleRate: number | undefined,
  { workletUrl = new URL('./voice-worklet.js', import.meta.url) }: WorkletOptions,
): Promise<AudioContext> {
  if (!globalThis.AudioContext) throw noSound(op, 'there is no AudioContext here: this is for browsers')
  const context = new AudioContext({ latencyHint: 'interactive', ...(sampleRate && { sampleRate }) })
  try {
    if (!context.audioWorklet)
      throw noSound(op, 'there is no AudioWorklet here: browsers have one over https and on localhost only')
    await context.audioWorklet.addModule(workletUrl).catch((thrown: unknown) => {
      throw noSound(op, `the audio worklet cannot be loaded from ${workletUrl}: ${messageOf(thrown)}`, thrown)
    })
  } catch (thrown) {
    void context.close()
    throw thrown
  }
  return context
}

/** A browser lets a page make sound once a person has done something on it. Gives a function that waits for it no more. */
export function resumeOnGesture(context: AudioContext): () => void {
  const gestures = ['pointerdown', 'pointerup', 'keydown'] as const
  const resume = () => {
    // Until then it neither resolves nor rejects.
    if (context.state !== 'running' && context.state !== 'closed') void context.resume().catch(() => {})
  }
  resume()
  for (const gesture of gestures) addEventListener(gesture, resume, { capture: true })
  // A phone call takes the sound away, and gives it back.
  context.addEventListener('statechange', resume)
  return () => {
    for (const gesture of gestures) removeEventListener(gesture, resume, { capture: true })
    context.removeEventListener('statechange', resume)
  }
}
