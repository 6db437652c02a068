import { readGit } from './git.ts'
import type { Parted, Takes } from './options.ts'
import { parted } from './options.ts'
import type { PlainWord } from './plain-line.ts'
import type { AccessMode, Operands } from './programs.ts'
import { namesIn, programNamed } from './programs.ts'

type Words = readonly PlainWord[]

/** A word that names a path, and what is done there. */
export interface Operand {
  readonly mode: AccessMode
  readonly word: PlainWord
  /** Which path it is cannot be told. */
  readonly unknown?: boolean
}

/** The files and folders that a command is given to read or write, as far as its program is known. */
export function operandsOf(name: string, args: Words, root: string): readonly Operand[] {
  const program = programNamed(name)
  if (!program) return []
  if (name === 'git') return gitPaths(args, root)
  const named =
    name === 'find' ? findPaths(args) : operandsBy(program, isTar(name) ? dashed(program, args) : args)
  // `dd if=a of=b`, `curl -d @a file:///b`.
  const keyed = args.flatMap(({ value }): Operand[] => {
    const [, read, written, file] =
      /^(?:if=|(?:[\w.-]+=)?@)(.+)|^of=(.+)|^file:\/\/[^/]*(\/.*)/i.exec(value) ?? []
    const path = read ?? written ?? file
    return path === undefined
      ? []
      : [{ mode: written === undefined ? 'read' : 'write', word: { value: path } }]
  })
  return [...named, ...keyed]
}

export function isTar(name: string): boolean {
  return /^(?:bsd|g)?tar$/.test(name)
}

/** How many words each option takes. */
export function takesOf({ values, reads, lists, writes, pairs, base, archive }: Operands): Takes {
  const taking = [reads, lists, writes, base, archive]
  return (name) => {
    if (namesIn(pairs).includes(name)) return 2
    return namesIn(values).includes(name) || taking.some((names) => isAmong(name, names)) ? 1 : 0
  }
}

/** Long names may be cut short. */
export function isAmong(name: string, names: string | undefined): boolean {
  const begun = name.replace(/^--/, '')
  return namesIn(names).some(
    (full) => full === name || (name.length > 1 && full.length > 1 && full.startsWith(begun)),
  )
}

function operandsBy(spec: Operands, args: Words): Operand[] {
  const given = parted(args, takesOf(spec))
  const { first, last } = gives(given, spec.unless) ? {} : spec
  const isChanging = gives(given, spec.changing)
  const [folder] = valuesOf(given, spec.base)
  const operands = given.operands.map((word, index): Operand => {
    const isLast = given.operands.length > 1 && index === given.operands.length - 1
    const mode = (index === 0 ? first : isLast ? last : undefined) ?? spec.operands ?? 'none'
    // What becomes several words is the first as well as some behind it.
    const more = word.glob !== undefined && mode !== (spec.operands ?? 'none') ? 'both' : mode
    return { mode: isChanging && more === 'read' ? 'both' : more, word: below(folder, word) }
  })
  const into = spec.last ? folderOf(operands, given) : undefined
  return [
    ...operands,
    ...valuesOf(given, spec.reads).map((word): Operand => ({ mode: 'read', word })),
    ...valuesOf(given, spec.lists).map((word): Operand => ({ mode: 'both', word, unknown: true })),
    ...valuesOf(given, spec.writes).map((word): Operand => ({ mode: 'write', word })),
    ...valuesOf(given, spec.archive).map(
      (word): Operand => ({ mode: gives(given, 't list x extract get') ? 'read' : 'write', word }),
    ),
    ...(gives(given, spec.keeps)
      ? given.operands.map(
          (word): Operand => ({ mode: 'write', word: { value: nameOf(word).replace(/[?#].*/, '') } }),
        )
      : []),
    ...(into ? operands.flatMap(({ mode, word }) => (mode === 'write' ? [] : landing(into, word))) : []),
  ]
}

export function gives({ options }: Parted, names: string | undefined): boolean {
  return options.some(({ name }) => isAmong(name, names))
}

function valuesOf({ options }: Parted, names: string | undefined): PlainWord[] {
  return options.flatMap(({ name, value }) => (value && isAmong(name, names) ? [value] : []))
}

/** Where the others go, if that surely is a folder. */
function folderOf(operands: readonly Operand[], given: Parted): PlainWord | undefined {
  const [named] = valuesOf(given, 't target-directory')
  const last = operands.at(-1)
  if (named || last?.mode !== 'write') return named
  return operands.length > 2 || /(?:^|\/)\.{0,2}$/.test(last.word.value) ? last.word : undefined
}

function landing(folder: PlainWord, word: PlainWord): Operand[] {
  return word.glob === undefined ? [{ mode: 'write', word: below(folder, { value: nameOf(word) }) }] : []
}

function nameOf({ value }: PlainWord): string {
  return value.slice(value.lastIndexOf('/') + 1)
}

/** The word as it is meant in another folder than the command's own. */
function below(folder: PlainWord | undefined, word: PlainWord): PlainWord {
  if (!folder || word.value.startsWith('/') || word.home) return word
  return { ...folder, ...word, value: `${folder.value}/${word.value}` }
}

/** The folders it begins with stand before its first test: find(1). */
function findPaths(args: Words): Operand[] {
  const from = args.findIndex(({ value }) => !/^-[HLP]$/.test(value))
  const roots = from < 0 ? [] : args.slice(from)
  const end = roots.findIndex(({ value }) => /^[-(!]/.test(value))
  const mode = args.some(({ value }) => value === '-delete') ? 'both' : 'read'
  return (end < 0 ? roots : roots.slice(0, end)).map((word) => ({ mode, word }))
}

/** `tar cf a b` is `tar -c -f a b`: each letter takes its value in turn. */
export function dashed(spec: Operands, args: Words): Words {
  const [first, ...rest] = args
  if (!first || !/^[a-zA-Z]+$/.test(first.value)) return args
  const takes = takesOf(spec)
  let next = 0
  const words = [...first.value].flatMap((letter) => {
    const value = takes(letter) > 0 ? rest[next++] : undefined
    return [{ value: `-${letter}` }, ...(value ? [value] : [])]
  })
  return [...words, ...rest.slice(next)]
}

/** A revision is taken for a path, too: there is seldom a file of that name. `HEAD:path`, `1,5:path` of `-L`, `:(top)path`: gitglossary(7). */
function gitPaths(args: Words, root: string): Operand[] {
  const { at = 0, subcommand, folders } = readGit(args)
  const folder = folders.reduce((outer: PlainWord | undefined, inner) => below(outer, inner), undefined)
  return operandsBy(subcommand ?? {}, args.slice(at + 1)).flatMap((operand) => {
    const { value, glob } = operand.word
    if (/[*?[]/.test(value)) return [{ ...operand, unknown: glob === undefined || folder !== undefined }]
    const plain = value.replace(/^:(?:\([^)]*\)|[/!^]+)/, '')
    const parts = [plain, plain.slice(plain.indexOf(':') + 1), plain.slice(plain.lastIndexOf(':') + 1)]
    // From the top of the repository, unless it begins with a dot.
    const tops = value.includes(':')
      ? parts.map((part) => (part.startsWith('/') ? part : `${root}/${part}`))
      : []
    return [...new Set([...parts, ...tops])].map((path) => ({
      ...operand,
      word: below(folder, { value: path }),
    }))
  })
}
