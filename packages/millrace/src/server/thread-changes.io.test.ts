import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { exportThread } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { untilIdle } from '../threads/threads.test-kit.ts'
import { byToken, served } from './server.test-kit.ts'

const desk = (options = {}) => served(agent({ model: scriptedModel(() => [{ text: 'In Lyon.' }]) }), options)

async function answered({ app }: ReturnType<typeof desk>, user?: string) {
  const thread = app.thread(crypto.randomUUID(), { user })
  await thread.send('Where is ORD-42?')
  const entries = await untilIdle(thread)
  const start = entries.find(({ event }) => event.type === 'run-start')?.event
  return { thread, run: start?.type === 'run-start' ? start.runId : '' }
}

describe('PATCH /threads/:id', () => {
  test('renames the thread', async () => {
    const server = desk()
    const { thread } = await answered(server)
    const response = await server.ask('PATCH', `/threads/${thread.id}`, { body: { title: 'My parcel' } })
    expect([response.status, await response.json()]).toEqual([200, { seq: (await thread.info()).head }])
    expect(await thread.info()).toMatchObject({ title: 'My parcel' })
    const empty = await server.ask('PATCH', `/threads/${thread.id}`, { body: { title: ' ' } })
    expect(empty.status).toBe(400)
  })

  test('changes the metadata by a merge patch', async () => {
    const server = desk({ auth: byToken })
    const created = await server.ask('POST', '/threads', {
      body: { metadata: { plan: 'free', state: { a: 1, b: { c: 2 } } } },
      as: 'ada',
    })
    const { id } = (await created.json()) as { id: string }
    const change = async (body: unknown, as = 'ada') => {
      const response = await server.ask('PATCH', `/threads/${id}`, { body, as })
      return [response.status, await response.json()]
    }
    expect(await change({ metadata: { state: { a: null, b: { d: 3 } } } })).toEqual([200, { seq: 1 }])
    const shown = await server.ask('GET', `/threads/${id}`, { as: 'ada' })
    expect(await shown.json()).toMatchObject({
      head: 1,
      metadata: { plan: 'free', state: { b: { c: 2, d: 3 } } },
    })
    const rejected = (message: string) => [
      400,
      { error: { code: 'invalid_input', message: expect.stringContaining(message) } },
    ]
    expect(await change({ metadata: ['x'] })).toEqual(rejected("'metadata'"))
    expect(await change({ metadata: { state: 'x'.repeat(20_000) } })).toEqual(rejected('16384 bytes'))
    for (const body of [{}, { title: 'x', metadata: {} }])
      expect(await change(body)).toEqual(rejected("either 'title' or 'metadata'"))
    expect((await change({ metadata: { state: 1 } }, 'bob'))[0]).toBe(404)
    expect(await change({ metadata: { state: {}, plan: 'pro' } })).toEqual([
      403,
      { error: { code: 'auth', message: expect.stringContaining("the field 'plan'") } },
    ])
    expect((await server.app.thread(id).info()).head).toBe(1)
  })

  test('changes all metadata for users who may inspect, and without auth', async () => {
    const auth = () => ({ user: 'ada', canInspect: true })
    for (const server of [desk({ auth }), desk()]) {
      const { thread } = await answered(server, 'ada')
      const body = { metadata: { plan: 'pro' } }
      expect((await server.ask('PATCH', `/threads/${thread.id}`, { body })).status).toBe(200)
      expect(await thread.info()).toMatchObject({ metadata: { plan: 'pro' } })
    }
  })

  test('is only for those who may see it', async () => {
    const server = desk({ auth: byToken })
    const { thread } = await answered(server, 'ada')
    const as = async (user: string) =>
      (await server.ask('PATCH', `/threads/${thread.id}`, { body: { title: 'x' }, as: user })).status
    expect([await as('bob'), await as('ada')]).toEqual([404, 200])
  })
})

describe('POST /threads/:id/feedback', () => {
  test('records the opinion of the caller, who cannot speak for others', async () => {
    const server = desk({ auth: byToken })
    const { thread, run } = await answered(server, 'ada')
    const path = `/threads/${thread.id}/feedback`
    const response = await server.ask('POST', path, {
      body: { run, rating: 'up', note: 'Quick.' },
      as: 'ada',
    })
    expect(response.status).toBe(202)
    expect((await thread.read()).at(-1)?.event).toEqual({
      type: 'feedback',
      run,
      rating: 'up',
      note: 'Quick.',
      user: 'ada',
    })
    const forged = await server.ask('POST', path, { body: { run, user: 'bob' }, as: 'ada' })
    const unknown = await server.ask('POST', path, { body: { run: 'other' }, as: 'ada' })
    expect([forged.status, unknown.status]).toEqual([400, 404])
  })
})

describe('POST /import', () => {
  test('creates a thread of the caller from an export', async () => {
    const server = desk({ auth: byToken })
    const { thread } = await answered(server, 'ada')
    const exported = await exportThread(thread)
    const response = await server.ask('POST', '/import', { body: exported, as: 'bob' })
    expect(response.status).toBe(201)
    const { id } = (await response.json()) as { id: string }
    const copy = server.app.thread(id)
    expect(await copy.info()).toMatchObject({ user: 'bob', title: 'Where is ORD-42?' })
    expect(await copy.read()).toEqual(await thread.read())
  })

  test('creates nothing if the id is taken, and says so', async () => {
    const server = desk()
    const { thread } = await answered(server)
    const before = await thread.read()
    const body = { ...(await exportThread(thread)), id: thread.id }
    const response = await server.ask('POST', '/import', { body })
    expect([response.status, (await response.json()).error.message]).toEqual([
      409,
      'a thread with this id already exists: choose another id, or leave it out',
    ])
    expect(await thread.read()).toEqual(before)
  })

  test('says what is wrong with anything else', async () => {
    const server = desk()
    const send = async (body: object) => {
      const response = await server.ask('POST', '/import', { body })
      return [response.status, ((await response.json()) as { error: { message: string } }).error.message]
    }
    expect(await send({ hello: 1 })).toEqual([400, expect.stringContaining("'hello'")])
    const thread = { id: 'x', agent: 'unknown' }
    const agents = await send({ version: 2, thread, entries: [] })
    expect(agents).toEqual([400, expect.stringContaining("no agent named 'unknown'")])
    const note = { id: 'x', agent: 'helper', metadata: 'note' }
    expect(await send({ version: 2, thread: note, entries: [] })).toEqual([
      400,
      expect.stringContaining('metadata'),
    ])
    const large = { ...note, metadata: { note: 'x'.repeat(2 ** 20) } }
    expect(await send({ version: 2, thread: large, entries: [] })).toEqual([
      413,
      expect.stringContaining('metadata is larger'),
    ])
    const strange = { version: 2, thread: { id: 'x', agent: 7 }, entries: [] }
    expect(await send(strange)).toEqual([400, expect.any(String)])
    expect((await server.app.threads()).threads).toEqual([])
  })
})

test('threads are listed by what their last run did', async () => {
  const server = desk()
  const { thread } = await answered(server)
  const list = async (query: string) => {
    const response = await server.ask('GET', `/threads?${query}`)
    const { threads = [] } = (await response.json()) as { threads?: { id: string }[] }
    return [response.status, threads.map(({ id }) => id)]
  }
  await expect.poll(() => list('search=lyon')).toEqual([200, [thread.id]])
  expect(await list('outcome=completed')).toEqual([200, [thread.id]])
  expect(await list('outcome=failed')).toEqual([200, []])
  expect(await list('minUsd=0.5')).toEqual([200, []])
  expect(await list('since=0&until=1')).toEqual([200, []])
  expect(await list('minUsd=lots')).toEqual([400, []])
})
