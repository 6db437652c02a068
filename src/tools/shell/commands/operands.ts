import { posix } from 'node:path'
import { gitOperands, readGit } from './git.ts'
import type { Parted, Takes } from './options.ts'
import { parted } from './options.ts'
import type { PlainWord } from './plain-line.ts'
import type { Deed, Operands, Program } from './programs.ts'
import { namesIn, programNamed } from './programs.ts'

type Words = readonly PlainWord[]

/** A word that names a path, and what is done there. */
export interface Operand {
  readonly deed: Deed
  readonly word: PlainWord
  /** Which path it is cannot be told. */
  readonly unknown?: boolean
}

/** The files and folders that a command is given to read or write, as far as its program is known. */
export function operandsOf(name: string, args: Words, root: string): readonly Operand[] {
  const program = programNamed(name)
  if (!program) return []
  switch (name) {
    case 'git':
      return gitPaths(args, root)
    case 'find':
      return findPaths(args)
    case 'dd':
      return args.flatMap((word) => [...keyed(word, 'if', 'read'), ...keyed(word, 'of', 'write')])
    case 'ln':
      return linkPaths(program, args)
    case 'tar':
    case 'bsdtar':
    case 'gtar':
      return tarPaths(program, args)
    case 'sed':
    case 'gsed':
      return operandsBy(sedWords, args)
    case 'awk':
    case 'gawk':
    case 'mawk':
    case 'nawk':
      return operandsBy(awkWords, args)
    case 'curl':
    case 'wget':
      return downloads(name, program, args)
    default:
      return operandsBy(program, args)
  }
}

const sedWords: Operands = {
  operands: 'read',
  first: 'none',
  unless: 'e f expression file',
  changing: 'i in-place',
  values: 'e l expression line-length',
  reads: 'f file',
}
const awkWords: Operands = {
  operands: 'read',
  first: 'none',
  unless: 'e f file source',
  values: 'F v e field-separator assign source',
  reads: 'f i file include',
}

/** How many words each option takes. */
export function takesOf({ values, reads, writes, pairs }: Operands): Takes {
  const exact = new Set(namesIn(values))
  const two = new Set(namesIn(pairs))
  return (name) =>
    two.has(name) ? 2 : exact.has(name) || isAmong(name, reads) || isAmong(name, writes) ? 1 : 0
}

/** Long names may be cut short. */
export function isAmong(name: string, names: string | undefined): boolean {
  return namesIn(names).some(
    (full) => full === name || (name.length > 1 && full.length > 1 && full.startsWith(name)),
  )
}

function operandsBy(spec: Operands, args: Words): Operand[] {
  const given = parted(args, takesOf(spec))
  const { first, last } = gives(given, spec.unless) ? {} : spec
  const isChanging = gives(given, spec.changing)
  const operands = given.operands.map((word, index): Operand => {
    const isLast = given.operands.length > 1 && index === given.operands.length - 1
    const deed = (index === 0 ? first : isLast ? last : undefined) ?? spec.operands ?? 'none'
    // What becomes several words is the first as well as some behind it.
    const more = word.glob !== undefined && deed !== spec.operands ? 'both' : deed
    return { deed: isChanging && more === 'read' ? 'both' : more, word }
  })
  const into = spec.last ? folderOf(operands, given) : undefined
  return [
    ...operands,
    ...valuesOf(given, spec.reads).map((word): Operand => ({ deed: 'read', word })),
    ...valuesOf(given, spec.writes).map((word): Operand => ({ deed: 'write', word })),
    ...(into ? operands.flatMap(({ deed, word }) => (deed === 'write' ? [] : landing(into, word))) : []),
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
  if (named || last?.deed !== 'write') return named
  return operands.length > 2 || /(?:^|\/)\.{0,2}$/.test(last.word.value) ? last.word : undefined
}

function landing(folder: PlainWord, { value, glob }: PlainWord): Operand[] {
  return glob === undefined ? [{ deed: 'write', word: below(folder, { value: posix.basename(value) }) }] : []
}

/** The word as it is meant in another folder than the command's own. */
function below(folder: PlainWord | undefined, word: PlainWord): PlainWord {
  if (!folder || word.value.startsWith('/') || word.home) return word
  return {
    ...folder,
    value: `${folder.value}/${word.value}`,
    ...(word.glob !== undefined && { glob: word.glob }),
  }
}

function keyed({ value, ...word }: PlainWord, key: string, deed: Deed): Operand[] {
  return value.startsWith(`${key}=`) ? [{ deed, word: { ...word, value: value.slice(key.length + 1) } }] : []
}

/** The folders it begins with stand before its first test: find(1). */
function findPaths(args: Words): Operand[] {
  const from = args.findIndex(({ value }) => !/^-[HLP]$/.test(value))
  const roots = from < 0 ? [] : args.slice(from)
  const end = roots.findIndex(({ value }) => /^[-(!]/.test(value))
  const deed = args.some(({ value }) => value === '-delete') ? 'both' : 'read'
  return (end < 0 ? roots : roots.slice(0, end)).map((word) => ({ deed, word }))
}

/** What a link says is meant from where the link is. */
function linkPaths(program: Program, args: Words): Operand[] {
  const operands = operandsBy(program, args)
  const link = operands.find(({ deed }) => deed === 'write')?.word.value
  const seen = operands.flatMap(({ deed, word: { value } }): Operand[] => {
    if (deed !== 'read' || link === undefined || value.startsWith('/')) return []
    return [{ deed: 'read', word: { value: posix.join(posix.dirname(link), value) } }]
  })
  return [...operands, ...seen]
}

function tarPaths(program: Program, args: Words): Operand[] {
  const given = parted(dashed(program, args), takesOf(program))
  const packs = gives(given, 'c r u A create append update concatenate')
  const unpacks = gives(given, 'x extract get')
  const folders = valuesOf(given, 'C directory')
  const [folder] = folders
  const lists = valuesOf(given, 'T files-from')
  const deed = packs ? 'read' : unpacks ? 'write' : 'none'
  return [
    ...valuesOf(given, 'f file').map((word): Operand => ({ deed: packs ? 'write' : 'read', word })),
    ...[...lists, ...valuesOf(given, 'X exclude-from')].map((word): Operand => ({ deed: 'read', word })),
    // What they list is not to be seen here.
    ...lists.map((word): Operand => ({ deed: packs ? 'read' : 'none', word, unknown: true })),
    ...(unpacks ? folders.map((word): Operand => ({ deed: 'write', word })) : []),
    ...given.operands.map(
      (word): Operand => ({ deed, word: below(folder, word), unknown: folders.length > 1 }),
    ),
  ]
}

/** `tar cf a b` is `tar -c -f a b`: each letter takes its value in turn. */
export function dashed(program: Program, args: Words): Words {
  const [first, ...rest] = args
  if (!first || !/^[a-zA-Z]+$/.test(first.value)) return args
  const takes = takesOf(program)
  let next = 0
  const words = [...first.value].flatMap((letter) => {
    const value = takes(letter) > 0 ? rest[next++] : undefined
    return [{ value: `-${letter}` }, ...(value ? [value] : [])]
  })
  return [...words, ...rest.slice(next)]
}

/** Sends `@file`, reads `file://…`, and keeps a page under its own name: -O of curl, and wget if nothing else is said. */
function downloads(name: string, program: Program, args: Words): Operand[] {
  const given = parted(args, takesOf(program))
  const keeps =
    name === 'curl' ? gives(given, 'O remote-name remote-name-all') : !gives(given, 'O output-document')
  const sent = given.options
    .filter((option) => /^(?:d|F|H|data(?!-raw).*|form|json|header|url)$/.test(option.name))
    .flatMap(({ value }) => value ?? [])
  const files = [...sent, ...given.operands].flatMap(({ value }) => {
    const found = /^(?:[\w.-]+=)?[@<](.+)|^file:\/\/[^/]*(\/.*)/i.exec(value)
    return found?.[1] ?? found?.[2] ?? []
  })
  const kept = keeps ? given.operands.map(({ value }) => posix.basename(value.replace(/[?#].*/, ''))) : []
  return [
    ...operandsBy(program, args),
    ...files.map((value): Operand => ({ deed: 'read', word: { value } })),
    ...kept.map((value): Operand => ({ deed: 'write', word: { value } })),
  ]
}

/** A revision is taken for a path, too: there is seldom a file of that name. */
function gitPaths(args: Words, root: string): Operand[] {
  const { at, folders } = readGit(args)
  if (at === undefined) return []
  const spec = gitOperands.get(args[at]?.value ?? '')
  if (!spec) return []
  const folder = folders.reduce((outer: PlainWord | undefined, inner) => below(outer, inner), undefined)
  return operandsBy(spec, args.slice(at + 1)).flatMap(({ deed, word }) =>
    /[*?[]/.test(word.value)
      ? [{ deed, word, unknown: word.glob === undefined }]
      : gitPlaces(word.value, root).map((value) => ({ deed, word: below(folder, { ...word, value }) })),
  )
}

/** `HEAD:path`, `1,5:path` of `-L`, `:(top)path`: gitglossary(7), pathspec. */
function gitPlaces(value: string, root: string): string[] {
  const plain = value.replace(/^:(?:\([^)]*\)|[/!^]+)/, '')
  const parts = [plain, ...[plain.indexOf(':'), plain.lastIndexOf(':')].map((at) => plain.slice(at + 1))]
  // From the top of the repository, unless it begins with a dot.
  const tops = value.includes(':')
    ? parts.map((part) => (part.startsWith('/') ? part : `${root}/${part}`))
    : []
  return [...new Set([...parts, ...tops])]
}
