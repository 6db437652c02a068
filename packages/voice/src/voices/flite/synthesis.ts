import type { SpeechChunk } from '../../speech.ts'
import { wavReader } from '../wav.ts'
import { fileIn, fileOut, runFlite } from './program.ts'
import type { SpokenForm } from './spoken-words.ts'
import { pause, readPhones, wordTimes } from './word-times.ts'

/** One piece of text to speak. */
export interface Piece {
  readonly words: readonly SpokenForm[]
  readonly voice: string
  readonly speed: number
}

export interface SpokenPiece extends Required<SpeechChunk> {
  readonly pcm: Int16Array<ArrayBuffer>
}

/** flite starts with 120 to 250 ms of silence; this much is kept. */
const silenceBeforeMs = 10
/** The pause between sentences. */
const silenceAfterMs = 150
/** The maximum number of words whose phones are cached. */
const maxCached = 5000

/** Speaks one piece per call. Word times count from the first sample. */
export function synthesis(module: WebAssembly.Module): (piece: Piece) => SpokenPiece {
  const cache = new Map<string, readonly string[]>()

  /**
   * The phones of each word on its own. flite prints a line per paragraph, so each word becomes
   * one.
   */
  function phonesOf(words: readonly string[]): (readonly string[])[] {
    const unknown = [...new Set(words)].filter((word) => !cache.has(word))
    if (cache.size + unknown.length > maxCached) cache.clear()
    if (unknown.length > 0) {
      const paragraphs = `${unknown.join('\n\n')}\n`
      // The fastest voice; all share the same lexicon.
      const args = ['-voice', 'kal16', '-ps', '-f', fileIn, '-o', 'none']
      const lines = runFlite(module, args, paragraphs).stdout.trim().split('\n')
      unknown.forEach((word, index) => {
        const phones = (lines[index] ?? '').trim().split(/\s+/)
        cache.set(
          word,
          phones.filter((phone) => phone !== pause),
        )
      })
    }
    return words.map((word) => cache.get(word) ?? [])
  }

  return ({ words, voice, speed }) => {
    const spoken = words.map((word) => word.spoken)
    // kal has a different base rate.
    const pace = `duration_stretch=${(voice.startsWith('kal') ? 1.1 : 1) / speed}`
    const args = ['-voice', voice, '--setf', pace]
    // After `-t` the text is taken literally, even if it starts with a dash.
    const { stdout, wav } = runFlite(module, [...args, '-psdur', '-t', spoken.join(' '), '-o', fileOut])
    const reader = wavReader()
    const samples = reader.push(wav)
    const sampleRate = reader.sampleRate ?? 16_000
    const phones = readPhones(stdout)
    const first = phones.findIndex((phone) => phone.name !== pause)
    const last = phones.findLast((phone) => phone.name !== pause)
    if (!last) return { pcm: new Int16Array(), sampleRate, words: [] }

    const fromMs = Math.max(0, (phones[first - 1]?.endMs ?? 0) - silenceBeforeMs)
    const toMs = last.endMs + silenceAfterMs
    const sampleAt = (ms: number) => Math.round((ms * sampleRate) / 1000)
    const timed = wordTimes(words, phonesOf(spoken), phones)
    return {
      pcm: samples.slice(sampleAt(fromMs), sampleAt(toMs)),
      sampleRate,
      words: timed.map((word) => ({ ...word, startMs: word.startMs - fromMs, endMs: word.endMs - fromMs })),
    }
  }
}
