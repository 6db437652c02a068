// A word of the provider carries its number and the time at which it was written, so that a follower
// can check and time it in the bytes of any format, without parsing.

const numberLength = 7
const timeLength = 15
export const wordLength = numberLength + timeLength + 3

/** Where a word goes in a rendered frame. */
export const wordMark = '~'.padEnd(wordLength - 1, '0').concat('~')

const offset = Number(process.hrtime.bigint()) / 1e3 - performance.now() * 1e3

/** The monotonic clock in µs, which all processes of a machine share. */
export const clock = () => Math.round(performance.now() * 1e3 + offset)

export const word = (number: number, us: number) =>
  `~${String(number).padStart(numberLength, '0')}.${String(us).padStart(timeLength, '0')}~`

/** The number of the last word in these bytes. */
export function lastNumber(bytes: string): number {
  const at = bytes.lastIndexOf('.', bytes.lastIndexOf('~'))
  return Number(bytes.slice(at - numberLength, at))
}

export interface WordCheck {
  /** The number of the next word. */
  readonly count: number
  /** What was lost, repeated or out of order; the first few. */
  readonly faults: readonly string[]
  /** Takes the next bytes as latin1. Returns how many words they had. */
  take(piece: string): number
}

/** Finds words in any split of the bytes, from a number on. `onDelay` gets the age of each in ms. */
export function wordCheck(onDelay: (ms: number) => void, from = 0): WordCheck {
  const faults: string[] = []
  let count = from
  let rest = ''
  return {
    get count() {
      return count
    },
    faults,
    take(piece) {
      const all = rest === '' ? piece : rest + piece
      const before = count
      const now = clock()
      let at = all.indexOf('~')
      for (; at >= 0 && at + wordLength <= all.length; at = all.indexOf('~', at + wordLength)) {
        const number = Number(all.slice(at + 1, at + 1 + numberLength))
        const us = Number(all.slice(at + 2 + numberLength, at + wordLength - 1))
        if (number !== count && faults.length < 3) faults.push(`word ${number} came instead of ${count}`)
        count++
        onDelay((now - us) / 1e3)
      }
      rest = at < 0 ? '' : all.slice(at)
      return count - before
    },
  }
}
