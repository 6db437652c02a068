import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { access, constants, mkdir, rename, unlink } from 'node:fs/promises'
import { codeOf, quotedPath } from './failures.ts'
import type { Folder } from './folder.ts'
import { notRegular, type ResolvedPath, statsOf } from './workspace.ts'

const { O_WRONLY, O_CREAT, O_EXCL } = constants

/** Names of unfinished temporary files, which listings skip. */
export const unfinished = /^\.millrace-[0-9a-f]{24}\.tmp$/

/**
 * Replaces a file atomically: readers see the old or the new content. Creates missing folders.
 * `expected` is the file that was edited: if it has changed in the meantime, nothing is written.
 */
export async function replaceFile(
  resolved: ResolvedPath,
  content: Buffer,
  { signal, expected }: { signal: AbortSignal; expected?: Stats },
): Promise<void> {
  await prepareFolder(resolved, (folder) => replaceIn(folder, resolved, content, signal, expected))
}

/**
 * Calls `work` with the folder of a file that may be written. Creates missing folders. Throws if an
 * existing file must not be replaced.
 */
export async function prepareFolder(
  resolved: ResolvedPath,
  work: (folder: Folder) => Promise<void>,
): Promise<void> {
  const { name, path, stats } = resolved
  if (stats) {
    if (!stats.isFile()) throw notRegular(path, stats)
    // A rename would not need write permission for the file itself, but a read-only file is meant
    // to stay unchanged.
    await access(`${resolved.folder.at}/${name}`, constants.W_OK)
    await resolved.folder.check(name)
  }
  const created: Folder[] = []
  try {
    let folder = resolved.folder
    for (const name of resolved.missing) {
      await createFolder(folder, name)
      folder = await folder.open(name)
      created.push(folder)
    }
    await work(folder)
  } finally {
    await Promise.all(created.map((folder) => folder.close()))
  }
}

async function createFolder(folder: Folder, name: string): Promise<void> {
  await folder.check()
  try {
    await mkdir(`${folder.at}/${name}`)
  } catch (error) {
    // Created by another call in the meantime.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

async function replaceIn(
  folder: Folder,
  { name, path, stats }: ResolvedPath,
  content: Buffer,
  signal: AbortSignal,
  expected: Stats | undefined,
): Promise<void> {
  const target = `${folder.at}/${name}`
  // A random name, at which no link can have been planted; O_EXCL fails if it exists.
  const temporary = `.millrace-${randomBytes(12).toString('hex')}.tmp`
  const from = `${folder.at}/${temporary}`
  const file = await folder.openFile(temporary, O_WRONLY | O_CREAT | O_EXCL, stats ? 0o600 : 0o666)
  try {
    await fill(file, content, stats)
    const written = await file.stat()
    if (expected) await checkUnchanged(expected, folder, name, path)
    await folder.check()
    signal.throwIfAborted()
    await rename(from, target)
    const placed = await statsOf(folder, name)
    if (placed?.ino !== written.ino) throw replacedByOther(path)
  } catch (error) {
    await unlink(from).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
}

async function fill(file: FileHandle, content: Buffer, like: Stats | undefined): Promise<void> {
  await file.writeFile(content)
  if (like) {
    // Only root can change the owner. Done before chmod, since chown can reset mode bits.
    const mine = await file.stat()
    if (mine.uid !== like.uid || mine.gid !== like.gid) await file.chown(like.uid, like.gid).catch(() => {})
    await file.chmod(like.mode & 0o7777)
  }
  // Otherwise a power failure soon after the rename may leave an empty file.
  await file.sync()
}

async function checkUnchanged(expected: Stats, folder: Folder, name: string, path: string): Promise<void> {
  const now = await statsOf(folder, name)
  const same =
    now?.ino === expected.ino &&
    now.dev === expected.dev &&
    now.size === expected.size &&
    now.mtimeMs === expected.mtimeMs
  if (!same)
    throw new Error(
      `${quotedPath(path)} was changed by another process during the edit: read it again first.`,
    )
}

function replacedByOther(path: string): Error {
  return new Error(`${quotedPath(path)} was replaced by another process while it was written: read it again.`)
}
