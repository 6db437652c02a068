import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Exchange } from '../protocol/index.ts'
import { isObject, upgradeExchange } from '../protocol/index.ts'
import type { ExchangeStore } from '../threads/index.ts'

// Each thread has a folder, with one file per model call: `<run>.<round>.<attempt>.json`. Other
// files are never touched.

const folderName = /-[0-9a-f]{24}$/
const fileName = /-[0-9a-f]{24}\.\d+\.\d+(\.json|\.[0-9a-f-]{36}\.tmp)$/

/**
 * The share of `maxBytes` that is removed in addition when the folder is full. Up to this much is
 * written before its size is measured again.
 */
const slack = 1 / 16

export function exchangeFiles(path: string, maxBytes: number): ExchangeStore {
  const root = resolve(path)
  /** How many bytes may be written before the folder is measured again. */
  let bytesLeft = 0
  let pruning: Promise<void> | undefined

  async function prune(): Promise<void> {
    const files = (await filesIn(root)).sort((one, other) => one.at - other.at)
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
    const target = total > maxBytes ? maxBytes * (1 - slack) : maxBytes
    const emptied = new Set<string>()
    for (const { path, bytes } of files) {
      if (total <= target) break
      await rm(path, { force: true })
      emptied.add(dirname(path))
      total -= bytes
    }
    // Fails for a folder that is not empty, which stays.
    for (const folder of emptied) await rmdir(folder).catch(() => {})
    // Other processes may write to the folder too, so it is measured again before long.
    bytesLeft = Math.min(maxBytes - total, maxBytes * slack)
  }

  return {
    async put(threadId, exchange) {
      const { runId, round, attempt } = exchange
      const folder = join(root, nameFor(threadId))
      const json = JSON.stringify(exchange)
      const write = () => writeAtomically(folder, `${nameFor(runId)}.${round}.${attempt}`, json)
      // `prune` may remove the folder, which is still empty, right after it was created.
      await write().catch((error: unknown) => (isMissing(error) ? write() : Promise.reject(error)))
      bytesLeft -= Buffer.byteLength(json)
      if (bytesLeft >= 0) return
      pruning ??= prune().finally(() => {
        pruning = undefined
      })
      await pruning
    },
    async rounds(threadId, runId) {
      const start = `${nameFor(runId)}.`
      const names = (await namesIn(join(root, nameFor(threadId)))).filter((name) => name.startsWith(start))
      return names.map((name) => Number.parseInt(name.slice(start.length), 10))
    },
    async read(threadId, runId, round) {
      const folder = join(root, nameFor(threadId))
      const start = `${nameFor(runId)}.${round === undefined ? '' : `${round}.`}`
      const names = (await namesIn(folder)).filter((name) => name.startsWith(start) && name.endsWith('.json'))
      const found: Exchange[] = []
      // One at a time: each may be large.
      for (const name of names) {
        const exchange = await readExchange(join(folder, name))
        if (exchange) found.push(exchange)
      }
      return found
    },
    async delete(threadId) {
      await rm(join(root, nameFor(threadId)), { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/**
 * Includes a digest, since some file systems ignore case. The prefix is for people who look at the
 * folder.
 */
function nameFor(id: string): string {
  const prefix = id
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '_')
    .slice(0, 40)
  return `${prefix}-${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}

/** A reader never sees a partial file, even after a crash. Only the owner can read it. */
async function writeAtomically(folder: string, name: string, json: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const temporary = join(folder, `${name}.${randomUUID()}.tmp`)
  try {
    await writeFile(temporary, json, { mode: 0o600 })
    await rename(temporary, join(folder, `${name}.json`))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

/**
 * Undefined if the file was deleted or is not an exchange: one bad file must not hide the others.
 */
async function readExchange(path: string): Promise<Exchange | undefined> {
  const text = await readFile(path, 'utf8').catch(unlessMissing('null'))
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? upgradeExchange(value as unknown as Exchange) : undefined
  } catch {
    return undefined
  }
}

interface StoredFile {
  readonly path: string
  readonly bytes: number
  readonly at: number
}

/** All files of this store, including temporary files left behind by a process that died. */
async function filesIn(root: string): Promise<StoredFile[]> {
  const found: StoredFile[] = []
  for (const folder of (await namesIn(root)).filter((name) => folderName.test(name))) {
    const names = (await namesIn(join(root, folder))).filter((name) => fileName.test(name))
    const paths = names.map((name) => join(root, folder, name))
    const files = await Promise.all(
      paths.map(async (path) => {
        const stats = await stat(path).catch(unlessMissing(undefined))
        return stats ? [{ path, bytes: stats.size, at: stats.mtimeMs }] : []
      }),
    )
    found.push(...files.flat())
  }
  return found
}

function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(unlessMissing([]))
}

function unlessMissing<Value>(instead: Value) {
  return (error: unknown): Value => {
    if (isMissing(error)) return instead
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return isObject(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
