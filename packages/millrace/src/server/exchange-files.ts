import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Exchange } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'
import type { ExchangeStore } from '../threads/index.ts'

// A folder for each thread, and in it a file for each call: `<run>.<round>.<attempt>.json`. Whatever else lies there is left alone.

const folderName = /-[0-9a-f]{24}$/
const fileName = /-[0-9a-f]{24}\.\d+\.\d+(\.json|\.[0-9a-f-]{36}\.tmp)$/

/** When there is too much, a little more than that is removed, and so much is written before anybody looks again. */
const spare = 1 / 16

export function exchangeFiles(path: string, maxBytes: number): ExchangeStore {
  const root = resolve(path)
  /** What may be written before somebody has to look how much there is: not known at first. */
  let room = 0
  let tidying: Promise<void> | undefined

  async function tidy(): Promise<void> {
    const files = (await filesIn(root)).sort((one, other) => one.at - other.at)
    let total = files.reduce((sum, { bytes }) => sum + bytes, 0)
    const most = total > maxBytes ? maxBytes * (1 - spare) : maxBytes
    const emptied = new Set<string>()
    for (const { path, bytes } of files) {
      if (total <= most) break
      await rm(path, { force: true })
      emptied.add(dirname(path))
      total -= bytes
    }
    // One that still has something in it stays.
    for (const folder of emptied) await rmdir(folder).catch(() => {})
    // Others may write as well: nobody goes on for long without looking.
    room = Math.min(maxBytes - total, maxBytes * spare)
  }

  return {
    async put(threadId, exchange) {
      const { runId, round, attempt } = exchange
      const folder = join(root, nameFor(threadId))
      const json = JSON.stringify(exchange)
      const write = () => writeWhole(folder, `${nameFor(runId)}.${round}.${attempt}`, json)
      // The folder may have been removed, as empty, in the moment after it was made.
      await write().catch((error: unknown) => (isMissing(error) ? write() : Promise.reject(error)))
      room -= Buffer.byteLength(json)
      if (room >= 0) return
      tidying ??= tidy().finally(() => {
        tidying = undefined
      })
      await tidying
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
      // One after the other: each may be large.
      for (const name of names) {
        const exchange = await readWhole(join(folder, name))
        if (exchange) found.push(exchange)
      }
      return found
    },
    async delete(threadId) {
      await rm(join(root, nameFor(threadId)), { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Ids that differ only in case are one name to some file systems, so each has its digest; the beginning is for people. */
function nameFor(id: string): string {
  const beginning = id
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '_')
    .slice(0, 40)
  return `${beginning}-${createHash('sha256').update(id).digest('hex').slice(0, 24)}`
}

/** Nobody ever sees half of a file, not even after a crash. What it holds is nobody else's business. */
async function writeWhole(folder: string, name: string, json: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = join(folder, `${name}.${randomUUID()}.tmp`)
  try {
    await writeFile(draft, json, { mode: 0o600 })
    await rename(draft, join(folder, `${name}.json`))
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Nothing if it is gone by now, or no exchange: one that cannot be read must not hide the others. */
async function readWhole(path: string): Promise<Exchange | undefined> {
  const text = await readFile(path, 'utf8').catch(unlessMissing('null'))
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? (value as unknown as Exchange) : undefined
  } catch {
    return undefined
  }
}

interface KeptFile {
  readonly path: string
  readonly bytes: number
  readonly at: number
}

/** All of our own, also drafts that a process left behind when it died. */
async function filesIn(root: string): Promise<KeptFile[]> {
  const found: KeptFile[] = []
  for (const folder of (await namesIn(root)).filter((name) => folderName.test(name))) {
    const names = (await namesIn(join(root, folder))).filter((name) => fileName.test(name))
    const paths = names.map((name) => join(root, folder, name))
    const files = await Promise.all(
      paths.map(async (path) => {
        const known = await stat(path).catch(unlessMissing(undefined))
        return known ? [{ path, bytes: known.size, at: known.mtimeMs }] : []
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
