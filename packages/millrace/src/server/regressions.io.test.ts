import { request } from 'node:http'
import { expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { Entry } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import { entriesOf, socketClient, teller, until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import { memoryStore } from '../threads/index.ts'
import { millrace } from './index.ts'
import { byToken, served } from './server.test-kit.ts'

test('a message whose events nobody has room for has not been said', async () => {
  const { ask } = served(teller(), { auth: byToken, limits: { streams: 1 } })
  const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
  const open = await ask('GET', `/threads/${id}/events`, { as: 'ann' })
  const accept = { accept: 'text/event-stream' }
  const refused = await ask('POST', `/threads/${id}/messages`, {
    as: 'ann',
    body: { message: 'x' },
    headers: accept,
  })
  expect(refused.status).toBe(429)
  await open.body?.cancel()
  expect(await (await ask('GET', `/threads/${id}`, { as: 'ann' })).json()).toMatchObject({ head: 0 })
})

test('a request that was given up before its answer was looked at frees its place', async () => {
  const { app, ask } = served(teller(), { auth: byToken, limits: { streams: 1 } })
  const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
  for (let turn = 0; turn < 3; turn++) {
    const stop = new AbortController()
    const headers = { authorization: 'Bearer ann' }
    const answer = await app.fetch(
      new Request(`http://localhost/threads/${id}/events`, { headers, signal: stop.signal }),
    )
    expect(answer.status).toBe(200)
    stop.abort()
  }
})

test('of two that make a thread of one id, on one store, one is told that it is there', async () => {
  const store = memoryStore()
  const apps = [1, 2].map(() => millrace({ agents: teller(), store }))
  const make = (app: (typeof apps)[number]) =>
    app.fetch(
      new Request('http://localhost/threads', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"id":"same"}',
      }),
    )
  const statuses = (await Promise.all(apps.map(make))).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([201, 409])
  for (const app of apps) await app.close({ graceMs: 0 })
  await store.close()
})

test('what went wrong inside is told by its code alone to those who have to sign in', async () => {
  const secret = 'postgres://user:pw@db.internal'
  const model = scriptedModel(() => {
    throw new MillraceError({ op: 'model.stream', code: 'llm_error', message: secret, cause: secret })
  })
  for (const auth of [byToken, undefined]) {
    const { ask } = served(agent({ model }), { ...(auth && { auth }) })
    const { id } = await (await ask('POST', '/threads', { as: 'ann' })).json()
    const events = await ask('POST', `/threads/${id}/messages`, {
      as: 'ann',
      body: { message: 'x' },
      headers: { accept: 'text/event-stream' },
    })
    const told: Entry[] = await entriesOf(events.body)
    expect(told.at(-1)?.event).toMatchObject({ type: 'run-end', error: { code: 'llm_error' } })
    const view = await (await ask('GET', `/threads/${id}`, { as: 'ann' })).text()
    const page = await ask('GET', `/threads/${id}/events`, {
      as: 'ann',
      headers: { accept: 'application/json' },
    })
    const shown = JSON.stringify(told) + view + (await page.text())
    expect(shown.includes(secret)).toBe(auth === undefined)
  }
})

test('a socket that asks again and again from the beginning and reads nothing costs a buffer', async () => {
  const { app } = served(teller())
  const thread = app.thread('long')
  await thread.send('x'.repeat(500_000))
  for await (const _ of thread.follow({ until: 'idle' }));
  const { url } = await app.listen()
  const client = await socketClient(`${url}/threads/long/socket`)
  await client.frame('ready')
  client.ws.pause()
  const before = process.memoryUsage().arrayBuffers
  for (let turn = 0; turn < 150; turn++) client.send({ type: 'resume', after: 0 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  // Each entry is half a megabyte: without a bound it would be 75 of them.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30_000_000)
  client.ws.terminate()
})

test('a body that comes byte by byte is read as one', async () => {
  const { app, ask } = served()
  const { url } = await app.listen()
  const answered = new Promise<number | undefined>((resolve, reject) => {
    const asking = request(`${url}/threads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    })
    asking.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject)
    for (const byte of '{"id":"bytewise"}') asking.write(byte)
    asking.end()
  })
  expect(await answered).toBe(201)
  await until(async () => (await ask('GET', '/threads/bytewise')).status === 200)
})
