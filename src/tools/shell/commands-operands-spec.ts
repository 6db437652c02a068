import { posix } from 'node:path'
import type { Deed, OperandSpec } from './commands-operands-table.ts'
import type { GivenOption, Taking } from './commands-parted.ts'
import { parted } from './commands-parted.ts'
import type { ShellWord } from './commands-words.ts'
import { filledWord, literalWord } from './commands-words.ts'

/** A word that names a path, and what is done there. */
export interface Operand {
  readonly deed: Deed
  readonly word: ShellWord
}

export function operandsBy(spec: OperandSpec, args: readonly ShellWord[]): Operand[] {
  const { operands: words, options } = parted(args, takingOf(spec))
  const gives = (names: string | undefined) => options.some(({ name }) => namesIn(names).includes(name))
  const { first, last } = gives(spec.unless) ? {} : spec
  const written = gives(spec.changing)
  const operands = words.map((word, index): Operand => {
    const isLast = words.length > 1 && index === words.length - 1
    // What becomes several words is the first as well as some behind it.
    const deeds = [
      ...(index === 0 && first ? [first] : isLast && last ? [last] : [spec.operands]),
      ...(word.many ? [spec.operands, ...(last && index === words.length - 1 ? [last] : [])] : []),
    ]
    const deed = deeds.reduce(together)
    return { deed: written && deed === 'read' ? 'both' : deed, word }
  })
  const into = spec.last ? targetOf(operands, options) : undefined
  return [
    ...operands,
    ...valuesOf(options, spec.reads).map((word): Operand => ({ deed: 'read', word })),
    ...valuesOf(options, spec.writes).map((word): Operand => ({ deed: 'write', word })),
    ...(into ? operands.flatMap(({ deed, word }) => (deed === 'write' ? [] : landing(into, word))) : []),
  ]
}

function together(one: Deed, other: Deed): Deed {
  if (one === 'none' || one === other) return other
  return other === 'none' ? one : 'both'
}

function namesIn(names: string | undefined): readonly string[] {
  return names?.split(' ') ?? []
}

export function takingOf({ values, reads, writes, pairs }: OperandSpec): Taking {
  return {
    paths: [...namesIn(reads), ...namesIn(writes)],
    values: namesIn(values),
    pairs: namesIn(pairs),
  }
}

function valuesOf(options: readonly GivenOption[], names: string | undefined): ShellWord[] {
  const wanted = namesIn(names)
  return options.flatMap(({ name, value }) => (value && wanted.includes(name) ? [value] : []))
}

/** Where the others go, if that surely is a folder. */
function targetOf(operands: readonly Operand[], options: readonly GivenOption[]): ShellWord | undefined {
  const [named] = valuesOf(options, 't target-directory')
  const last = operands.at(-1)
  if (named || last?.deed !== 'write') return named
  const isFolder = operands.length > 2 || /(?:^|\/)\.{0,2}$/.test(last.word.value ?? 'x')
  return isFolder ? last.word : undefined
}

function landing(folder: ShellWord, { value }: ShellWord): Operand[] {
  return value === undefined
    ? []
    : [{ deed: 'write', word: below(folder, literalWord(posix.basename(value))) }]
}

/** The word as it is meant in another folder than the command's own. */
export function below(folder: ShellWord | undefined, word: ShellWord): ShellWord {
  const { value, home } = word
  if (!folder || value?.startsWith('/') || home !== undefined) return word
  if (folder.value === undefined || value === undefined) return filledWord(word.text, false)
  return literalWord(`${folder.value}/${value}`)
}
