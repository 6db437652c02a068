import type { PlainWord } from './plain-line.ts'
import { namesIn, programNamed } from './programs.ts'

/** What a command does, for programs with a syntax of their own. */
export interface Usage {
  readonly readOnly: boolean
  /**
   * Index of the word that makes it run or write something that rules cannot see; 0 is its name.
   */
  readonly opaqueAt?: number
  /** It opens files that are not among its arguments. */
  readonly opensOtherFiles?: true
}

const reads: Usage = { readOnly: true }
const opaqueAt = (at: number): Usage => ({ readOnly: false, opaqueAt: at })

/** Its options are whole words after a single dash. */
function find(words: readonly PlainWord[]): Usage {
  const { flags, values } = programNamed('find') ?? {}
  const isIn = (names: string | undefined, value: string) =>
    value.startsWith('-') && namesIn(names).includes(value.slice(1))
  let deletes = false
  let opens = false
  let inTests = false
  for (let at = 1; at < words.length; at++) {
    const { value = '' } = words[at] ?? {}
    if (isIn(flags, value) || /^[!(),]$/.test(value)) inTests ||= !/^-[HLP]$/.test(value)
    else if (isIn(values, value)) {
      inTests = true
      at++
    } else if (value === '-delete') deletes = true
    else if (/^-exec(?:dir)?$/.test(value)) {
      const end = words.findIndex((word, index) => index > at && /^[;+]$/.test(word.value))
      if (end < 0 || !onlyReads(words[at + 1])) return opaqueAt(Math.min(at + 1, words.length - 1))
      opens = true
      inTests = true
      at = end
    } else if (value.startsWith('-') || inTests) return opaqueAt(at)
  }
  return { readOnly: !deletes, ...(opens && { opensOtherFiles: true }) }
}

/** Whether the program only reads, whatever its arguments are. */
export function onlyReads(program: PlainWord | undefined): boolean {
  const known = programNamed(program?.value ?? '')
  return (
    known?.kind === 'reads' &&
    known.flags === undefined &&
    !specialPrograms.has(program?.value ?? '') &&
    program?.value !== 'cd'
  )
}

function xargs(words: readonly PlainWord[]): Usage {
  let at = 1
  for (; words[at]?.value.startsWith('-'); at++) {
    const { value = '' } = words[at] ?? {}
    if (/^-[nPL]$/.test(value) && /^\d+$/.test(words[at + 1]?.value ?? '')) at++
    else if (value === '-I' && /^(?:\{\}|%)$/.test(words[at + 1]?.value ?? '')) at++
    else if (!/^(?:-[0rt]+|-[nPL]\d+|-I(?:\{\}|%)|--null|--no-run-if-empty)$/.test(value)) return opaqueAt(0)
  }
  return onlyReads(words[at]) ? { readOnly: true, opensOtherFiles: true } : opaqueAt(0)
}

const awkPrints =
  /^\s*(?:NR\s*[=<>]=?\s*\d+\s*)?\{\s*print(?:\s*\$(?:\d+|NF)(?:\s*,\s*\$(?:\d+|NF))*)?\s*;?\s*\}\s*$/

/** Only `awk '{print $1}'` and similar; any other script may run programs and write files. */
function awk(words: readonly PlainWord[]): Usage {
  const [first, second] = words.slice(1).map(({ value }) => value)
  const at = first === '-F' ? 3 : /^-F[^-]/.test(first ?? '') ? 2 : 1
  if (first === '-F' && second === undefined) return opaqueAt(0)
  const files = words.slice(at + 1)
  // An operand with `=` sets a variable, and options may come anywhere.
  const arePlain = files.every(({ value }) => !value.startsWith('-') && !value.includes('='))
  return awkPrints.test(words[at]?.value ?? '') && arePlain ? reads : opaqueAt(0)
}

/** Text up to a delimiter, not allowed inside brackets: implementations differ on that. */
const sedText = (end: string) =>
  String.raw`(?:\\.|\[\^?(?!${end})[^\]\[\\\n^](?:(?!${end})[^\]\[\\\n])*\]|(?!${end})[^\\\n[])*`
const sedAddress = String.raw`(?:\d+|\$|/${sedText('/')}/)`
const sedSubstitution = String.raw`s([^\s\w\\;[\]])${sedText('\\1')}\1(?:\\.|(?!\1)[^\\\n])*\1`
const sedCommand = new RegExp(
  String.raw`\s*(?:${sedAddress}(?:\s*,\s*[+~]?${sedAddress})?\s*!?)?\s*(?:${sedSubstitution}[gpIiM\d]*|[=dDgGhHlnNpPx]|[qQ]\d*)\s*(?:;|\n|$)`,
  'y',
)

/**
 * `e` runs commands and `w` writes files, also as flags of `s`. A script that is not understood may
 * do either.
 */
function sed(words: readonly PlainWord[]): Usage {
  const scripts: number[] = []
  const operands: number[] = []
  let changes = false
  for (let at = 1; at < words.length; at++) {
    const { value = '' } = words[at] ?? {}
    if (!value.startsWith('-')) operands.push(at)
    else if (value === '-e') scripts.push(++at)
    else if (/^(?:-[nErszu]*i(?:[.~][\w.~-]*)?|--in-place)$/.test(value)) changes = true
    else if (!/^(?:-[nErszu]+|--(?:quiet|silent|regexp-extended))$/.test(value)) return opaqueAt(at)
  }
  if (scripts.length === 0) scripts.push(operands[0] ?? 1)
  const unreadable = scripts.find((at) => !sedIsPlain(words[at]?.value ?? 'e'))
  return unreadable === undefined ? { readOnly: !changes } : opaqueAt(unreadable)
}

function sedIsPlain(script: string): boolean {
  sedCommand.lastIndex = 0
  while (sedCommand.lastIndex < script.length) if (!sedCommand.test(script)) return false
  return true
}

/** In bash, `-v` and `-R` evaluate array subscripts. */
function testCommand(words: readonly PlainWord[]): Usage {
  const args = words[0]?.value === '[' ? words.slice(1, -1) : words.slice(1)
  const isPlain = args.every(({ value, glob }) => !/^-[vR]$|\[/.test(value) && glob === undefined)
  return isPlain && (words[0]?.value !== '[' || words.at(-1)?.value === ']') ? reads : opaqueAt(-1)
}

/** In bash, `-v` sets a variable and evaluates its subscript. */
function printf(words: readonly PlainWord[]): Usage {
  const { value = '-', glob } = words[1] ?? {}
  return value.startsWith('-') || glob !== undefined ? opaqueAt(-1) : reads
}

function setOptions(words: readonly PlainWord[]): Usage {
  const [first, ...rest] = words.slice(1).map(({ value }) => value)
  const isPlain =
    /^-[eux]*o?$/.test(first ?? '') && (first?.endsWith('o') ? rest.join() === 'pipefail' : rest.length === 0)
  return isPlain ? reads : opaqueAt(-1)
}

/** By program name. An `opaqueAt` of -1 makes the whole line opaque. */
export const specialPrograms: ReadonlyMap<string, (words: readonly PlainWord[]) => Usage> = new Map([
  ['find', find],
  ['xargs', xargs],
  ...['awk', 'gawk', 'mawk', 'nawk'].map((name) => [name, awk] as const),
  ...['sed', 'gsed'].map((name) => [name, sed] as const),
  ...['test', '['].map((name) => [name, testCommand] as const),
  ['printf', printf],
  ['set', setOptions],
])
