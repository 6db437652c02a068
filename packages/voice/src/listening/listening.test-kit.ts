import type { ListeningEvent, ListeningSession } from '../listener.ts'
import type { Transcriber } from './transcriber.ts'
import { type ListenerOptions, listener } from './vad-listener.ts'
import { frameSamples, listeningSampleRate, type VoiceActivity } from './voice-activity.ts'

/** Audio of a constant level, enough for a detector that measures loudness. */
export function tone(ms: number, { level = 8000, rate = listeningSampleRate } = {}): Int16Array {
  return Int16Array.from({ length: Math.round((ms / 1000) * rate) }, (_, i) => (i % 2 ? level : -level))
}

export function quiet(ms: number, rate = listeningSampleRate): Int16Array {
  return new Int16Array(Math.round((ms / 1000) * rate))
}

export function joined(...parts: readonly Int16Array[]): Int16Array {
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

/** Treats loud audio as speech. */
export const loudness: VoiceActivity = {
  open: () => ({
    detect: async (pcm) =>
      Array.from({ length: pcm.length / frameSamples }, (_, index) => {
        const frame = pcm.subarray(index * frameSamples, (index + 1) * frameSamples)
        return frame.reduce((sum, sample) => sum + Math.abs(sample), 0) / frameSamples > 1000 ? 1 : 0
      }),
  }),
}

/** Returns the length of the audio in milliseconds as its transcript. */
const length: Transcriber = { transcribe: async (pcm) => `${(pcm.length / listeningSampleRate) * 1000}` }

/** A microphone that keeps its events. By default it detects loudness and transcribes lengths. */
export function microphone({
  sampleRate = listeningSampleRate,
  ...options
}: ListenerOptions & { sampleRate?: number } = {}) {
  const events: ListeningEvent[] = []
  const hearing: ListeningSession = listener({ vad: loudness, transcriber: length, ...options }).listen({
    sampleRate,
    onEvent: (event) => events.push(event),
  })
  return {
    ...hearing,
    events,
    /** The event types, with consecutive `speech` events collapsed. */
    types: () =>
      events.map(({ type }) => type).filter((type, at, all) => type !== 'speech' || all[at - 1] !== 'speech'),
    transcripts: () => events.flatMap((event) => (event.type === 'transcript' ? [event.text] : [])),
    failures: () => events.flatMap((event) => (event.type === 'failed' ? [event.error] : [])),
  }
}
