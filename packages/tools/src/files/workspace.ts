import type { Stats } from 'node:fs'
import { realpathSync, statSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { constants, lstat, readlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { PathAccess } from 'millrace/internal'
import { invalidInput } from 'millrace/internal'
import { codeOf, explainErrors, quotedPath } from './failures.ts'
import { canHold, type Folder, openRoot } from './folder.ts'
import { belowRoot, namesIn, outsideWorkspace, parsePath, type Roots } from './path.ts'

/** A resolved path without links. Its folders cannot be exchanged while it is in use. */
export interface ResolvedPath {
  /** The path as requested. */
  readonly asked: string
  /** Relative to the workspace, with `/`, without links; `.` for the workspace itself. */
  readonly path: string
  /** Its folder; if that does not exist yet, the nearest existing parent. */
  readonly folder: Folder
  /** The folders between `folder` and the file that do not exist yet. */
  readonly missing: readonly string[]
  /** `.` if it is `folder` itself. */
  readonly name: string
  /** Undefined if it does not exist. */
  readonly stats: Stats | undefined
}

export interface Workspace {
  /** The workspace's real path. */
  readonly root: string
  /**
   * Resolves a path and calls `work` with it. Throws an explanation if the path is outside the
   * workspace.
   */
  at<T>(path: string, work: (resolved: ResolvedPath) => Promise<T>): Promise<T>
  /**
   * What a call would access, for permission rules; empty for an invalid path, which the call
   * itself reports.
   */
  access(kind: PathAccess['kind'], path: string): Promise<readonly PathAccess[]>
  /**
   * The absolute path to show for a path that is not checked yet, in a list; empty if it is outside
   * the workspace.
   */
  shown(path: string): readonly string[]
}

// The limit of Linux for one path.
const maxLinks = 40

/** Opens a workspace. Throws `invalid_input` if the folder cannot be used. */
export function openWorkspace(folder: string, { hold = canHold }: { hold?: boolean } = {}): Workspace {
  const roots: Roots = { real: realFolder(folder), given: resolve(folder) }

  async function at<T>(path: string, work: (resolved: ResolvedPath) => Promise<T>): Promise<T> {
    return explainErrors(path, async () => {
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
        return [await at(path, async (resolved) => ({ kind, path: resolved.path }))]
      } catch {
        return []
      }
    },
    shown(path) {
      try {
        const shown = resolve(roots.real, ...parsePath(path, roots))
        return belowRoot(shown, roots) ? [shown] : []
      } catch {
        return []
      }
    },
  }
}

/**
 * Walks from one open folder to the next and resolves links itself. `open` is the path so far,
 * closed by the caller.
 */
async function walk(
  asked: string,
  names: readonly string[],
  open: Folder[],
  roots: Roots,
): Promise<ResolvedPath> {
  const ahead = [...names]
  for (let links = 0; ; ) {
    const folder = open.at(-1) as Folder
    const name = ahead.shift()
    if (name === undefined) {
      const stats = await lstat(`${folder.at}/.`)
      return { asked, path: folder.path || '.', folder, missing: [], name: '.', stats }
    }
    if (name === '..') {
      if (open.length === 1) throw outsideWorkspace(asked)
      await open.pop()?.close()
      continue
    }
    const stats = await statsOf(folder, name)
    if (stats?.isSymbolicLink()) {
      if (++links > maxLinks) throw new Error(`${quotedPath(asked)} is a loop of links.`)
      const target = await readlink(`${folder.at}/${name}`)
      const inside = target.startsWith('/') ? belowRoot(target, roots) : namesIn(target)
      if (!inside) throw outsideWorkspace(asked)
      if (target.startsWith('/')) await Promise.all(open.splice(1).map((folder) => folder.close()))
      ahead.unshift(...inside)
      continue
    }
    if (stats && ahead.length > 0) {
      if (!stats.isDirectory()) throw new Error(`${quotedPath(join(folder, [name]))} is not a folder.`)
      open.push(await folder.open(name))
      continue
    }
    // `..` after a missing folder is an error, as in the operating system.
    if (ahead.includes('..')) throw new Error(`${quotedPath(join(folder, [name]))} does not exist.`)
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

/** Opens a file for reading. Throws an explanation if it is not a regular file. */
export async function openResolved({
  folder,
  name,
  path,
}: ResolvedPath): Promise<{ file: FileHandle; stats: Stats }> {
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

/** Reading a pipe could block, and a device may do anything. */
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
  return new Error(
    `${quotedPath(path)} is ${what}, not a regular file: only regular files can be read or written.`,
  )
}

function join(folder: Folder, names: readonly string[]): string {
  return [...(folder.path ? [folder.path] : []), ...names].join('/')
}

function realFolder(folder: string): string {
  const op = 'files'
  if (process.platform === 'win32')
    throw invalidInput(
      op,
      'files() cannot confine access to its workspace on Windows: use Linux, macOS or WSL',
    )
  try {
    const real = realpathSync.native(folder)
    if (statSync(real).isDirectory()) return real
  } catch (cause) {
    throw invalidInput(
      op,
      `files(): the workspace '${folder}' cannot be opened: create the folder first`,
      cause,
    )
  }
  throw invalidInput(op, `files(): the workspace '${folder}' is not a folder`)
}
