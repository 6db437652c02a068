import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { postgresExchanges, postgresStore } from '@millrace/postgres'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { postgresServer } from '../../../../test/postgres-server.ts'
import type { Exchange } from '../protocol/index.ts'
import type { ExchangeStore } from '../threads/index.ts'
import { memoryExchanges, memoryStore } from '../threads/index.ts'
import { exchangeFolder } from './index.ts'

async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-exchanges-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

function exchange(over: Partial<Exchange> = {}): Exchange {
  const request = { url: 'http://host/v1', headers: { accept: 'x' }, body: 'Grüße 🙂', status: 200 }
  return {
    runId: 'run_1',
    round: 1,
    attempt: 1,
    model: 'm',
    provider: 'p',
    at: 1,
    tools: [],
    wire: [{ ...request, response: 'data: ok\n\n' }],
    ...over,
  }
}

/** An exchange of about `bytes` bytes. */
const sized = (round: number, bytes = 1000) =>
  exchange({ round, wire: [{ url: '', headers: {}, body: 'x'.repeat(bytes) }] })

const roundsOf = async (store: ExchangeStore) =>
  (await store.read('t', 'run_1')).map(({ round }) => round).sort((one, other) => one - other)

let schemas = 0
let database = ''

beforeAll(async () => {
  const server = await postgresServer({ fsync: 'off' })
  database = await server.database('exchanges')
  afterAll(() => server.close())
})

async function inPostgres(options?: { maxBytes: number }): Promise<ExchangeStore> {
  const store = postgresStore(database, { schema: `exchanges_${++schemas}` })
  onTestFinished(() => store.close())
  return postgresExchanges(store, options)
}

const stores: [string, (options?: { maxBytes: number }) => Promise<ExchangeStore>][] = [
  ['memory', async (options) => memoryExchanges(options)],
  ['PostgreSQL', inPostgres],
  ['a folder', async (options) => exchangeFolder(join(await scratch(), 'not', 'there'), options)],
]

describe.each(stores)('exchanges in %s', (_, open) => {
  test('are read by run and by round', async () => {
    const store = await open()
    const all = [
      exchange(),
      exchange({ round: 2 }),
      exchange({ round: 2, attempt: 2 }),
      exchange({ round: 20 }),
      exchange({ runId: 'run_10' }),
    ]
    for (const one of all) await store.put('t', one)
    const read = async (...which: [string, number?]) =>
      [...(await store.read('t', ...which))].sort((a, b) => a.round - b.round || a.attempt - b.attempt)
    expect(await read('run_1')).toEqual(all.slice(0, 4))
    expect(await read('run_1', 2)).toEqual(all.slice(1, 3))
    expect(await read('run_10', 1)).toEqual(all.slice(4))
    expect(await read('run_2')).toEqual([])
    expect(await store.read('other', 'run_1')).toEqual([])
  })

  test('are replaced when the same model call is stored again', async () => {
    const store = await open()
    await store.put('t', exchange())
    await store.put('t', exchange({ ms: 7 }))
    expect(await store.read('t', 'run_1')).toEqual([exchange({ ms: 7 })])
  })

  test('do not change when the stored object is changed', async () => {
    const store = await open()
    const tools = ['one']
    await store.put('t', exchange({ tools }))
    tools.push('two')
    expect((await store.read('t', 'run_1'))[0]?.tools).toEqual(['one'])
  })

  test('are kept apart for all valid ids, even if they differ only in case', async () => {
    const store = await open()
    const ids = ['thread', 'Thread', 'THREAD', '...', '-', 'con', 'a'.repeat(128), 'A'.repeat(128)]
    for (const [index, id] of ids.entries()) await store.put(id, exchange({ at: index }))
    for (const [index, id] of ids.entries())
      expect(await store.read(id, 'run_1')).toEqual([exchange({ at: index })])
    await store.delete('Thread')
    expect(await store.read('Thread', 'run_1')).toEqual([])
    expect(await store.read('thread', 'run_1')).toHaveLength(1)
  })

  test('are deleted with their thread, even if there are none', async () => {
    const store = await open()
    await store.delete('t')
    await store.put('t', exchange())
    await store.put('t', exchange({ runId: 'run_2' }))
    await store.delete('t')
    expect(await store.read('t', 'run_1')).toEqual([])
    expect(await store.read('t', 'run_2')).toEqual([])
  })

  test('stay within maxBytes: the oldest are removed first', async () => {
    const store = await open({ maxBytes: 5000 })
    for (let round = 1; round <= 4; round++) await store.put('t', sized(round))
    expect(await roundsOf(store)).toEqual([1, 2, 3, 4])
    // File systems may have a coarse clock.
    await new Promise((resolve) => setTimeout(resolve, 20))
    for (let round = 5; round <= 9; round++) await store.put('t', sized(round))
    const left = await roundsOf(store)
    expect(left).toContain(9)
    expect(left).not.toContain(1)
    expect(left.length).toBeGreaterThan(1)
    expect(left.length).toBeLessThan(5)
    await store.put('t', sized(10, 6000))
    expect(await roundsOf(store)).not.toContain(10)
  })
})

test('in memory, text outside Latin-1 counts two bytes per character', async () => {
  const store = memoryExchanges({ maxBytes: 5000 })
  for (let round = 1; round <= 4; round++)
    await store.put('t', exchange({ round, wire: [{ url: '–', headers: {}, body: 'x'.repeat(1000) }] }))
  expect(await roundsOf(store)).toEqual([3, 4])
})

describe('a folder of exchanges', () => {
  test('stays within maxBytes when several processes write to it', async () => {
    const folder = await scratch()
    const stores = Array.from({ length: 4 }, () => exchangeFolder(folder, { maxBytes: 32_000 }))
    for (let round = 1; round <= 100; round++) await stores[round % 4]?.put('t', sized(round))
    expect((await roundsOf(stores[0] as ExchangeStore)).length).toBeLessThan(40)
  })

  test('can be read by other processes after its writer was killed', async () => {
    const folder = await scratch()
    const child = spawn(process.execPath, [
      fileURLToPath(new URL('./exchange-writer.test-kit.ts', import.meta.url)),
      folder,
    ])
    const enough = Promise.withResolvers<void>()
    child.stdout.on('data', (chunk) => String(chunk).includes('40\n') && enough.resolve())
    child.once('exit', () => enough.reject(new Error('the writer exited on its own')))
    await enough.promise
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await ended
    const store = exchangeFolder(folder)
    const found = await store.read('t', 'run_1')
    expect(found.length).toBeGreaterThanOrEqual(40)
    for (const { wire } of found) expect(wire[0]?.body).toHaveLength(100_000)
    await store.put('t', exchange({ round: 1_000_000 }))
    expect(await store.read('t', 'run_1', 1_000_000)).toHaveLength(1)
  })

  test('is only readable by its owner, and contains no temporary files', async () => {
    const folder = join(await scratch(), 'exchanges')
    await exchangeFolder(folder).put('t', exchange())
    const [thread = ''] = await readdir(folder)
    const files = await readdir(join(folder, thread))
    expect(files).toEqual([expect.stringMatching(/^run_1-[0-9a-f]{24}\.1\.1\.json$/)])
    const path = join(folder, thread, files[0] ?? '')
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(exchange())
    expect((await stat(path)).mode & 0o077).toBe(0)
    expect((await stat(join(folder, thread))).mode & 0o077).toBe(0)
    expect((await stat(folder)).mode & 0o077).toBe(0)
  })

  test('never touches other files', async () => {
    const folder = await scratch()
    await mkdir(join(folder, 'photos'))
    await exchangeFolder(folder).put('t', sized(1))
    const [thread = ''] = (await readdir(folder)).filter((name) => name !== 'photos')
    const [file = ''] = await readdir(join(folder, thread))
    const foreign = [join(folder, file), join(folder, 'photos', file), join(folder, thread, 'notes.json')]
    for (const path of foreign) {
      await writeFile(path, 'x'.repeat(10_000))
      await utimes(path, 1, 1)
    }
    const store = exchangeFolder(folder, { maxBytes: 1500 })
    for (let round = 1; round <= 3; round++) await store.put('t', sized(round))
    for (const path of foreign) expect((await stat(path)).size).toBe(10_000)
    expect((await roundsOf(store)).length).toBe(1)
  })

  test('removes old temporary files and empty folders', async () => {
    const folder = await scratch()
    await exchangeFolder(folder).put('old', sized(1))
    const [thread = ''] = await readdir(folder)
    const [file = ''] = await readdir(join(folder, thread))
    const temporary = join(folder, thread, file.replace(/json$/, `${crypto.randomUUID()}.tmp`))
    await writeFile(temporary, 'x'.repeat(2000))
    for (const path of [temporary, join(folder, thread, file)]) await utimes(path, 1, 1)
    await exchangeFolder(folder, { maxBytes: 1500 }).put('new', sized(1))
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^new-/)])
  })

  test('reads files of protocol version 1', async () => {
    const folder = await scratch()
    const store = exchangeFolder(folder)
    const { wire, ...rest } = exchange()
    const [{ response, ...request } = { response: '' }] = wire
    const old = { ...rest, wire: [{ ...request, answer: response, answerHeaders: { a: 'b' } }] }
    await store.put('t', old as unknown as Exchange)
    const [read] = await store.read('t', 'run_1')
    expect(read?.wire).toEqual([{ ...wire[0], responseHeaders: { a: 'b' } }])
  })

  test('skips a file that cannot be parsed', async () => {
    const folder = await scratch()
    const store = exchangeFolder(folder)
    await store.put('t', exchange())
    await store.put('t', exchange({ round: 2 }))
    const [thread = ''] = await readdir(folder)
    const names = await readdir(join(folder, thread))
    await writeFile(join(folder, thread, names.find((name) => name.includes('.1.1.')) ?? ''), '{"half')
    expect(await store.read('t', 'run_1')).toEqual([exchange({ round: 2 })])
  })

  test('rejects put() if the folder cannot be created', async () => {
    const file = join(await scratch(), 'file')
    await writeFile(file, '')
    await expect(exchangeFolder(file).put('t', exchange())).rejects.toThrow()
  })

  test('checks its path and options', () => {
    expect(() => exchangeFolder('')).toThrow('the path of the folder must be text')
    expect(() => exchangeFolder('x', { maxByte: 1 } as never)).toThrow("did you mean 'maxBytes'?")
    expect(() => memoryExchanges({ maxBytes: 0 })).toThrow('at least 1')
    expect(() => postgresExchanges(memoryStore())).toThrow('must come from postgresStore()')
  })
})
