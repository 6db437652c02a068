import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../log/sqlite.ts'
import { teller, until } from '../protocols/protocols.test-kit.ts'
import type { ThreadStore } from '../threads/index.ts'
import { memoryStore } from '../threads/index.ts'
import { byToken, served } from './server.test-kit.ts'

async function serving(store: ThreadStore = memoryStore()) {
  const { app } = served(teller(), { auth: byToken, onError: () => {} }, { store })
  const { url } = await app.listen()
  const ready = async () => {
    const response = await fetch(`${url}/readyz`)
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.text(),
    }
  }
  /** What `/healthz` says: it answers even where the server is not ready. */
  const health = async () => {
    const response = await fetch(`${url}/healthz`)
    const { status, ready } = await response.json()
    return [response.status, status, ready]
  }
  return { app, url, ready, health }
}

/** The process that runs the tests may lag as well, which is for other tests. */
const storeProblems = (body: string): string[] =>
  JSON.parse(body).problems.filter((problem: string) => problem.startsWith('the store'))

test('a server that works is live and ready, and says how quick it is', async () => {
  const { ready, health } = await serving()
  await until(async () => (await ready()).status === 200)
  const { body } = await ready()
  expect(JSON.parse(body)).toEqual({
    status: 'ready',
    problems: [],
    storeMs: expect.any(Number),
    loopDelayMs: expect.any(Number),
  })
  expect(await health()).toEqual([200, 'ok', true])
})

test('a store that cannot be read makes it unready, and the answer does not say where that is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-ready-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const store = await sqliteStore(join(folder, 'threads.db'))
  const { ready, health } = await serving(store)
  expect(storeProblems((await ready()).body)).toEqual([])
  await store.close()
  await until(async () => storeProblems((await ready()).body).length > 0)
  const { status, retryAfter, body } = await ready()
  expect([status, retryAfter]).toEqual([503, '1'])
  expect(JSON.parse(body).status).toBe('unready')
  expect(storeProblems(body)).toEqual(['the store cannot be read'])
  expect(body).not.toContain('threads.db')
  expect(await health()).toEqual([200, 'ok', false])
})

test('a store that hangs is asked once, and does not hold up the answer', async () => {
  let asked = 0
  const hanging = memoryStore()
  const { ready, health } = await serving({
    ...hanging,
    get() {
      asked++
      return new Promise(() => {})
    },
  })
  const answers = await Promise.all(Array.from({ length: 20 }, ready))
  // Past the time that an answer is given again.
  await new Promise((resolve) => setTimeout(resolve, 600))
  answers.push(await ready())
  for (const { status, body } of answers)
    expect([status, storeProblems(body)]).toEqual([503, ['the store has not answered for 500 ms']])
  expect(asked).toBe(1)
  expect(await health()).toEqual([200, 'ok', false])
})

test('many that ask cost one look, and writes that hang none', async () => {
  let asked = 0
  const store = memoryStore()
  const written = Promise.withResolvers<void>()
  const { app, ready } = await serving({
    ...store,
    get(id) {
      if (id === 'readyz') asked++
      return store.get(id)
    },
    async append(batches) {
      await written.promise
      return store.append(batches)
    },
  })
  await app.thread('one', { user: 'ann' }).send('Tell me.')
  const answers = await Promise.all(Array.from({ length: 100 }, ready))
  expect(answers.flatMap(({ body }) => storeProblems(body))).toEqual([])
  expect(asked).toBeLessThan(5)
  written.resolve()
})

test('an event loop that lags makes it unready', async () => {
  const { ready, health } = await serving()
  await ready()
  const block = () => {
    for (const end = performance.now() + 1200; performance.now() < end; );
  }
  await until(async () => {
    block()
    const { status, body } = await ready()
    return status === 503 && /the event loop lags: \d+ ms, over 100/.test(JSON.parse(body).problems[0])
  })
  expect(await health()).toEqual([200, 'ok', false])
})

test('a server that closes is not ready', async () => {
  const { app } = await serving()
  const closing = app.close()
  const response = await app.fetch(new Request('http://localhost/readyz'))
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await response.json()).error.message).toContain('going away')
  await closing
})
