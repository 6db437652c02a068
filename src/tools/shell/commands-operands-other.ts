import { posix } from 'node:path'
import type { Operand } from './commands-operands-spec.ts'
import { below, operandsBy, takingOf } from './commands-operands-spec.ts'
import type { Deed, OperandSpec } from './commands-operands-table.ts'
import { operandSpecs } from './commands-operands-table.ts'
import type { Taking } from './commands-parted.ts'
import { parted } from './commands-parted.ts'
import type { ShellWord } from './commands-words.ts'
import { filledWord, literalWord } from './commands-words.ts'

type Args = readonly ShellWord[]

/** The value behind `key=`, which the shell may fill in. */
function keyed(word: ShellWord, key: string): ShellWord | undefined {
  if (!word.start.startsWith(`${key}=`)) return undefined
  return word.value === undefined
    ? filledWord(word.text, false)
    : literalWord(word.value.slice(key.length + 1))
}

function dd(args: Args): Operand[] {
  const of = (key: string, deed: Deed) =>
    args.flatMap((word) => {
      const path = word.splits ? word : keyed(word, key)
      return path ? [{ deed, word: path }] : []
    })
  return [...of('if', 'read'), ...of('of', 'write')]
}

/** The folders it begins with stand before its first test: find(1). */
function find(args: Args): Operand[] {
  const from = args.findIndex(({ value }) => !/^-[HLP]$/.test(value ?? ''))
  const roots = from < 0 ? [] : args.slice(from)
  const end = roots.findIndex(({ start }) => /^[-(!]/.test(start))
  const deed = args.some(({ value }) => value === '-delete') ? 'both' : 'read'
  return (end < 0 ? roots : roots.slice(0, end)).map((word) => ({ deed, word }))
}

/** What a link says is meant from where the link is. */
function ln(args: Args): Operand[] {
  const operands = operandsBy(operandSpecs.get('ln') as OperandSpec, args)
  const link = operands.find(({ deed }) => deed === 'write')?.word.value
  const seen = operands.flatMap(({ deed, word: { value } }): Operand[] => {
    if (deed !== 'read' || link === undefined || value === undefined || value.startsWith('/')) return []
    return [{ deed: 'read', word: literalWord(posix.join(posix.dirname(link), value)) }]
  })
  return [...operands, ...seen]
}

const tarTakes: Taking = {
  paths: 'f C T X g file directory files-from exclude-from'.split(' '),
  values: 'F H I K L N V b exclude transform strip-components owner group mode mtime'.split(' '),
  pairs: [],
}

function tar(args: Args): Operand[] {
  const { operands, options } = parted(dashed(args), tarTakes)
  const given = (...names: string[]) => options.filter(({ name }) => names.includes(name))
  const values = (...names: string[]) => given(...names).flatMap(({ value }) => value ?? [])
  const packs = given('c', 'r', 'u', 'A', 'create', 'append', 'update', 'concatenate', 'catenate').length > 0
  const unpacks = given('x', 'extract', 'get').length > 0
  const folders = values('C', 'directory')
  const folder =
    folders.length > 1 ? filledWord(folders.map(({ text }) => text).join(' '), false) : folders[0]
  const all = (words: Args, deed: Deed) => words.map((word): Operand => ({ deed, word }))
  return [
    ...all(values('f', 'file'), packs ? 'write' : 'read'),
    ...all(values('X', 'T', 'exclude-from', 'files-from'), 'read'),
    // What they list is not to be seen here.
    ...all(
      values('T', 'files-from').map(({ text }) => filledWord(text, false)),
      packs ? 'read' : 'none',
    ),
    ...(unpacks ? all(folders, 'write') : []),
    ...all(
      operands.map((word) => below(folder, word)),
      packs ? 'read' : unpacks ? 'write' : 'none',
    ),
  ]
}

/** `tar cf a b` is `tar -c -f a b`: each letter takes its value in turn. */
function dashed(args: Args): Args {
  const [first, ...rest] = args
  if (!first?.value || !/^[a-zA-Z]+$/.test(first.value)) return args
  let next = 0
  const words = [...first.value].flatMap((letter) => {
    const value = [...tarTakes.paths, ...tarTakes.values].includes(letter) ? rest[next++] : undefined
    return [literalWord(`-${letter}`), ...(value ? [value] : [])]
  })
  return [...words, ...rest.slice(next)]
}

const curl: OperandSpec = {
  operands: 'none',
  values:
    'A C F H U X d e m r t u w x y Y z header request data data-ascii data-binary data-raw data-urlencode json form url user proxy max-time user-agent referer range retry connect-timeout write-out',
  reads: 'E K T b upload-file config cookie cert key cacert netrc-file',
  writes: 'D c o output dump-header cookie-jar output-dir trace trace-ascii stderr etag-save',
}
const wget: OperandSpec = {
  operands: 'none',
  values:
    'A D I Q R T U X e l t w header user-agent tries timeout post-data method body-data accept reject domains level',
  reads: 'i input-file post-file body-file load-cookies certificate private-key',
  writes: 'O P a o output-document directory-prefix append-output output-file save-cookies',
}

/** Sends `@file`, reads `file://…`, and keeps a page under its own name: -O of curl, and wget if nothing else is said. */
function download(spec: OperandSpec, args: Args): Operand[] {
  const { operands: urls, options } = parted(args, takingOf(spec))
  const has = (pattern: RegExp) => options.some(({ name }) => pattern.test(name))
  const keeps = spec === curl ? has(/^(?:O|remote-name(?:-all)?)$/) : !has(/^(?:O|output-document)$/)
  const sent = options
    .filter(({ name }) => /^(?:d|F|H|data(?!-raw).*|form|json|header|url)$/.test(name))
    .flatMap(({ value }) => (value ? sentFile(value) : []))
  // A `?` makes a glob of most addresses, which then finds nothing.
  const kept = urls
    .flatMap(({ value, glob, text }) => value ?? (glob === undefined ? [] : text))
    .map((url) => literalWord(posix.basename(url.replace(/[?#].*/, ''))))
  return [
    ...operandsBy(spec, args),
    ...[...sent, ...urls.flatMap(sentFile)].map((word): Operand => ({ deed: 'read', word })),
    ...(keeps ? kept : []).map((word): Operand => ({ deed: 'write', word })),
  ]
}

function sentFile({ value, text }: ShellWord): ShellWord[] {
  // Up to what the shell fills in.
  const known = value ?? text.replace(/[$`].*/s, '').replace(/["'\\]/g, '')
  const found = /^(?:[\w.-]+=)?[@<](.*)|^file:\/\/[^/]*(\/.*)/i.exec(known)
  if (value === undefined) return found || known === '' ? [filledWord(text, false)] : []
  const path = found?.[1] ?? found?.[2]
  return path ? [literalWord(path)] : []
}

/** Commands whose words have an order of their own. */
export const otherOperands: ReadonlyMap<string, (args: Args) => Operand[]> = new Map([
  ['dd', dd],
  ['find', find],
  ['ln', ln],
  ['tar', tar],
  ['bsdtar', tar],
  ['gtar', tar],
  ['curl', (args: Args) => download(curl, args)],
  ['wget', (args: Args) => download(wget, args)],
])
