import { randomUUID } from 'node:crypto'
import { readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename } from 'node:path'
import { MillraceError } from 'millrace'
import { sleep, systemClock } from 'millrace/internal'

/** A lock is held only while a small file is written, so a lock this old was abandoned. */
const staleMs = 10_000
const waitMs = 30_000

/**
 * Runs `work` while holding a lock file. Takes over a lock whose process no longer exists. `held`
 * returns whether the lock is still ours: another process may have taken it over if this one was
 * suspended for long.
 */
export async function withLock<Value>(
  lock: string,
  work: (held: () => Promise<boolean>) => Promise<Value>,
): Promise<Value> {
  const token = `${hostname()} ${process.pid} ${randomUUID()}`
  await acquire(lock, token)
  const isHeld = async () => (await contentOf(lock)) === token
  try {
    return await work(isHeld)
  } finally {
    if (await isHeld()) await unlink(lock).catch(() => {})
  }
}

async function acquire(lock: string, mark: string): Promise<void> {
  const until = systemClock.now() + waitMs
  while (!(await createFile(lock, mark))) {
    const seen = await contentOf(lock)
    if (seen !== undefined && (await isStale(lock, seen))) await removeStale(lock, seen)
    else if (systemClock.now() > until)
      throw new MillraceError({
        op: 'permissionFile.add',
        code: 'store_error',
        message: `timed out waiting for the lock '${basename(lock)}', held by another process: try again, or remove the file if no process uses it`,
      })
    else await sleep(2 + Math.random() * 8, { clock: systemClock })
  }
}

/** Returns false if the file already exists. */
async function createFile(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

/**
 * Only one process at a time removes a stale lock: a second one would remove the new lock of the
 * first.
 */
async function removeStale(lock: string, seen: string): Promise<void> {
  const guard = `${lock}.stale`
  if (!(await createFile(guard, ''))) {
    if (await isOld(guard)) await unlink(guard).catch(() => {})
    return
  }
  try {
    if ((await contentOf(lock)) === seen) await unlink(lock).catch(() => {})
  } finally {
    await unlink(guard).catch(() => {})
  }
}

async function isStale(lock: string, seen: string): Promise<boolean> {
  const [host, pid] = seen.split(' ')
  return (host === hostname() && isGone(Number(pid))) || isOld(lock)
}

function isGone(pid: number): boolean {
  try {
    return Number.isInteger(pid) && !process.kill(pid, 0)
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return isCode(error, 'ESRCH')
  }
}

async function isOld(file: string): Promise<boolean> {
  const info = await stat(file).catch(() => undefined)
  return info !== undefined && Math.abs(Date.now() - info.mtimeMs) > staleMs
}

async function contentOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

export function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
