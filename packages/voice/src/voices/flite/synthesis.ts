import type { SpeechChunk } from '../../speech.ts'
import { wavReader } from '../wav.ts'
import { fileIn, fileOut, runFlite } from './program.ts'
import type { SpokenForm } from './spoken-words.ts'
import { pause, readPhones, wordTimes } from './word-times.ts'

/** One piece of text to be said. */
export interface Piece {
  readonly words: readonly SpokenForm[]
  readonly voice: string
  readonly speed: number
}

export interface SaidPiece extends Required<SpeechChunk> {
  readonly pcm: Int16Array<ArrayBuffer>
}

/** flite begins with 120 to 250 ms of silence; this is enough for a sound to begin in. */
const silenceBeforeMs = 10
/** Between one sentence and the next. */
const silenceAfterMs = 150
/** So many words are known by their sounds at a time. */
const mostKnown = 5000

/** Says one piece after the other. The words' times count from the first sample. */
export function synthesis(module: WebAssembly.Module): (piece: Piece) => SaidPiece {
  const known = new Map<string, readonly string[]>()

  /** Which phones each word has by itself. One line is printed for each paragraph: a word is made one. */
  function soundsOf(words: readonly string[]): (readonly string[])[] {
    const unknown = [...new Set(words)].filter((word) => !known.has(word))
    if (known.size + unknown.length > mostKnown) known.clear()
    if (unknown.length > 0) {
      const paragraphs = `${unknown.join('\n\n')}\n`
      // The quickest of its voices: they all have the same lexicon.
      const args = ['-voice', 'kal16', '-ps', '-f', fileIn, '-o', 'none']
      const lines = runFlite(module, args, paragraphs).stdout.trim().split('\n')
      unknown.forEach((word, index) => {
        const phones = (lines[index] ?? '').trim().split(/\s+/)
        known.set(
          word,
          phones.filter((phone) => phone !== pause),
        )
      })
    }
    return words.map((word) => known.get(word) ?? [])
  }

  return ({ words, voice, speed }) => {
    const spoken = words.map((word) => word.spoken)
    // Each voice has a pace of its own; kal's is slower than the measure.
    const pace = `duration_stretch=${(voice.startsWith('kal') ? 1.1 : 1) / speed}`
    const args = ['-voice', voice, '--setf', pace]
    // After `-t` a text is taken as it is, whatever it begins with.
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
    const timed = wordTimes(words, soundsOf(spoken), phones)
    return {
      pcm: samples.slice(sampleAt(fromMs), sampleAt(toMs)),
      sampleRate,
      words: timed.map((word) => ({ ...word, startMs: word.startMs - fromMs, endMs: word.endMs - fromMs })),
    }
  }
}
