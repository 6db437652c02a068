import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { access, constants, mkdir, rename, unlink } from 'node:fs/promises'
import { codeOf, named } from './failures.ts'
import type { Folder } from './folder.ts'
import { notRegular, type Place, statsOf } from './workspace.ts'

const { O_WRONLY, O_CREAT, O_EXCL } = constants

/** How a file that is not finished is called; the listings leave it out. */
export const unfinished = /^\.millrace-[0-9a-f]{24}\.tmp$/

/**
 * Puts a file in its place, whole or not at all: whoever reads it meanwhile sees the old one or the new one. Makes the folders that
 * are missing. `expected` is the file that this is an edit of: if another is there by now, nothing is changed.
 */
export async function replaceFile(
  place: Place,
  content: Buffer,
  { signal, expected }: { signal: AbortSignal; expected?: Stats },
): Promise<void> {
  if (place.missing.length === 0) return replaceIn(place.folder, place, content, signal, expected)
  const made: Folder[] = []
  try {
    let folder = place.folder
    for (const name of place.missing) {
      await makeFolder(folder, name)
      folder = await folder.open(name)
      made.push(folder)
    }
    await replaceIn(folder, place, content, signal, expected)
  } finally {
    await Promise.all(made.map((folder) => folder.close()))
  }
}

async function makeFolder(folder: Folder, name: string): Promise<void> {
  await folder.check()
  try {
    await mkdir(`${folder.at}/${name}`)
  } catch (error) {
    // Made by another call in the meantime.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

async function replaceIn(
  folder: Folder,
  { name, path, stats }: Place,
  content: Buffer,
  signal: AbortSignal,
  expected: Stats | undefined,
): Promise<void> {
  const target = `${folder.at}/${name}`
  if (stats) {
    if (!stats.isFile()) throw notRegular(path, stats)
    // Renaming needs no right to the file itself, but one who has made it read-only means it.
    await access(target, constants.W_OK)
    await folder.check(name)
  }
  // A name that nobody can have planted a link at; and O_EXCL takes nothing that is there.
  const temporary = `.millrace-${randomBytes(12).toString('hex')}.tmp`
  const from = `${folder.at}/${temporary}`
  const file = await folder.openFile(temporary, O_WRONLY | O_CREAT | O_EXCL, stats ? 0o600 : 0o666)
  try {
    await fill(file, content, stats)
    const written = await file.stat()
    if (expected) await mustBe(expected, folder, name, path)
    await folder.check()
    signal.throwIfAborted()
    await rename(from, target)
    const placed = await statsOf(folder, name)
    if (placed?.ino !== written.ino) throw interfered(path)
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
    // Only root can give a file away. Before the mode, which this would change.
    const mine = await file.stat()
    if (mine.uid !== like.uid || mine.gid !== like.gid) await file.chown(like.uid, like.gid).catch(() => {})
    await file.chmod(like.mode & 0o7777)
  }
  // Else a power cut soon after the rename may leave an empty file under the name.
  await file.sync()
}

async function mustBe(expected: Stats, folder: Folder, name: string, path: string): Promise<void> {
  const now = await statsOf(folder, name)
  const same =
    now?.ino === expected.ino &&
    now.dev === expected.dev &&
    now.size === expected.size &&
    now.mtimeMs === expected.mtimeMs
  if (!same)
    throw new Error(`${named(path)} was changed by somebody else while it was edited: read it again first.`)
}

function interfered(path: string): Error {
  return new Error(
    `${named(path)} was replaced by somebody else in the moment it was written: read it again.`,
  )
}
