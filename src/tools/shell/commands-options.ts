import type { ShellWord } from './commands-words.ts'

/** The options of a program that runs another, as far as they are understood. */
export interface OptionSpec {
  /** Letters without a value. */
  readonly flags?: string
  /** Letters with a value, in the same word or the next. */
  readonly values?: string
  readonly longFlags?: readonly string[]
  readonly longValues?: readonly string[]
  /** How many words of its own stand before the command. */
  readonly operands?: number
}

/** Where the words behind its options and operands begin; undefined if an option is not understood. */
export function afterOptions(words: readonly ShellWord[], spec: OptionSpec): number | undefined {
  const { flags = '', values = '', longFlags = [], longValues = [], operands = 0 } = spec
  let next = 1
  for (; next < words.length; next++) {
    const value = words[next]?.value
    if (value === undefined) return undefined
    if (value === '--') {
      next++
      break
    }
    if (!value.startsWith('-') || value === '-') break
    const takesNext = value.startsWith('--')
      ? longTakesNext(value.slice(2), longFlags, longValues)
      : lettersTakeNext(value.slice(1), flags, values)
    if (takesNext === undefined) return undefined
    if (!takesNext) continue
    next++
    if (words[next]?.many !== false) return undefined
  }
  const own = words.slice(next, next + operands)
  return own.length === operands && own.every(({ many }) => !many) ? next + operands : undefined
}

function longTakesNext(
  option: string,
  flags: readonly string[],
  values: readonly string[],
): boolean | undefined {
  const [name = '', ...given] = option.split('=')
  if (values.includes(name)) return given.length === 0
  return flags.includes(name) && given.length === 0 ? false : undefined
}

function lettersTakeNext(letters: string, flags: string, values: string): boolean | undefined {
  for (const [index, letter] of [...letters].entries()) {
    if (values.includes(letter)) return index === letters.length - 1
    if (!flags.includes(letter)) return undefined
  }
  return false
}
