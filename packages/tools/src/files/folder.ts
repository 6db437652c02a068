import { existsSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { constants, lstat, open, realpath } from 'node:fs/promises'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants

/** A folder inside the workspace that a walk has come to, without a link on the way. */
export interface Folder {
  /** Leads to it, for functions of `node:fs`: `${at}/name` is a thing directly in it. */
  readonly at: string
  /** Below the workspace, with `/`; empty for the workspace itself. */
  readonly path: string
  /** Opens a folder directly in it. Fails if that is a link. */
  open(name: string): Promise<Folder>
  /** Opens a file directly in it, never through a link, and without waiting for whoever is at the other end of a pipe. */
  openFile(name: string, flags: number, mode?: number): Promise<FileHandle>
  /** Fails if the folder, or a thing directly in it, is not where it was found any more. */
  check(name?: string): Promise<void>
  close(): Promise<void>
}

/** Linux names every open handle, and a path that begins with one goes on from there, whatever is renamed meanwhile. */
export const canHold = process.platform === 'linux' && existsSync('/proc/self/fd')

/** Opens the workspace itself. `hold` keeps each folder by its handle; without, every use is checked after the fact. */
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
  // Also where case does not count: rules are about the one real name of a thing.
  const check = async (name?: string) => {
    const expected = name === undefined ? at : inside(name)
    if ((await realpath(expected)) !== expected) throw moved()
  }
  await check()
  if (!(await lstat(at)).isDirectory()) throw moved()
  return {
    at,
    path,
    open: (name) => plainFolder(inside(name), below(path, name)),
    async openFile(name, flags, mode) {
      const file = inside(name)
      const handle = await open(file, flags | O_NOFOLLOW | O_NONBLOCK, mode)
      try {
        // What was opened is what lies there by its real path: had a folder on the way been a link, this would be another file.
        await check(name)
        const [opened, found] = await Promise.all([handle.stat(), lstat(file)])
        if (opened.ino !== found.ino || opened.dev !== found.dev) throw moved()
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

function moved(): Error {
  return new Error(
    'It was changed by somebody else in that moment, or its name is written in another way: look with list_files and try again.',
  )
}

function below(path: string, name: string): string {
  return path === '' ? name : `${path}/${name}`
}
