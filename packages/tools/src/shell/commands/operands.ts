import { readGit } from './git.ts'
import type { ParsedOptions, ValueCount } from './options.ts'
import { parseOptions } from './options.ts'
import type { PlainWord } from './plain-line.ts'
import type { AccessMode, Operands } from './programs.ts'
import { namesIn, programNamed } from './programs.ts'

type Words = readonly PlainWord[]

/** A word that names a path, and how it is accessed. */
export interface Operand {
  readonly mode: AccessMode
  readonly word: PlainWord
  /** The actual path is not known. */
  readonly unknown?: boolean
}

/** The files and folders that a command reads or writes, if the program is known. */
export function operandsOf(name: string, args: Words, root: string): readonly Operand[] {
  const program = programNamed(name)
  if (!program) return []
  if (name === 'git') return gitPaths(args, root)
  const named =
    name === 'find' ? findPaths(args) : operandsBy(program, isTar(name) ? withDashes(program, args) : args)
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

/** How many values each option takes. */
export function valueCountOf({ values, reads, lists, writes, pairs, base, archive }: Operands): ValueCount {
  const taking = [reads, lists, writes, base, archive]
  return (name) => {
    if (namesIn(pairs).includes(name)) return 2
    return namesIn(values).includes(name) || taking.some((names) => isOptionOf(name, names)) ? 1 : 0
  }
}

/** Long names may be abbreviated. */
export function isOptionOf(name: string, names: string | undefined): boolean {
  const prefix = name.replace(/^--/, '')
  return namesIn(names).some(
    (full) => full === name || (name.length > 1 && full.length > 1 && full.startsWith(prefix)),
  )
}

function operandsBy(spec: Operands, args: Words): Operand[] {
  const given = parseOptions(args, valueCountOf(spec))
  const { first, last } = hasOption(given, spec.unless) ? {} : spec
  const isChanging = hasOption(given, spec.changing)
  const [folder] = valuesOf(given, spec.base)
  const operands = given.operands.map((word, index): Operand => {
    const isLast = given.operands.length > 1 && index === given.operands.length - 1
    const mode = (index === 0 ? first : isLast ? last : undefined) ?? spec.operands ?? 'none'
    // A glob may expand to several operands: the first and later ones.
    const more = word.glob !== undefined && mode !== (spec.operands ?? 'none') ? 'both' : mode
    return { mode: isChanging && more === 'read' ? 'both' : more, word: inFolder(folder, word) }
  })
  const into = spec.last ? folderOf(operands, given) : undefined
  return [
    ...operands,
    ...valuesOf(given, spec.reads).map((word): Operand => ({ mode: 'read', word })),
    ...valuesOf(given, spec.lists).map((word): Operand => ({ mode: 'both', word, unknown: true })),
    ...valuesOf(given, spec.writes).map((word): Operand => ({ mode: 'write', word })),
    ...valuesOf(given, spec.archive).map(
      (word): Operand => ({ mode: hasOption(given, 't list x extract get') ? 'read' : 'write', word }),
    ),
    ...(hasOption(given, spec.keeps)
      ? given.operands.map(
          (word): Operand => ({ mode: 'write', word: { value: nameOf(word).replace(/[?#].*/, '') } }),
        )
      : []),
    ...(into ? operands.flatMap(({ mode, word }) => (mode === 'write' ? [] : copyTarget(into, word))) : []),
  ]
}

export function hasOption({ options }: ParsedOptions, names: string | undefined): boolean {
  return options.some(({ name }) => isOptionOf(name, names))
}

function valuesOf({ options }: ParsedOptions, names: string | undefined): PlainWord[] {
  return options.flatMap(({ name, value }) => (value && isOptionOf(name, names) ? [value] : []))
}

/** The target folder of a copy or move, if it is certainly a folder. */
function folderOf(operands: readonly Operand[], given: ParsedOptions): PlainWord | undefined {
  const [named] = valuesOf(given, 't target-directory')
  const last = operands.at(-1)
  if (named || last?.mode !== 'write') return named
  return operands.length > 2 || /(?:^|\/)\.{0,2}$/.test(last.word.value) ? last.word : undefined
}

function copyTarget(folder: PlainWord, word: PlainWord): Operand[] {
  return word.glob === undefined ? [{ mode: 'write', word: inFolder(folder, { value: nameOf(word) }) }] : []
}

function nameOf({ value }: PlainWord): string {
  return value.slice(value.lastIndexOf('/') + 1)
}

/** The word relative to another folder than the command's own. */
function inFolder(folder: PlainWord | undefined, word: PlainWord): PlainWord {
  if (!folder || word.value.startsWith('/') || word.home) return word
  return { ...folder, ...word, value: `${folder.value}/${word.value}` }
}

/** The starting folders come before the first test: find(1). */
function findPaths(args: Words): Operand[] {
  const from = args.findIndex(({ value }) => !/^-[HLP]$/.test(value))
  const roots = from < 0 ? [] : args.slice(from)
  const end = roots.findIndex(({ value }) => /^[-(!]/.test(value))
  const mode = args.some(({ value }) => value === '-delete') ? 'both' : 'read'
  return (end < 0 ? roots : roots.slice(0, end)).map((word) => ({ mode, word }))
}

/** `tar cf a b` is `tar -c -f a b`: each letter takes its value in turn. */
export function withDashes(spec: Operands, args: Words): Words {
  const [first, ...rest] = args
  if (!first || !/^[a-zA-Z]+$/.test(first.value)) return args
  const takes = valueCountOf(spec)
  let next = 0
  const words = [...first.value].flatMap((letter) => {
    const value = takes(letter) > 0 ? rest[next++] : undefined
    return [{ value: `-${letter}` }, ...(value ? [value] : [])]
  })
  return [...words, ...rest.slice(next)]
}

/**
 * Treats revisions as paths too, which is harmless: a file of that name rarely exists. `HEAD:path`,
 * `1,5:path` of `-L`, `:(top)path`: gitglossary(7).
 */
function gitPaths(args: Words, root: string): Operand[] {
  const { at = 0, subcommand, folders } = readGit(args)
  const folder = folders.reduce((outer: PlainWord | undefined, inner) => inFolder(outer, inner), undefined)
  return operandsBy(subcommand ?? {}, args.slice(at + 1)).flatMap((operand) => {
    const { value, glob } = operand.word
    if (/[*?[]/.test(value)) return [{ ...operand, unknown: glob === undefined || folder !== undefined }]
    const plain = value.replace(/^:(?:\([^)]*\)|[/!^]+)/, '')
    const parts = [plain, plain.slice(plain.indexOf(':') + 1), plain.slice(plain.lastIndexOf(':') + 1)]
    // Relative to the top of the repository, unless it starts with a dot.
    const tops = value.includes(':')
      ? parts.map((part) => (part.startsWith('/') ? part : `${root}/${part}`))
      : []
    return [...new Set([...parts, ...tops])].map((path) => ({
      ...operand,
      word: inFolder(folder, { value: path }),
    }))
  })
}
