import type { ShellWord } from './commands-words.ts'
import { filledWord, literalWord } from './commands-words.ts'

/** The words behind a command's name, by what they are. */
interface Parted {
  readonly operands: readonly ShellWord[]
  readonly options: readonly GivenOption[]
}

export interface GivenOption {
  /** A letter, or a long name in full. */
  readonly name: string
  readonly value: ShellWord | undefined
}

/** The options that take words: a path, any other value, or a name and a value. */
export interface Taking {
  readonly paths: readonly string[]
  readonly values: readonly string[]
  readonly pairs: readonly string[]
}

/**
 * Reads options as getopt_long(3) does: letters together, a value in the same word or the next, long names cut short, and options behind
 * operands. One that is not known takes nothing: better a value that is taken for a path than a path for a value.
 */
export function parted(args: readonly ShellWord[], taking: Taking): Parted {
  const operands: ShellWord[] = []
  const options: GivenOption[] = []
  let next = 0
  const taken = (name: string): ShellWord | undefined => {
    const count = takes(name, taking)
    next += count
    return count > 0 ? args[next - 1] : undefined
  }
  while (next < args.length) {
    const word = args[next++] as ShellWord
    const { value, start } = word
    if (value === '--') {
      operands.push(...args.slice(next))
      break
    }
    const hidden = value === undefined ? filledWord(word.text, false) : undefined
    if (value === '-') continue
    if (!start.startsWith('-')) operands.push(word)
    else if (start.startsWith('--')) {
      const [short = '', ...rest] = start.slice(2).split('=')
      const name = inFull(short, taking)
      options.push({ name, value: rest.length > 0 ? (hidden ?? literalWord(rest.join('='))) : taken(name) })
    } else options.push(...letters(start.slice(1), hidden, taking, taken))
  }
  return { operands, options }
}

function letters(
  cluster: string,
  hidden: ShellWord | undefined,
  taking: Taking,
  taken: (name: string) => ShellWord | undefined,
): GivenOption[] {
  const options: GivenOption[] = []
  for (const [index, name] of [...cluster].entries()) {
    const rest = [...cluster].slice(index + 1).join('')
    const attached = hidden ?? (rest ? literalWord(rest) : undefined)
    const hasValue = takes(name, taking) > 0
    options.push({ name, value: hasValue ? (attached ?? taken(name)) : undefined })
    if (hasValue) break
  }
  return options
}

function takes(name: string, { paths, values, pairs }: Taking): number {
  return pairs.includes(name) ? 2 : paths.includes(name) || values.includes(name) ? 1 : 0
}

function inFull(short: string, { paths, values, pairs }: Taking): string {
  if ([...paths, ...values, ...pairs].includes(short) || short === '') return short
  return paths.find((name) => name.length > 1 && name.startsWith(short)) ?? short
}
