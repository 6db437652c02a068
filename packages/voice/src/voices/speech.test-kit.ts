import type { SpeechChunk } from '../speech.ts'

/** A signal that is never aborted. */
export const never = new AbortController().signal

/** All chunks of a synthesis, joined. */
export async function collectAudio(chunks: AsyncIterable<SpeechChunk>) {
  const all = await Array.fromAsync(chunks)
  const pcm = Int16Array.from(all.flatMap((chunk) => [...chunk.pcm]))
  const rates = new Set(all.map((chunk) => chunk.sampleRate))
  const sampleRate = all[0]?.sampleRate ?? 0
  return {
    chunks: all,
    pcm,
    sampleRate,
    rates: [...rates],
    words: all.flatMap((chunk) => chunk.words ?? []),
    ms: sampleRate && (pcm.length * 1000) / sampleRate,
  }
}

/** The root mean square of a range. */
export function loudness(
  pcm: Int16Array,
  sampleRate: number,
  fromMs = 0,
  toMs = Number.POSITIVE_INFINITY,
): number {
  const part = pcm.subarray((fromMs * sampleRate) / 1000, (toMs * sampleRate) / 1000)
  return Math.sqrt(part.reduce((sum, sample) => sum + sample * sample, 0) / (part.length || 1))
}
