import { existsSync, fstatSync, lstatSync, realpathSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { constants, lstat, open, realpath } from 'node:fs/promises'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/** A folder inside the workspace, reached without following links. */
export interface Folder {
  /** A path to it for `node:fs`: `${at}/name` is a direct child. */
  readonly at: string
  /** Relative to the workspace, with `/`; empty for the workspace itself. */
  readonly path: string
  /** Opens a direct subfolder. Fails if it is a link. */
  open(name: string): Promise<Folder>
  /** Opens a file directly in it. Never follows a link, and never blocks on a named pipe. */
  openFile(name: string, flags: number, mode?: number): Promise<FileHandle>
  /** Fails if the folder, or a direct child, is no longer where it was found. */
  check(name?: string): Promise<void>
  close(): Promise<void>
}

/**
 * Linux has a path for every open handle. Paths that start with it are resolved from that folder, even
 * if folders are renamed meanwhile.
 */
export const canHold = process.platform === 'linux' && existsSync('/proc/self/fd')

/**
 * Opens the workspace. `hold` keeps an open handle for each folder; without it, every use is
 * checked afterwards.
 */
export function openRoot(real: string, hold: boolean): Promise<Folder> {
  return hold ? heldFolder(real, '') : plainFolder(real, '')
}

async function heldFolder(from: string, path: string): Promise<Folder> {
  const handle = await open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  const at = `/proc/self/fd/${handle.fd}`
  return {
    at,
    path,
    open: (name) => heldFolder(`${at}/${name}`, below(path, name)),
    openFile: (name, flags, mode) => open(`${at}/${name}`, flags | O_NOFOLLOW | O_NONBLOCK, mode),
    check: async () => {},
    close: () => handle.close(),
  }
}

async function plainFolder(at: string, path: string): Promise<Folder> {
  const inside = (name: string) => (at === '/' ? `/${name}` : `${at}/${name}`)
  // Also on case-insensitive file systems: rules apply to the real name.
  const check = async (name?: string) => {
    const expected = name === undefined ? at : inside(name)
    if ((await realpath(expected)) !== expected) throw changedMeanwhile()
  }
  await check()
  if (!(await lstat(at)).isDirectory()) throw changedMeanwhile()
  return {
    at,
    path,
    open: (name) => plainFolder(inside(name), below(path, name)),
    async openFile(name, flags, mode) {
      const file = inside(name)
      const handle = await open(file, flags | O_NOFOLLOW | O_NONBLOCK, mode)
      try {
        verifyOpened(handle, file)
        return handle
      } catch (error) {
        await handle.close()
        throw error
      }
    },
    check,
    close: async () => {},
  }
}

/**
 * Fails unless the opened file is the one at `path`, and no link leads there. No single call answers
 * both, so another process that swaps a link could pass each check in turn. The checks are therefore
 * synchronous, with microseconds between them, and repeated: every swap would have to hit one gap.
 */
function verifyOpened(handle: FileHandle, path: string): void {
  const opened = fstatSync(handle.fd)
  for (let round = 0; round < 4; round++) {
    if (realpathSync.native(path) !== path) throw changedMeanwhile()
    const found = lstatSync(path)
    if (opened.ino !== found.ino || opened.dev !== found.dev) throw changedMeanwhile()
  }
}

function changedMeanwhile(): Error {
  return new Error(
    'It was changed by another process at the same time, or its name is spelled differently: check with list_files and try again.',
  )
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`
}
