import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { Entry } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import type { ServeOptions } from '../server/index.ts'
import { serve } from '../server/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { cuttingProxy } from './cutting-proxy.test-kit.ts'
import { eager, expectWhole, failureOf, until } from './follow.test-kit.ts'
import type { ThreadSnapshot } from './index.ts'
import { client, watch } from './index.ts'
import { logOf } from './log-server.test-kit.ts'

const transports = ['sse', 'websocket', 'auto'] as const

const refund = tool({
  name: 'refund',
  description: 'Pays back',
  input: z.object({ amount: z.number() }),
  approve: true,
  run: (input) => ({ paid: input }),
})

const long = Array.from({ length: 200 }, (_, index) => `word${index} ü🙂`).join(' ')

/** Answers each message according to its first word. */
const desk = agent({
  name: 'desk',
  tools: [refund],
  model: scriptedModel(
    ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool') return 'Done.'
      const said = last?.role === 'user' ? textOf(last) : ''
      if (said.startsWith('Refund')) return [{ call: 'refund', input: { amount: 5 } }]
      if (said.startsWith('Hang')) return [{ text: 'Well …' }, { hang: true }]
      return said.startsWith('Talk') ? long : 'It is on its way.'
    },
    { deltaChars: [1, 9, 4], paceMs: 1 },
  ),
})

async function served(options: Partial<ServeOptions> & { port?: number } = {}) {
  const { port, ...rest } = options
  const app = serve({ agents: desk, limits: { requestsPerSecond: 100_000 }, ...rest })
  const listener = await app.listen(port === undefined ? {} : { port })
  return {
    app,
    url: listener.url,
    port: listener.port,
    [Symbol.asyncDispose]: () => app.close({ graceMs: 0 }),
  }
}

async function all(entries: AsyncIterable<Entry>): Promise<Entry[]> {
  const taken: Entry[] = []
  for await (const entry of entries) taken.push(entry)
  return taken
}

describe.each(transports)('with the real server, over %s', (transport) => {
  test('a conversation is begun, followed, looked at and deleted', async () => {
    await using server = await served()
    const threads = client(server.url, { ...eager, transport })
    const thread = await threads.create({ agent: 'desk', metadata: { order: 42 } })
    const seq = await thread.send('Where is ORD-42?', { key: 'k' })
    expect(await thread.send('Where is ORD-42?', { key: 'k' })).toBe(seq)

    const told = await all(thread.follow({ until: seq }))
    expect(told[0]).toMatchObject({ seq: 1, event: { type: 'input' } })
    expect(told.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'completed' })
    const state = await thread.state()
    expect(state).toMatchObject({
      id: thread.id,
      metadata: { order: 42 },
      status: 'idle',
      head: told.at(-1)?.seq,
    })
    expect(state.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expectWhole(await thread.read(), told)
    expect((await threads.threads({ agent: 'desk' })).threads.map(({ id }) => id)).toEqual([thread.id])

    const following = thread.follow()
    for (let last = 0; last < state.head; ) last = (await following.next()).value?.seq ?? state.head
    const waiting = following.next()
    expect(await thread.delete()).toBe(true)
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await thread.delete()).toBe(false)
    expect((await failureOf(thread.state())).code).toBe('not_found')
    expect((await failureOf(all(thread.follow()))).code).toBe('not_found')
  })

  test('a person decides, stops and forks', async () => {
    await using server = await served()
    const thread = await client(server.url, { ...eager, transport }).create()
    const seq = await thread.send('Refund me')
    await all(thread.follow({ until: seq }))
    const [request] = (await thread.state()).approvals
    expect(request?.name).toBe('refund')
    const callId = request?.callId ?? ''
    const decided = await thread.approve(callId, { approved: true, input: { amount: 3 } })
    expect(await thread.approve(callId, { approved: true, input: { amount: 3 } })).toBe(decided)
    expect((await failureOf(thread.approve(callId, { approved: false }))).code).toBe('conflict')
    await all(thread.follow({ after: decided, until: 'idle' }))
    expect(JSON.stringify((await thread.state()).messages)).toContain('{"paid":{"amount":3}}')

    const hanging = await thread.send('Hang on')
    // A message that no run has read yet would wait for the next one.
    for await (const { event } of thread.follow({ after: hanging })) if (event.type === 'run-start') break
    await thread.stop('enough')
    const rest = await all(thread.follow({ after: hanging, until: hanging }))
    expect(rest.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'cancelled' })

    const fork = await thread.fork(seq)
    expect((await fork.state()).forkedFrom).toEqual({ id: thread.id, seq })
  })

  test('cut off again and again, it hears the same as one that stayed', async () => {
    await using server = await served()
    await using proxy = await cuttingProxy({ port: server.port })
    const thread = await client(server.url, { transport }).create()
    const stayed = all(thread.follow({ until: await thread.send('Talk to me') }))
    const cuts = setInterval(() => proxy.cut(), 30)
    const shaken = client(proxy.url, { retry: { baseMs: 5, maxDelayMs: 10 }, transport }).thread(thread.id)
    const heard: Entry[] = []
    for await (const entry of shaken.follow()) {
      heard.push(entry)
      if (entry.event.type === 'run-end') break
    }
    clearInterval(cuts)
    expectWhole(heard, await stayed)
    expect(proxy.count).toBeGreaterThan(5)
  })

  test("from 'now' on it hears what comes, also what happens while it is cut off", async () => {
    await using server = await served()
    await using proxy = await cuttingProxy({ port: server.port })
    const thread = await client(server.url, { transport }).create()
    await all(thread.follow({ until: await thread.send('Where is it?') }))
    const { head } = await thread.state()
    const opened = Promise.withResolvers<void>()
    const options = { retry: { baseMs: 5, maxDelayMs: 10 }, transport, onOpen: opened.resolve }
    const following = client(proxy.url, options).thread(thread.id).follow({ after: 'now' })
    const first = following.next()
    await opened.promise
    // Nothing has come yet that it could come back with.
    proxy.cut()
    const seq = await thread.send('Talk to me')
    const cuts = setInterval(() => proxy.cut(), 30)
    const heard: Entry[] = []
    for (let { value } = await first; value; { value } = await following.next()) {
      heard.push(value)
      if (value.event.type === 'run-end') break
    }
    clearInterval(cuts)
    await following.return?.()
    expectWhole(heard, await all(thread.follow({ after: head, until: seq })), head)
  })

  test("'now' is when it is asked for, not when the first entry is", async () => {
    await using server = await served()
    const answered = Promise.withResolvers<void>()
    const noticing = async (url: string, init: RequestInit) => {
      const response = await fetch(url, init)
      if (url.endsWith('after=now')) answered.resolve()
      return response
    }
    const thread = await client(server.url, { ...eager, transport, fetch: noticing }).create()
    const following = thread.follow({ after: 'now' })
    await answered.promise
    await thread.send('Where is it?')
    expect((await following.next()).value).toMatchObject({ seq: 1, event: { type: 'input' } })
    await following.return?.()
  })

  test("from 'now' on, a thread that is not there is an error, and it ends with its signal", async () => {
    await using server = await served()
    const threads = client(server.url, { ...eager, transport })
    expect((await failureOf(all(threads.thread('none').follow({ after: 'now' })))).code).toBe('not_found')
    const thread = await threads.create()
    const stop = new AbortController()
    const waiting = all(thread.follow({ after: 'now', signal: stop.signal }))
    stop.abort()
    expect(await waiting).toEqual([])
    expect(await all(thread.follow({ after: 'now', signal: stop.signal }))).toEqual([])
  })

  test('a server that is restarted is come back to', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-client-'))
    try {
      const file = join(folder, 'threads.db')
      const first = await served({ store: sqliteStore(file) })
      const thread = await client(first.url, { ...eager, transport }).create()
      await thread.send('Talk to me')
      const heard: Entry[] = []
      const following = (async () => {
        for await (const entry of thread.follow()) {
          heard.push(entry)
          if (entry.event.type === 'run-end') break
        }
      })()
      await until(() => heard.some(({ event }) => event.type === 'text'))
      await first.app.close({ graceMs: 0 })
      await using second = await served({ store: sqliteStore(file), port: first.port, recoverMs: 20 })
      await following
      const whole = await client(second.url).thread(thread.id).read()
      expectWhole(heard, whole)
      expect(heard.at(-1)?.event).toMatchObject({ outcome: 'completed' })
      expect(heard.some(({ event }) => event.type === 'run-start' && event.resumes)).toBe(true)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test("another user's thread is not there", async () => {
    const auth = (request: Request) => {
      const [, user] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
      return user ? { user } : undefined
    }
    await using server = await served({ auth })
    const mine = await client(server.url, { ...eager, transport, token: 'ann' }).create()
    const seq = await mine.send('Hello')
    expect((await all(mine.follow({ until: seq }))).length).toBeGreaterThan(3)
    const entries = mine.follow()
    expect((await entries.next()).value?.seq).toBe(1)
    await entries.return?.()

    const theirs = client(server.url, { ...eager, transport, token: 'bob' }).thread(mine.id)
    expect((await failureOf(all(theirs.follow()))).code).toBe('not_found')
    expect((await failureOf(theirs.send('Hi'))).code).toBe('not_found')
    const nobody = client(server.url, { ...eager, transport }).thread(mine.id)
    expect(await failureOf(all(nobody.follow()))).toMatchObject({ code: 'auth', status: 401 })
  })
})

describe('watching', () => {
  test('shows a thread as it grows, and in the end as the server has it', async () => {
    await using server = await served()
    const thread = await client(server.url).create()
    const seq = await thread.send('Talk to me')
    const seen: ThreadSnapshot[] = []
    for await (const snapshot of watch(thread)) {
      seen.push(snapshot)
      if (snapshot.run?.outcome) break
    }
    const { head, status, messages, approvals, queued, usage, run } = await thread.state()
    expect(seen.at(-1)).toEqual({ head, status, messages, approvals, queued, usage, run })
    expect(seen[0]?.head).toBeGreaterThanOrEqual(seq)
    const lengths = seen.map(({ messages }) => JSON.stringify(messages).length)
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b))
    expect(seen.length).toBeGreaterThan(5)
  })

  test('gives few snapshots of what is there already', async () => {
    async function* follow() {
      yield* logOf(2000)
      return undefined
    }
    const heads: number[] = []
    for await (const { head } of watch({ follow })) heads.push(head)
    expect(heads.at(-1)).toBe(2000)
    expect(heads.length).toBeLessThan(200)
  })

  test('does as well for a thread of an app', async () => {
    await using server = await served()
    const thread = server.app.thread()
    await all(thread.follow({ until: await thread.send('Hello') }))
    for await (const { messages, run } of watch(thread)) {
      if (!run?.outcome) continue
      expect(messages).toEqual((await thread.state()).messages)
      break
    }
  })

  test('ends with its signal, and fails as following does', async () => {
    await using server = await served()
    const thread = await client(server.url).create()
    const controller = new AbortController()
    const snapshots = watch(thread, { signal: controller.signal })
    const waiting = snapshots.next()
    controller.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect((await failureOf(watch(client(server.url).thread('none')).next())).code).toBe('not_found')
    expect(() => watch(thread, { signals: 1 } as object)).toThrow("did you mean 'signal'?")
  })
})

test('no port is needed where the app itself is the fetch', async () => {
  const app = serve({ agents: desk })
  const threads = client('http://localhost', {
    transport: 'sse',
    fetch: (url, init) => app.fetch(new Request(url, init)),
  })
  const thread = await threads.create()
  const told = await all(thread.follow({ until: await thread.send('Hello') }))
  expect(told.at(-1)?.event.type).toBe('run-end')
  await app.close()
})
