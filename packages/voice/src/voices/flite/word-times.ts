import type { SpokenWord } from '../../speech.ts'
import type { SpokenForm } from './spoken-words.ts'

/** A sound and when it ends, in milliseconds. */
export interface Phone {
  readonly name: string
  readonly endMs: number
}

export const pause = 'pau'

/** What `flite -psdur` prints: `pau:0.232 y:0.278 eh:0.427 s:0.529`. */
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
 * When each word is heard. flite tells when every phone of a sentence ends, and of a word said by itself which phones it has: the two
 * are laid over each other, since a word sounds a little different among others (`a` is `ey` alone, and `ax` before a noun).
 */
export function wordTimes(
  words: readonly SpokenForm[],
  phonesOfWords: readonly (readonly string[])[],
  phones: readonly Phone[],
): SpokenWord[] {
  const sounds = phonesOfWords.flatMap((names, word) => names.map((name) => ({ name, word })))
  const startOf = (at: number) => phones[at - 1]?.endMs ?? 0
  const times = words.map(() => ({ startMs: -1, endMs: -1 }))
  overlay(sounds, phones).forEach((sound, at) => {
    const time = sound === undefined ? undefined : times[sounds[sound]?.word ?? -1]
    if (!time) return
    if (time.startMs < 0) time.startMs = startOf(at)
    time.endMs = phones[at]?.endMs ?? 0
  })
  let before = 0
  return words.flatMap(({ start, end }, index) => {
    const { startMs, endMs } = times[index] ?? { startMs: -1, endMs: -1 }
    // It has no sound of its own, such as a lone bracket.
    if (startMs < 0)
      return phonesOfWords[index]?.length ? [{ start, end, startMs: before, endMs: before }] : []
    before = endMs
    return [{ start, end, startMs, endMs }]
  })
}

/** The cheapest way to make one row of sounds out of the other: for each phone the sound that it is, nothing for a pause. */
function overlay(sounds: readonly { name: string }[], phones: readonly Phone[]): (number | undefined)[] {
  const width = sounds.length + 1
  const costs = new Float64Array(width * (phones.length + 1))
  const costAt = (row: number, column: number) => costs[row * width + column] ?? 0
  for (let column = 1; column < width; column++) costs[column] = column * missing
  for (let row = 1; row <= phones.length; row++) {
    const { name = '' } = phones[row - 1] ?? {}
    for (let column = 0; column < width; column++) {
      const added = costAt(row - 1, column) + (name === pause ? 0 : missing)
      const sound = sounds[column - 1]
      costs[row * width + column] = sound
        ? Math.min(
            added,
            costAt(row - 1, column - 1) + difference(sound.name, name),
            costAt(row, column - 1) + missing,
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
    if (sound && cost === costAt(row - 1, column - 1) + difference(sound.name, name)) {
      found[--row] = --column
    } else if (sound && cost === costAt(row, column - 1) + missing) {
      column--
    } else {
      // One that no word has by itself belongs to the word it comes after.
      found[--row] = name === pause ? undefined : Math.max(0, column - 1)
    }
  }
  return found
}

const missing = 1

/** A sound becomes another more often than it is lost, and never a pause. */
function difference(one: string, other: string): number {
  if (one === other) return 0
  return one === pause || other === pause ? 4 : 1
}
