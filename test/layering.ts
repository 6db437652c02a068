import { posix } from 'node:path'
import { type Import, importsOf } from './imports.ts'

/** Paths like `packages/millrace/src/agent/loop.ts` with their contents. */
export type Tree = ReadonlyMap<string, string>

/** The entry points of each package. */
export type EntryPoints = Readonly<Record<string, readonly string[]>>

/**
 * The folders of `millrace`, in order: each imports from those before it, never from those after
 * it.
 */
const layers = [
  'protocol',
  'view',
  'log',
  'models',
  'tools',
  'agent',
  'threads',
  'protocols',
  'client',
  'server',
  'telemetry',
  'testing',
  'cli',
]

/** Entry points of the package inside a folder, which may be imported from outside of it. */
const furtherEntries = [
  'view/markdown/index',
  'models/openai',
  'models/anthropic',
  'models/ai-sdk',
  'log/sqlite',
  'protocols/attach-socket',
].map((path) => `packages/millrace/src/${path}.ts`)

const notForEntries = ['testing', 'cli']
const vagueNames = ['utils', 'helpers', 'common', 'lib']

/** One line for each broken rule, naming the file, the import and the rule. */
export function faultsOf(tree: Tree, entries: EntryPoints): string[] {
  const shipped = [...tree].filter(([path]) => !isTest(path))
  return [
    ...folderFaults([...tree.keys()]),
    ...shipped.flatMap(([path, source]) =>
      importsOf(source).flatMap((one) => importFaults(path, one, entries)),
    ),
    // The components of the page may import one another.
    ...cycleFaults(new Map(shipped.filter(([path]) => !path.startsWith('packages/inspector/')))),
  ]
}

function isTest(path: string): boolean {
  return /\.test(-kit)?\.tsx?$/.test(path)
}

function packageOf(path: string): string {
  return path.split('/')[1] ?? ''
}

/** The name of the package in a folder. */
function nameOf(folder: string): string {
  return folder === 'millrace' ? folder : `@millrace/${folder}`
}

/**
 * The folder of `millrace` directly below `src`; undefined in other packages, and for files in
 * `src` itself.
 */
function layerOf(path: string): string | undefined {
  const [, folder, , layer, inside] = path.split('/')
  return folder === 'millrace' && inside !== undefined ? layer : undefined
}

function folderFaults(paths: readonly string[]): string[] {
  const faults = new Set<string>()
  for (const path of paths) {
    const layer = layerOf(path)
    if (layer !== undefined && !layers.includes(layer)) {
      faults.add(`packages/millrace/src/${layer}: not a layer; the layers are ${layers.join(', ')}`)
    }
    const folders = posix.dirname(path).split('/')
    folders.forEach((name, depth) => {
      if (!vagueNames.includes(name)) return
      faults.add(`${folders.slice(0, depth + 1).join('/')}: name a folder for what it contains, not ${name}`)
    })
  }
  return [...faults]
}

function importFaults(path: string, one: Import, entries: EntryPoints): string[] {
  const { specifier, typeOnly, star } = one
  const fault = (rule: string) => [`${path} imports '${specifier}': ${rule}`]
  const from = layerOf(path)
  const starFaults =
    star && posix.basename(path) === 'index.ts'
      ? [`${path} has \`export *\` from '${specifier}': an entry point names what it exports`]
      : []
  if (/^(millrace|@millrace\/)/.test(specifier)) return packageFaults(path, one, entries).flatMap(fault)
  if (!specifier.startsWith('.'))
    return from === 'protocol' && !typeOnly ? fault('protocol imports no package at run time') : starFaults

  const target = targetOf(path, specifier)
  if (packageOf(target) !== packageOf(path))
    return fault('another package is imported by its name, not by a path')
  if (isTest(target)) return fault('published code does not import tests')
  const to = layerOf(target)
  if (packageOf(path) !== 'millrace' || from === to) return starFaults
  return [
    ...directionFaults(from, to).flatMap(fault),
    ...entryFaults(to, target).flatMap(fault),
    ...starFaults,
  ]
}

function packageFaults(
  path: string,
  { specifier, typeOnly, dynamic }: Import,
  entries: EntryPoints,
): string[] {
  const own = packageOf(path)
  const [name = ''] = /^(@millrace\/[^/]+|millrace)/.exec(specifier) ?? []
  if (name === nameOf(own)) return ['inside a package files are imported, not the package by its own name']
  if (!entries[name]?.includes(specifier)) return ['not an entry point of a package']
  if (name === 'millrace') return []
  if (own === 'millrace' && layerOf(path) === 'cli' && (typeOnly || dynamic)) return []
  return own === 'millrace'
    ? ['millrace loads other packages only on demand, from cli']
    : ['a package imports only millrace']
}

function directionFaults(from: string | undefined, to: string | undefined): string[] {
  if (from === undefined) {
    return to !== undefined && notForEntries.includes(to)
      ? [`an entry point of the package imports neither ${notForEntries.join(' nor ')}`]
      : []
  }
  if (to === undefined)
    return [`${from} is a layer, and layers do not import the entry points of the package`]
  if (from === 'protocol') return ['protocol imports no other layer']
  if (from === 'client' || from === 'view') return to === 'protocol' ? [] : [`${from} imports only protocol`]
  return layers.indexOf(to) < layers.indexOf(from)
    ? []
    : [`${from} imports only from layers before it, and ${to} is after`]
}

function entryFaults(to: string | undefined, target: string): string[] {
  const index = `packages/millrace/src/${to}/index.ts`
  return to === undefined || target === index || furtherEntries.includes(target)
    ? []
    : [`another layer is imported through its ${index}`]
}

function targetOf(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier)
}

/** Each cycle once. Types count too: two files that need each other's types belong together. */
function cycleFaults(tree: Tree): string[] {
  const faults: string[] = []
  const done = new Set<string>()
  const trail: string[] = []

  const visit = (path: string) => {
    const source = tree.get(path)
    if (source === undefined || done.has(path)) return
    const met = trail.indexOf(path)
    if (met !== -1) {
      faults.push(`${[...trail.slice(met), path].join(' imports ')}: files do not import in a circle`)
      return
    }
    trail.push(path)
    const targets = importsOf(source)
      .filter(({ specifier }) => specifier.startsWith('.'))
      .map(({ specifier }) => targetOf(path, specifier))
    for (const target of new Set(targets)) visit(target)
    trail.pop()
    done.add(path)
  }

  for (const path of tree.keys()) visit(path)
  return faults
}
