import { randomUUID } from 'node:crypto'
import { readFile, stat, unlink, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename } from 'node:path'
import { MillraceError } from 'millrace'
import { sleep, systemClock } from 'millrace/internal'

/** A lock is held for as long as it takes to write a small file; one this old was left behind. */
const staleMs = 10_000
const waitMs = 30_000

/**
 * Does something while no other process does it under the same lock, a file beside the one it is about. A lock whose process is gone
 * is taken over. `held` tells whether it still is ours: a process that was stopped for long may have been given up.
 */
export async function underLock<Value>(
  lock: string,
  work: (held: () => Promise<boolean>) => Promise<Value>,
): Promise<Value> {
  const mark = `${hostname()} ${process.pid} ${randomUUID()}`
  await acquire(lock, mark)
  const held = async () => (await contentOf(lock)) === mark
  try {
    return await work(held)
  } finally {
    if (await held()) await unlink(lock).catch(() => {})
  }
}

async function acquire(lock: string, mark: string): Promise<void> {
  const until = systemClock.now() + waitMs
  while (!(await made(lock, mark))) {
    const seen = await contentOf(lock)
    if (seen !== undefined && (await isStale(lock, seen))) await takeAway(lock, seen)
    else if (systemClock.now() > until)
      throw new MillraceError({
        op: 'permissionFile.add',
        code: 'store_error',
        message: `other processes have kept the lock '${basename(lock)}' for too long: try again, or remove it if nobody uses it`,
      })
    else await sleep(2 + Math.random() * 8, { clock: systemClock })
  }
}

/** False if there is one already. */
async function made(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

/** Only one process at a time takes a stale lock away, or the second would take the first one's new lock. */
async function takeAway(lock: string, seen: string): Promise<void> {
  const guard = `${lock}.stale`
  if (!(await made(guard, ''))) {
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
    // EPERM: it is there, and somebody else's.
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
