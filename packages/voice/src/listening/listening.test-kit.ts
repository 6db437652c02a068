import type { Hearing, HearingEvent } from '../listener.ts'
import type { Transcriber } from './transcriber.ts'
import { type ListenerOptions, listener } from './vad-listener.ts'
import { frameSamples, heardRate, type VoiceActivity } from './voice-activity.ts'

/** Sound of one level: enough for a detector that goes by loudness. */
export function tone(ms: number, { level = 8000, rate = heardRate } = {}): Int16Array {
  return Int16Array.from({ length: Math.round((ms / 1000) * rate) }, (_, i) => (i % 2 ? level : -level))
}

export function quiet(ms: number, rate = heardRate): Int16Array {
  return new Int16Array(Math.round((ms / 1000) * rate))
}

export function joined(...parts: readonly Int16Array[]): Int16Array {
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

/** What is loud is speech. */
export const loudness: VoiceActivity = {
  open: () => ({
    detect: async (pcm) =>
      Array.from({ length: pcm.length / frameSamples }, (_, index) => {
        const frame = pcm.subarray(index * frameSamples, (index + 1) * frameSamples)
        return frame.reduce((sum, sample) => sum + Math.abs(sample), 0) / frameSamples > 1000 ? 1 : 0
      }),
  }),
}

/** Says how long the sound was, in milliseconds. */
const length: Transcriber = { transcribe: async (pcm) => `${(pcm.length / heardRate) * 1000}` }

/** A microphone whose events are kept. By itself it goes by loudness, and understands lengths. */
export function microphone({
  sampleRate = heardRate,
  ...options
}: ListenerOptions & { sampleRate?: number } = {}) {
  const events: HearingEvent[] = []
  const hearing: Hearing = listener({ vad: loudness, transcriber: length, ...options }).listen({
    sampleRate,
    onEvent: (event) => events.push(event),
  })
  return {
    ...hearing,
    events,
    /** The types of what was told, of several `speech` in a row only one. */
    types: () =>
      events.map(({ type }) => type).filter((type, at, all) => type !== 'speech' || all[at - 1] !== 'speech'),
    transcripts: () => events.flatMap((event) => (event.type === 'transcript' ? [event.text] : [])),
    failures: () => events.flatMap((event) => (event.type === 'failed' ? [event.error] : [])),
  }
}
