import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { MillraceError } from '../protocol/index.ts'
import {
  contiguousText,
  entriesOf,
  muser,
  socketClient,
  sseFrames,
  story,
  storyteller,
  until,
} from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import { memoryStore, millrace } from '../threads/index.ts'
import { heldTool } from '../threads/threads.test-kit.ts'
import { serve } from './index.ts'
import { served } from './server.test-kit.ts'

describe('serve()', () => {
  test('returns the app, which also answers requests', async () => {
    const app = serve({ agents: { storyteller: storyteller() }, auth: () => ({ user: 'ann' }) })
    onTestFinished(() => app.close())
    expect(app.agents).toEqual(['storyteller'])
    await app.thread('one', { user: 'ann' }).send('Tell me.')
    const response = await app.fetch(new Request('http://localhost/threads/one/events?until=idle'))
    expect(contiguousText(await entriesOf(response.body))).toBe(story)
  })

  test('rejects misspelled and invalid options of app and server', () => {
    const agents = storyteller()
    for (const [options, says] of [
      [{ agents, atuh: () => null }, "did you mean 'auth'"],
      [{ agents, stoer: memoryStore() }, "did you mean 'store'"],
      [{ agents, auth: true }, "'auth' must be a function"],
      [{ agents, hosts: 'example.org' }, "'hosts' must be a list"],
      [{ agents, hosts: ['https://example.org'] }, "'hosts' must be a list"],
      [{ agents, origins: ['example.org'] }, "'origins' must be a list"],
      [{ agents, origins: ['https://example.org/'] }, "'origins' must be a list"],
      [{ agents, heartbeatMs: 0 }, "'heartbeatMs' must be"],
      [{ agents, limits: { stream: 5 } }, "did you mean 'streams'"],
      [{ agents, limits: { streamsPerUser: 5 } }, "was renamed to 'streams'"],
      [{ agents, leaseMs: 'long' }, "'leaseMs' must be"],
      [{}, "'agents'"],
      [undefined, 'one object'],
      [{ thread() {} }, 'not an app'],
    ] as const)
      expect(() => serve(options as never), says).toThrow(says)
  })

  test('rejects misspelled options at compile time too', () => {
    const agents = storyteller()
    for (const misspelled of [
      // @ts-expect-error: store
      () => serve({ agents, stoer: memoryStore() }),
      // @ts-expect-error: streams
      () => serve({ agents, limits: { stream: 5 } }),
      // @ts-expect-error: runs
      () => serve({ agents, quotas: { run: 5 } }),
      // @ts-expect-error: store
      () => millrace({ agents, stoer: memoryStore() }),
      // @ts-expect-error: runs
      () => millrace({ agents, quotas: { run: 5 } }),
      // @ts-expect-error: auth
      () => serve({ agents, atuh: () => null }),
    ])
      expect(misspelled).toThrow(/does not exist: did you mean '(store|streams|runs|auth)'/)
  })

  test('accepts agents with tools and structured output', () => {
    const output = z.object({ dish: z.string() })
    const cook = agent({ model: scriptedModel([]), tools: [heldTool('stir').tool], output })
    const app = serve({ agents: { cook, storyteller: storyteller() } })
    onTestFinished(() => app.close())
    expect(app.agents).toEqual(['cook', 'storyteller'])
  })
})

describe('listen()', () => {
  test('uses loopback by default', async () => {
    const { app } = served()
    const { url, port } = await app.listen()
    expect(url).toBe(`http://127.0.0.1:${port}`)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })

  test('requires auth, or auth: false, for other addresses', async () => {
    const { app } = served()
    for (const host of ['0.0.0.0', '::', '192.168.1.1', 'example.org'])
      await expect(app.listen({ host })).rejects.toThrow(/auth: false/)
    for (const auth of [false, () => null] as const) {
      const { app } = served(storyteller(), { auth })
      const { port } = await app.listen({ host: '0.0.0.0' })
      expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
    }
  })

  test('rejects if the port is taken or invalid', async () => {
    const { app } = served()
    const { port } = await app.listen()
    await expect(app.listen({ port })).rejects.toThrow(/EADDRINUSE/)
    await expect(app.listen({ port: 70_000 })).rejects.toThrow(/port/)
    await expect(app.listen({ prot: 80 } as never)).rejects.toThrow(/did you mean 'port'/)
  })

  test('returns servers that can be closed separately', async () => {
    const { app } = served()
    await app.thread('one').create()
    const [one, two] = [await app.listen(), await app.listen()]
    const client = await socketClient(`${one.url}/threads/one/socket`)
    const other = await socketClient(`${two.url}/threads/one/socket`)
    await one.close()
    await one.close()
    expect(await client.closed).toMatchObject({ code: 1001 })
    await expect(fetch(`${one.url}/healthz`)).rejects.toThrow()
    other.send({ type: 'ping' })
    await other.frame('pong')
  })
})

describe('close()', () => {
  test('ends all streams and connections', async () => {
    const given = served(muser())
    const { app } = given
    const { url, port } = await app.listen()
    const thread = app.thread('one')
    await thread.send('Think.')
    const events = await fetch(`${url}/threads/one/events`)
    const untilIdle = await fetch(`${url}/threads/one/events?until=idle`)
    const withoutPort = await app.fetch(new Request('http://localhost/threads/one/events'))
    const client = await socketClient(`${url}/threads/one/socket?after=0`)
    const silent = connect(port, '127.0.0.1')
    const half = connect(port, '127.0.0.1')
    half.write('GET /healthz HTTP/1.1\r\nhost: loc')
    const gone = [silent, half].map((socket) => new Promise((resolve) => socket.on('close', resolve)))
    for (const socket of [silent, half]) socket.on('error', () => {})
    await fetch(`${url}/healthz`)
    await client.frame('stream_chunk')
    await app.close({ graceMs: 0 })
    // No `end` event: the run continues in another process.
    for (const response of [events, untilIdle, withoutPort])
      expect((await Array.fromAsync(sseFrames(response.body))).some(({ event }) => event === 'end')).toBe(
        false,
      )
    expect(await client.closed).toMatchObject({ code: 1001 })
    await Promise.all(gone)
    expect(given.followers()).toBe(0)
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  test('ends streams at once, and then waits for running tools', async () => {
    const held = heldTool('hold')
    const model = scriptedModel([[{ call: 'hold', input: {} }], 'Done.'])
    const { app } = served(agent({ name: 'holder', model, tools: [held.tool] }))
    const { url } = await app.listen()
    const thread = app.thread('one')
    await thread.send('Hold.')
    await held.startedTimes(1)
    const streams = [
      await app.fetch(new Request('http://localhost/threads/one/events')),
      await fetch(`${url}/threads/one/events`),
    ].map(({ body }) => sseFrames(body))
    const client = await socketClient(`${url}/threads/one/socket?after=0`)
    await client.frame('tool_start')
    // All of them are streaming.
    for (const frames of streams) for (let frame = 0; frame < 3; frame++) await frames.next()
    let isClosed = false
    const closed = app.close({ graceMs: 60_000 }).then(() => {
      isClosed = true
    })
    await Promise.all([...streams.map((frames) => Array.fromAsync(frames)), client.closed])
    expect(isClosed).toBe(false)
    held.runs[0]?.release()
    await closed
  })

  test('answers earlier requests, and rejects later ones', async () => {
    let go: (() => void) | undefined
    const given = served(storyteller(), {
      auth: () =>
        new Promise((resolve) => {
          go = () => resolve({ user: 'ann' })
        }),
    })
    const { url } = await given.app.listen()
    const asked = fetch(`${url}/threads`)
    await until(() => go !== undefined)
    const closed = given.app.close({ graceMs: 0 })
    go?.()
    expect([200, 503]).toContain((await asked).status)
    await closed
    const after = await given.ask('GET', '/threads')
    expect([after.status, after.headers.get('retry-after')]).toEqual([503, '1'])
    await expect(given.app.listen()).rejects.toThrow(/closed/)
    await given.app.close()
  })

  test('lets the next server resume the run, and its followers continue', async () => {
    const store = memoryStore()
    // Not closed with the app.
    const kept = { ...store, close: async () => {} }
    const long = story.repeat(20)
    const first = serve({ agents: storyteller(long, { paceMs: 2 }), store: kept, flushMs: 0 })
    const { url } = await first.listen()
    const thread = first.thread('one')
    await thread.send('Tell me.')
    const seen = []
    const response = await fetch(`${url}/threads/one/events`)
    for await (const { id, data } of sseFrames(response.body)) {
      if (id !== undefined) seen.push(JSON.parse(data ?? ''))
      if (seen.length === 30) void first.close({ graceMs: 0 })
    }
    await first.close()
    expect(seen.at(-1)?.event.type).not.toBe('run-end')
    const second = serve({ agents: storyteller(long), store: kept, recoverMs: 10 })
    onTestFinished(() => second.close())
    const rest = await second.fetch(
      new Request('http://localhost/threads/one/events?until=1', {
        headers: { 'last-event-id': String(seen.at(-1)?.seq) },
      }),
    )
    seen.push(...(await entriesOf(rest.body)))
    contiguousText(seen)
    expect(seen.at(-1)?.event).toMatchObject({ type: 'run-end', outcome: 'completed' })
    const retract = seen.findLastIndex(({ event }) => event.type === 'round-retract')
    const words = seen.slice(retract + 1).map(({ event }) => (event.type === 'text' ? event.text : ''))
    expect(words.join('')).toBe(long)
  })
})

describe('an internal error', () => {
  test('is reported to the owner; the client only gets an id', async () => {
    const errors: MillraceError[] = []
    const store = memoryStore()
    const broken = {
      ...store,
      list: () => Promise.reject(new TypeError('/secret/path is not a function')),
    }
    const app = serve({ agents: storyteller(), store: broken, onError: (error) => errors.push(error) })
    onTestFinished(() => app.close())
    const response = await app.fetch(new Request('http://localhost/threads'))
    expect(response.status).toBe(500)
    const { error } = await response.json()
    expect(error).toEqual({ code: 'internal', message: 'an internal error occurred', id: error.id })
    expect(errors).toHaveLength(1)
    expect(errors[0]?.message).toContain(error.id)
    expect(errors[0]?.message).toContain('/secret/path')
  })

  test('is answered even if onError throws', async () => {
    const app = serve({
      agents: storyteller(),
      store: { ...memoryStore(), list: () => Promise.reject(new Error('no')) },
      onError() {
        throw new Error('leave me alone')
      },
    })
    onTestFinished(() => app.close())
    const { url } = await app.listen()
    expect((await fetch(`${url}/threads`)).status).toBe(500)
  })

  test('of the store is answered with 503, without details', async () => {
    const errors: MillraceError[] = []
    const failing = () =>
      Promise.reject(
        new MillraceError({ op: 'store', code: 'store_error', message: '/secret/path: disk full' }),
      )
    const app = serve({
      agents: storyteller(),
      store: { ...memoryStore(), get: failing },
      onError: (error) => errors.push(error),
    })
    onTestFinished(() => app.close())
    const response = await app.fetch(new Request('http://localhost/threads/one'))
    expect(response.status).toBe(503)
    expect(await response.text()).not.toContain('secret')
    expect(errors[0]).toMatchObject({ code: 'store_error', message: expect.stringContaining('/secret/path') })
  })
})
