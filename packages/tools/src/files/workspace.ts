import type { Stats } from 'node:fs'
import { realpathSync, statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { constants, lstat, readlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PathAccess } from 'millrace/internal'
import { invalidInput } from 'millrace/internal'
import { codeOf, inSentences, named } from './failures.ts'
import { canHold, type Folder, openRoot } from './folder.ts'
import { belowRoot, leadsOut, namesIn, parsePath, type Roots } from './path.ts'

/** Where a path has led. Nothing in it is a link, and its folders stay the same until it is let go. */
export interface Place {
  /** As it was asked for. */
  readonly asked: string
  /** Below the workspace, with `/`, no link in it; `.` for the workspace itself. */
  readonly path: string
  /** The folder it is in; if that does not exist yet, the nearest one above that does. */
  readonly folder: Folder
  /** The folders between `folder` and the file that do not exist yet. */
  readonly missing: readonly string[]
  /** `.` if it is `folder` itself. */
  readonly name: string
  /** Undefined if nothing is there. */
  readonly stats: Stats | undefined
}

export interface Workspace {
  /** Its real path. */
  readonly root: string
  /** Walks to a path and does something there. Throws a sentence if the path leads out. */
  at<T>(path: string, work: (place: Place) => Promise<T>): Promise<T>
  /** What a call would touch, for the agent's rules; nothing if the path leads nowhere, which the call itself will tell. */
  access(kind: PathAccess['kind'], path: string): Promise<readonly PathAccess[]>
}

// As many as Linux follows in one path.
const maxLinks = 40

/** Takes hold of a folder. Throws `invalid_input` if it cannot be a workspace. */
export function openWorkspace(folder: string, { hold = canHold }: { hold?: boolean } = {}): Workspace {
  const roots: Roots = { real: realFolder(folder), given: resolve(folder) }

  async function at<T>(path: string, work: (place: Place) => Promise<T>): Promise<T> {
    return inSentences(path, async () => {
      const names = parsePath(path, roots)
      const open: Folder[] = [await openRoot(roots.real, hold)]
      try {
        return await work(await walk(path, names, open, roots))
      } finally {
        await Promise.all(open.map((folder) => folder.close()))
      }
    })
  }

  return {
    root: roots.real,
    at,
    async access(kind, path) {
      try {
        return [await at(path, async (place) => ({ kind, path: place.path }))]
      } catch {
        return []
      }
    },
  }
}

/** Name by name from one open folder to the next, resolving links itself. `open` is the way so far, and closed by the caller. */
async function walk(asked: string, names: readonly string[], open: Folder[], roots: Roots): Promise<Place> {
  const ahead = [...names]
  for (let links = 0; ; ) {
    const folder = open.at(-1) as Folder
    const name = ahead.shift()
    if (name === undefined) {
      const stats = await lstat(`${folder.at}/.`)
      return { asked, path: folder.path || '.', folder, missing: [], name: '.', stats }
    }
    if (name === '..') {
      if (open.length === 1) throw leadsOut(asked)
      await open.pop()?.close()
      continue
    }
    const stats = await statsOf(folder, name)
    if (stats?.isSymbolicLink()) {
      if (++links > maxLinks) throw new Error(`${named(asked)} goes round in a circle of links.`)
      const target = await readlink(`${folder.at}/${name}`)
      const inside = target.startsWith('/') ? belowRoot(target, roots) : namesIn(target)
      if (!inside) throw leadsOut(asked)
      if (target.startsWith('/')) await Promise.all(open.splice(1).map((folder) => folder.close()))
      ahead.unshift(...inside)
      continue
    }
    if (stats && ahead.length > 0) {
      if (!stats.isDirectory())
        throw new Error(`${named(join(folder, [name]))} is not a folder, so there is nothing below it.`)
      open.push(await folder.open(name))
      continue
    }
    // `..` behind a folder that is not there comes to nothing, as everywhere.
    if (ahead.includes('..')) throw new Error(`${named(join(folder, [name]))} is not there.`)
    const way = [name, ...ahead]
    const missing = way.slice(0, -1)
    return { asked, path: join(folder, way), folder, missing, name: way.at(-1) ?? name, stats }
  }
}

export async function statsOf(folder: Folder, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(`${folder.at}/${name}`)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Opens the file at a place to be read. Throws a sentence if it is not a regular file. */
export async function openPlace({ folder, name, path }: Place): Promise<{ file: FileHandle; stats: Stats }> {
  const file = await folder.openFile(name, constants.O_RDONLY)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw notRegular(path, stats)
    return { file, stats }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** A pipe would wait for its other end, and a device may do anything. */
export function notRegular(path: string, stats: Stats): Error {
  const what = stats.isDirectory()
    ? 'a folder'
    : stats.isFIFO()
      ? 'a pipe'
      : stats.isSocket()
        ? 'a socket'
        : stats.isSymbolicLink()
          ? 'a link'
          : 'a device'
  return new Error(`${named(path)} is ${what}, not a regular file: only those can be read or written.`)
}

function join(folder: Folder, names: readonly string[]): string {
  return [...(folder.path ? [folder.path] : []), ...names].join('/')
}

function realFolder(folder: string): string {
  const op = 'files'
  if (process.platform === 'win32')
    throw invalidInput(
      op,
      'files() cannot keep to its workspace on Windows: run it on Linux, macOS or in WSL',
    )
  try {
    const real = realpathSync.native(folder)
    if (statSync(real).isDirectory()) return real
  } catch (cause) {
    throw invalidInput(
      op,
      `files(): the workspace '${folder}' cannot be opened: make the folder first`,
      cause,
    )
  }
  throw invalidInput(op, `files(): the workspace '${folder}' is not a folder`)
}
