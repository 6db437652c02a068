import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { sqliteStore } from '../log/sqlite.ts'
import { storyteller, until } from '../protocols/protocols.test-kit.ts'
import type { ThreadStore } from '../threads/index.ts'
import { memoryStore } from '../threads/index.ts'
import { byToken, served } from './server.test-kit.ts'

async function serving(store: ThreadStore = memoryStore()) {
  const { app } = served(storyteller(), { auth: byToken, onError: () => {} }, { store })
  const { url } = await app.listen()
  const ready = async () => {
    const response = await fetch(`${url}/readyz`)
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.text(),
    }
  }
  /** `/healthz` answers even if the server is not ready. */
  const health = async () => {
    const response = await fetch(`${url}/healthz`)
    const { status, ready } = await response.json()
    return [response.status, status, ready]
  }
  return { app, url, ready, health }
}

/** Without event loop problems, which the test process itself may cause. */
const storeProblems = (body: string): string[] =>
  JSON.parse(body).problems.filter((problem: string) => problem.startsWith('the store'))

test('a working server is alive and ready, and reports its latencies', async () => {
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

test('a store that cannot be read makes the server unready, without revealing its path', async () => {
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

test('a store that hangs is read once, and does not delay the response', async () => {
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
  // Longer than results are cached.
  await new Promise((resolve) => setTimeout(resolve, 600))
  answers.push(await ready())
  for (const { status, body } of answers)
    expect([status, storeProblems(body)]).toEqual([503, ['the store did not answer within 500 ms']])
  expect(asked).toBe(1)
  expect(await health()).toEqual([200, 'ok', false])
})

test('many requests cost one check, which does not wait for writes that hang', async () => {
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

test('an event loop that lags makes the server unready', async () => {
  const { ready, health } = await serving()
  await ready()
  const block = () => {
    for (const end = performance.now() + 1200; performance.now() < end; );
  }
  await until(async () => {
    block()
    const { status, body } = await ready()
    return (
      status === 503 && /the event loop lags by \d+ ms, more than 100 ms/.test(JSON.parse(body).problems[0])
    )
  })
  expect(await health()).toEqual([200, 'ok', false])
})

test('a closing server is not ready', async () => {
  const { app } = await serving()
  const closing = app.close()
  const response = await app.fetch(new Request('http://localhost/readyz'))
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await response.json()).error.message).toContain('shutting down')
  await closing
})
