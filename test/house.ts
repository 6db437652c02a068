import { posix } from 'node:path'
import { type Import, importsOf } from './imports.ts'

/** Paths like `src/agent/loop.ts` and what the files say. */
export type Tree = ReadonlyMap<string, string>

/** In order: a room imports from the rooms before it, never from those after it. */
const rooms = [
  'protocol',
  'view',
  'log',
  'models',
  'tools',
  'agent',
  'threads',
  'channels',
  'protocols',
  'client',
  'server',
  'telemetry',
  'testing',
  'cli',
]

/** Files that are doors of the package, and so of their room too. */
const furtherDoors = [
  'src/view/markdown/index.ts',
  'src/models/openai.ts',
  'src/models/anthropic.ts',
  'src/models/ai-sdk.ts',
  'src/tools/built-in.ts',
  'src/tools/mcp.ts',
  'src/log/sqlite.ts',
  'src/protocols/attach-socket.ts',
  'src/channels/voice.ts',
  'src/server/mcp.ts',
  'src/telemetry/otel.ts',
]

const notForFrontDoors = ['testing', 'cli']
const drawers = ['utils', 'helpers', 'common', 'lib']

/** One line for each broken rule of the house, naming the file, the import and the rule. */
export function faultsOf(tree: Tree): string[] {
  const shipped = [...tree].filter(([path]) => !isTest(path))
  return [
    ...folderFaults([...tree.keys()]),
    ...shipped.flatMap(([path, source]) => importsOf(source).flatMap((one) => importFaults(path, one))),
    ...cycleFaults(new Map(shipped)),
  ]
}

function isTest(path: string): boolean {
  return /\.test(-kit)?\.ts$/.test(path)
}

/** The folder directly below `src`; undefined for the front doors of the package, which lie in `src` itself. */
function roomOf(path: string): string | undefined {
  const [, room, inside] = path.split('/')
  return inside === undefined ? undefined : room
}

function folderFaults(paths: readonly string[]): string[] {
  const faults = new Set<string>()
  for (const path of paths) {
    const room = roomOf(path)
    if (room !== undefined && !rooms.includes(room)) {
      faults.add(`src/${room}: the folder is not a room; the rooms are ${rooms.join(', ')}`)
    }
    const folders = posix.dirname(path).split('/')
    folders.forEach((name, depth) => {
      if (!drawers.includes(name)) return
      faults.add(`${folders.slice(0, depth + 1).join('/')}: a folder is named for what it holds, not ${name}`)
    })
  }
  return [...faults]
}

function importFaults(path: string, { specifier, typeOnly, star }: Import): string[] {
  const fault = (rule: string) => [`${path} imports '${specifier}': ${rule}`]
  const from = roomOf(path)
  const starFaults =
    star && (from === undefined || posix.basename(path) === 'index.ts')
      ? [`${path} has \`export *\` from '${specifier}': a front door names what it exports`]
      : []
  if (specifier === 'millrace' || specifier.startsWith('millrace/')) {
    return fault('inside the house we import files, not the package by its own name')
  }
  if (!specifier.startsWith('.')) {
    return from === 'protocol' && !typeOnly ? fault('protocol imports no package at run time') : starFaults
  }

  const target = targetOf(path, specifier)
  if (!target.startsWith('src/')) return starFaults
  const to = roomOf(target)
  if (isTest(target)) return fault('what is shipped does not import tests')
  if (from === to) return starFaults
  return [
    ...directionFaults(from, to).flatMap(fault),
    ...doorFaults(to, target).flatMap(fault),
    ...starFaults,
  ]
}

function directionFaults(from: string | undefined, to: string | undefined): string[] {
  if (from === undefined) {
    return to !== undefined && notForFrontDoors.includes(to)
      ? [`a front door of the package imports neither ${notForFrontDoors.join(' nor ')}`]
      : []
  }
  if (to === undefined) return [`${from} is a room, and rooms do not import the front doors of the package`]
  if (from === 'protocol') return ['protocol imports nothing of ours']
  if (from === 'client' || from === 'view') return to === 'protocol' ? [] : [`${from} imports only protocol`]
  return rooms.indexOf(to) < rooms.indexOf(from)
    ? []
    : [`${from} imports only from rooms before it, and ${to} is after`]
}

function doorFaults(to: string | undefined, target: string): string[] {
  return to === undefined || target === `src/${to}/index.ts` || furtherDoors.includes(target)
    ? []
    : [`another room is entered by its front door, src/${to}/index.ts`]
}

function targetOf(path: string, specifier: string): string {
  return posix.join(posix.dirname(path), specifier)
}

/** Each cycle once, as it is met: types count too, since two files that need each other's types are one file. */
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
