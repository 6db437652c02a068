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
import { errorOf, expectWhole, fastRetry, until } from './follow.test-kit.ts'
import type { ThreadSnapshot } from './index.ts'
import { client, toolContent, watch } from './index.ts'
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
      if (said.startsWith('Show')) return [{ call: 'look', input: {} }]
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
  test('a thread is created, followed, read and deleted', async () => {
    await using server = await served()
    const threads = client(server.url, { ...fastRetry, transport })
    const thread = await threads.create({ agent: 'desk', metadata: { order: 42 } })
    const seq = await thread.send('Where is ORD-42?', { key: 'k' })
    expect(await thread.send('Where is ORD-42?', { key: 'k' })).toBe(seq)

    const entries = await all(thread.follow({ until: seq }))
    expect(entries[0]).toMatchObject({ seq: 1, event: { type: 'input' } })
    expect(entries.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'completed' })
    const state = await thread.state()
    expect(state).toMatchObject({
      id: thread.id,
      metadata: { order: 42 },
      status: 'idle',
      head: entries.at(-1)?.seq,
    })
    expect(state.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expectWhole(await thread.read(), entries)
    expect((await threads.threads({ agent: 'desk' })).threads.map(({ id }) => id)).toEqual([thread.id])

    const following = thread.follow()
    for (let last = 0; last < state.head; ) last = (await following.next()).value?.seq ?? state.head
    const waiting = following.next()
    expect(await thread.delete()).toBe(true)
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(await thread.delete()).toBe(false)
    expect((await errorOf(thread.state())).code).toBe('not_found')
    expect((await errorOf(all(thread.follow()))).code).toBe('not_found')
  })

  test('a user approves, stops and forks', async () => {
    await using server = await served()
    const thread = await client(server.url, { ...fastRetry, transport }).create()
    const seq = await thread.send('Refund me')
    await all(thread.follow({ until: seq }))
    const [request] = (await thread.state()).approvals
    expect(request?.name).toBe('refund')
    const callId = request?.callId ?? ''
    const decided = await thread.approve(callId, { approved: true, input: { amount: 3 } })
    expect(await thread.approve(callId, { approved: true, input: { amount: 3 } })).toBe(decided)
    expect((await errorOf(thread.approve(callId, { approved: false }))).code).toBe('conflict')
    await all(thread.follow({ after: decided, until: 'idle' }))
    expect(JSON.stringify((await thread.state()).messages)).toContain('{"paid":{"amount":3}}')

    const hanging = await thread.send('Hang on')
    // A message that no run has read yet would wait for the next one.
    for await (const { event } of thread.follow({ after: hanging })) if (event.type === 'run-start') break
    await thread.stop('enough')
    const rest = await all(thread.follow({ after: hanging, until: hanging }))
    expect(rest.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'canceled' })

    const before = await thread.updateMetadata({ color: 'red', size: { width: 1 } })
    await thread.updateMetadata({ color: null })
    expect((await thread.state()).metadata).toEqual({ size: { width: 1 } })
    const [entry] = await thread.read({ after: before - 1, limit: 1 })
    expect(entry?.event).toEqual({ type: 'metadata', patch: { color: 'red', size: { width: 1 } } })
    const noPatch = await errorOf(thread.updateMetadata('x' as never))
    expect(noPatch).toMatchObject({ code: 'invalid_input', op: 'client.updateMetadata' })

    const fork = await thread.fork(seq)
    expect((await fork.state()).forkedFrom).toEqual({ id: thread.id, seq })
  })

  test('a client runs its own tool, answers again and goes back, with a connection that is cut', async () => {
    await using server = await served()
    await using proxy = await cuttingProxy({
      port: server.port,
      // Every other connection is cut before its response is complete.
      bytes: (nth) => (nth % 2 === 0 ? 150 : undefined),
    })
    const threads = client(proxy.url, { ...fastRetry, transport })
    const messages = [{ role: 'user', content: 'Show me a color' }] as const
    const look = { name: 'look', description: 'Looks', inputSchema: { type: 'object' } }
    const thread = await threads.create({ messages, request: { tools: [look] } })
    const follow = (after: number) => all(thread.follow({ after, until: 'idle' }))
    const asked = await follow(0)
    expect((await thread.state()).approvals).toMatchObject([{ name: 'look', wants: 'result' }])
    const [{ callId } = { callId: '' }] = (await thread.state()).approvals
    const image = { type: 'image', data: new Uint8Array([1]), mediaType: 'image/png' } as const
    await follow(await thread.respond(callId, toolContent([image])))
    const answered = await thread.state()
    expect(answered.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(answered.messages[2]?.content).toEqual([{ ...image, data: 'AQ==' }])

    const run = asked.find(({ event }) => event.type === 'run-start')?.seq ?? 0
    const rewound = await thread.rewind(run, { request: { tools: [look] } })
    await all(thread.follow({ after: rewound, until: rewound }))
    expect((await thread.state()).messages).toHaveLength(2)
    const restored = await thread.rewind(rewound)
    await all(thread.follow({ after: restored, until: restored }))
    expect((await thread.state()).messages).toEqual(answered.messages)
    const kept = (await thread.read()).filter(({ event }) => event.type === 'rewind')
    expect(kept.map(({ seq }) => seq)).toEqual([rewound, restored])
  })

  test('a client that is cut off repeatedly gets the same entries as one that is not', async () => {
    await using server = await served()
    await using proxy = await cuttingProxy({ port: server.port })
    const thread = await client(server.url, { transport }).create()
    const stayed = all(thread.follow({ until: await thread.send('Talk to me') }))
    // On a slow machine a cut may hit several connections before they open: that must not end it.
    const cuts = setInterval(() => proxy.cut(), 30)
    const flaky = client(proxy.url, {
      retry: { attempts: 1000, baseMs: 5, maxDelayMs: 10 },
      transport,
    }).thread(thread.id)
    const received: Entry[] = []
    for await (const entry of flaky.follow()) {
      received.push(entry)
      if (entry.event.type === 'run-end') break
    }
    clearInterval(cuts)
    expectWhole(received, await stayed)
    expect(proxy.count).toBeGreaterThan(5)
  })

  test("after 'now' it gets all new entries, including those while it is cut off", async () => {
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
    // No entry has arrived yet that it could resume from.
    proxy.cut()
    const seq = await thread.send('Talk to me')
    const cuts = setInterval(() => proxy.cut(), 30)
    const received: Entry[] = []
    for (let { value } = await first; value; { value } = await following.next()) {
      received.push(value)
      if (value.event.type === 'run-end') break
    }
    clearInterval(cuts)
    await following.return?.()
    expectWhole(received, await all(thread.follow({ after: head, until: seq })), head)
  })

  test("'now' is the time of the call, not of the first next()", async () => {
    await using server = await served()
    const answered = Promise.withResolvers<void>()
    const observedFetch = async (url: string, init: RequestInit) => {
      const response = await fetch(url, init)
      if (url.endsWith('after=now')) answered.resolve()
      return response
    }
    const thread = await client(server.url, { ...fastRetry, transport, fetch: observedFetch }).create()
    const following = thread.follow({ after: 'now' })
    await answered.promise
    await thread.send('Where is it?')
    expect((await following.next()).value).toMatchObject({ seq: 1, event: { type: 'input' } })
    await following.return?.()
  })

  test("after 'now', a missing thread is an error, and the signal ends it", async () => {
    await using server = await served()
    const threads = client(server.url, { ...fastRetry, transport })
    expect((await errorOf(all(threads.thread('none').follow({ after: 'now' })))).code).toBe('not_found')
    const thread = await threads.create()
    const stop = new AbortController()
    const waiting = all(thread.follow({ after: 'now', signal: stop.signal }))
    stop.abort()
    expect(await waiting).toEqual([])
    expect(await all(thread.follow({ after: 'now', signal: stop.signal }))).toEqual([])
  })

  test('it reconnects to a restarted server', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-client-'))
    try {
      const file = join(folder, 'threads.db')
      const first = await served({ store: sqliteStore(file) })
      const thread = await client(first.url, { ...fastRetry, transport }).create()
      await thread.send('Talk to me')
      const received: Entry[] = []
      const following = (async () => {
        for await (const entry of thread.follow()) {
          received.push(entry)
          if (entry.event.type === 'run-end') break
        }
      })()
      await until(() => received.some(({ event }) => event.type === 'text'))
      await first.app.close({ graceMs: 0 })
      await using second = await served({ store: sqliteStore(file), port: first.port, recoverMs: 20 })
      await following
      const whole = await client(second.url).thread(thread.id).read()
      expectWhole(received, whole)
      expect(received.at(-1)?.event).toMatchObject({ outcome: 'completed' })
      expect(received.some(({ event }) => event.type === 'run-start' && event.resumes)).toBe(true)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test("another user's thread looks missing", async () => {
    const auth = (request: Request) => {
      const [, user] = /^Bearer (\w+)$/.exec(request.headers.get('authorization') ?? '') ?? []
      return user ? { user } : undefined
    }
    await using server = await served({ auth })
    const mine = await client(server.url, { ...fastRetry, transport, token: 'ann' }).create()
    const seq = await mine.send('Hello')
    expect((await all(mine.follow({ until: seq }))).length).toBeGreaterThan(3)
    const entries = mine.follow()
    expect((await entries.next()).value?.seq).toBe(1)
    await entries.return?.()

    const theirs = client(server.url, { ...fastRetry, transport, token: 'bob' }).thread(mine.id)
    expect((await errorOf(all(theirs.follow()))).code).toBe('not_found')
    expect((await errorOf(theirs.send('Hi'))).code).toBe('not_found')
    const anonymous = client(server.url, { ...fastRetry, transport }).thread(mine.id)
    expect(await errorOf(all(anonymous.follow()))).toMatchObject({ code: 'auth', status: 401 })
  })
})

describe('watch()', () => {
  test('returns snapshots as the thread grows, and ends with the state of the server', async () => {
    await using server = await served()
    const thread = await client(server.url).create()
    const seq = await thread.send('Talk to me')
    const seen: ThreadSnapshot[] = []
    for await (const snapshot of watch(thread)) {
      seen.push(snapshot)
      if (snapshot.run?.outcome) break
    }
    const { head, status, messages, approvals, queued, usage, cost, context, run } = await thread.state()
    expect(seen.at(-1)).toEqual({ head, status, messages, approvals, queued, usage, cost, context, run })
    expect(seen[0]?.head).toBeGreaterThanOrEqual(seq)
    const lengths = seen.map(({ messages }) => JSON.stringify(messages).length)
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b))
    expect(seen.length).toBeGreaterThan(5)
  })

  test('returns few snapshots of an existing log', async () => {
    async function* follow() {
      yield* logOf(2000)
      return undefined
    }
    const heads: number[] = []
    for await (const { head } of watch({ follow })) heads.push(head)
    expect(heads.at(-1)).toBe(2000)
    expect(heads.length).toBeLessThan(200)
  })

  test('works for a thread of an app', async () => {
    await using server = await served()
    const thread = server.app.thread()
    await all(thread.follow({ until: await thread.send('Hello') }))
    for await (const { messages, run } of watch(thread)) {
      if (!run?.outcome) continue
      expect(messages).toEqual((await thread.state()).messages)
      break
    }
  })

  test('ends with its signal, and fails like follow()', async () => {
    await using server = await served()
    const thread = await client(server.url).create()
    const controller = new AbortController()
    const snapshots = watch(thread, { signal: controller.signal })
    const waiting = snapshots.next()
    controller.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect((await errorOf(watch(client(server.url).thread('none')).next())).code).toBe('not_found')
    expect(() => watch(thread, { signals: 1 } as object)).toThrow("did you mean 'signal'?")
  })
})

test('app.fetch can be used without a port', async () => {
  const app = serve({ agents: desk })
  const threads = client('http://localhost', {
    transport: 'sse',
    fetch: (url, init) => app.fetch(new Request(url, init)),
  })
  const thread = await threads.create()
  const entries = await all(thread.follow({ until: await thread.send('Hello') }))
  expect(entries.at(-1)?.event.type).toBe('run-end')
  await app.close()
})
