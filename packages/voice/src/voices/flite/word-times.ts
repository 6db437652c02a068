import type { SpokenWord } from '../../speech.ts'
import type { SpokenForm } from './spoken-words.ts'

/** A phone and its end time. */
export interface Phone {
  readonly name: string
  readonly endMs: number
}

export const pause = 'pau'

/** Parses the output of `flite -psdur`: `pau:0.232 y:0.278 eh:0.427 s:0.529`. */
export function readPhones(printed: string): Phone[] {
  return printed
    .trim()
    .split(/\s+/)
    .flatMap((one) => {
      const [name = '', end = ''] = one.split(':')
      return name && end ? [{ name, endMs: Math.round(Number(end) * 1000) }] : []
    })
}

/**
 * Computes when each word is spoken. flite reports the end of each phone of a sentence, and the
 * phones of a word on its own. The two are aligned, since words sound slightly different in a
 * sentence (`a` is `ey` alone, but `ax` before a noun).
 */
export function wordTimes(
  words: readonly SpokenForm[],
  phonesOfWords: readonly (readonly string[])[],
  phones: readonly Phone[],
): SpokenWord[] {
  const sounds = phonesOfWords.flatMap((names, word) => names.map((name) => ({ name, word })))
  const startOf = (at: number) => phones[at - 1]?.endMs ?? 0
  const times = words.map(() => ({ startMs: -1, endMs: -1 }))
  align(sounds, phones).forEach((sound, at) => {
    const time = sound === undefined ? undefined : times[sounds[sound]?.word ?? -1]
    if (!time) return
    if (time.startMs < 0) time.startMs = startOf(at)
    time.endMs = phones[at]?.endMs ?? 0
  })
  let before = 0
  return words.flatMap(({ start, end }, index) => {
    const { startMs, endMs } = times[index] ?? { startMs: -1, endMs: -1 }
    // A word without its own phones in the sentence, such as a lone bracket, takes no time.
    if (startMs < 0)
      return phonesOfWords[index]?.length ? [{ start, end, startMs: before, endMs: before }] : []
    before = endMs
    return [{ start, end, startMs, endMs }]
  })
}

/**
 * Minimal edit distance alignment. Returns the index of the matching sound for each phone,
 * undefined for a pause.
 */
function align(sounds: readonly { name: string }[], phones: readonly Phone[]): (number | undefined)[] {
  const width = sounds.length + 1
  const costs = new Float64Array(width * (phones.length + 1))
  const costAt = (row: number, column: number) => costs[row * width + column] ?? 0
  for (let column = 1; column < width; column++) costs[column] = column * gapCost
  for (let row = 1; row <= phones.length; row++) {
    const { name = '' } = phones[row - 1] ?? {}
    for (let column = 0; column < width; column++) {
      const added = costAt(row - 1, column) + (name === pause ? 0 : gapCost)
      const sound = sounds[column - 1]
      costs[row * width + column] = sound
        ? Math.min(
            added,
            costAt(row - 1, column - 1) + substitutionCost(sound.name, name),
            costAt(row, column - 1) + gapCost,
          )
        : added
    }
  }
  const found = new Array<number | undefined>(phones.length)
  let column = sounds.length
  for (let row = phones.length; row > 0; ) {
    const { name = '' } = phones[row - 1] ?? {}
    const sound = sounds[column - 1]
    const cost = costAt(row, column)
    if (sound && cost === costAt(row - 1, column - 1) + substitutionCost(sound.name, name)) {
      found[--row] = --column
    } else if (sound && cost === costAt(row, column - 1) + gapCost) {
      column--
    } else {
      // An extra phone belongs to the preceding word.
      found[--row] = name === pause ? undefined : Math.max(0, column - 1)
    }
  }
  return found
}

const gapCost = 1

/** Substitution is as cheap as a gap, except for pauses. */
function substitutionCost(one: string, other: string): number {
  if (one === other) return 0
  return one === pause || other === pause ? 4 : 1
}
