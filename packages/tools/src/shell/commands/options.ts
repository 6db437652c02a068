import type { PlainWord } from './plain-line.ts'

interface GivenOption {
  /**
   * A letter, or a long name as written; without dashes, except for long names of at most one
   * letter.
   */
  readonly name: string
  readonly value: PlainWord | undefined
  /** Index of its word. */
  readonly at: number
}

export interface ParsedOptions {
  readonly options: readonly GivenOption[]
  readonly operands: readonly PlainWord[]
  /**
   * How many words look like options but come after an operand or `--`: some programs read them as
   * operands.
   */
  readonly late: number
  /** Where parsing stopped: after the last word, or with `stops` at the first operand. */
  readonly end: number
}

/** How many values an option takes: 0, 1 or 2. */
export type ValueCount = (name: string) => number

/**
 * Parses options like getopt_long(3): combined letters, values in the same or the next word, options
 * after operands unless `stops`.
 */
export function parseOptions(
  args: readonly PlainWord[],
  takes: ValueCount,
  { stops = false } = {},
): ParsedOptions {
  const options: GivenOption[] = []
  const operands: PlainWord[] = []
  let late = 0
  let next = 0
  for (; next < args.length; next++) {
    const word = args[next] as PlainWord
    const at = next
    const take = (name: string): PlainWord | undefined => {
      const count = takes(name)
      next += count
      return count > 0 ? args[next] : undefined
    }
    if (word.value === '--') {
      next++
      if (!stops) {
        const rest = args.slice(next)
        late += rest.filter(isOption).length
        operands.push(...rest)
        next = args.length
      }
      break
    }
    if (!isOption(word)) {
      if (stops) break
      operands.push(word)
      continue
    }
    if (operands.length > 0) late++
    if (word.value.startsWith('--')) {
      const [long = '', ...rest] = word.value.slice(2).split('=')
      const name = long.length > 1 ? long : `--${long}`
      options.push({ name, at, value: rest.length > 0 ? { ...word, value: rest.join('=') } : take(name) })
      continue
    }
    for (let letter = 1; letter < word.value.length; letter++) {
      const name = word.value[letter] as string
      const rest = word.value.slice(letter + 1)
      const hasValue = takes(name) > 0
      options.push({ name, at, value: !hasValue ? undefined : rest ? { ...word, value: rest } : take(name) })
      if (hasValue) break
    }
  }
  return { options, operands, late, end: Math.min(next, args.length) }
}

function isOption({ value }: PlainWord): boolean {
  return value.startsWith('-') && value !== '-'
}
