import type { AddressInfo, Socket } from 'node:net'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocketServer } from 'ws'
import type { Agent } from '../agent/index.ts'
import { textOf } from '../protocol/index.ts'
import type { App, Thread } from '../threads/index.ts'
import { millrace } from '../threads/index.ts'
import type { SocketConnection, SocketOptions } from './attach-socket.ts'
import { attachSocket } from './attach-socket.ts'
import {
  asker,
  contiguousText,
  counter,
  muser,
  picker,
  ruled,
  socketClient,
  story,
  storyteller,
  until,
} from './protocols.test-kit.ts'

/** A server for one thread, with only `ws`. */
async function attached(
  agents: Agent = storyteller(),
  options: Partial<SocketOptions> = {},
  asServed = (thread: Thread) => thread,
) {
  const app: App = millrace({ agents, flushMs: 0, onError: () => {} })
  const thread = app.thread('one')
  await thread.create()
  const channels: SocketConnection[] = []
  const errors: unknown[] = []
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', maxPayload: 10_000 })
  const served: { readonly socket: Socket; readonly codes: number[] }[] = []
  server.on('connection', (ws, { socket }) => {
    const codes: number[] = []
    served.push({ socket, codes })
    const close = ws.close.bind(ws)
    ws.close = (code = 0, reason) => {
      codes.push(code)
      close(code, reason)
    }
    const onError = (error: unknown) => errors.push(error)
    channels.push(attachSocket(ws, { socket, thread: asServed(thread), onError, ...options }))
  })
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(async () => {
    for (const { close } of channels) close(1001, 'test ended')
    server.close()
    await app.close({ graceMs: 0 })
  })
  const { port } = server.address() as AddressInfo
  return { app, thread, channels, served, errors, port, url: `http://127.0.0.1:${port}` }
}

async function followRun(url: string) {
  const client = await socketClient(url)
  client.send({ type: 'resume', after: 0 })
  client.send({ type: 'send', message: 'Tell me.' })
  await client.frame('stream_end')
  return client
}

describe('a socket', () => {
  test('sends the head of the log, and no entries until it is resumed', async () => {
    const { url, thread } = await attached()
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const { head } = await thread.info()
    const client = await socketClient(url)
    expect(await client.frame('ready')).toEqual({ type: 'ready', head })
    client.send({ type: 'ping' })
    await client.frame('pong')
    expect(client.frames).toHaveLength(2)
    client.send({ type: 'resume', after: 3 })
    await client.frame('stream_end')
    contiguousText(client.entries(), 3)
    expect(client.frames[0]?.type).toBe('ready')
  })

  test('streams a run as it happens, in the order of the log', async () => {
    const { url, thread } = await attached(storyteller(story, { paceMs: 1 }))
    const client = await followRun(url)
    expect(contiguousText(client.entries())).toBe(story)
    const types = client.frames.map(({ type }) => type)
    expect(types.filter((type) => type !== 'stream_chunk' && type !== 'ack')).toEqual([
      'ready',
      'input',
      'stream_start',
      'round_start',
      'round_end',
      'stream_end',
    ])
    const log = await thread.read()
    expect(client.entries().filter(({ event }) => event.type !== 'text')).toEqual(
      log.filter(({ event }) => event.type !== 'text'),
    )
  })

  test('starts at once with the option after', async () => {
    const { url, thread } = await attached(storyteller(), { after: 1 })
    await thread.send('Tell me.')
    const client = await socketClient(url)
    await client.frame('stream_end')
    contiguousText(client.entries(), 1)
  })

  test("with after 'now' starts after the head in ready", async () => {
    const { url, thread } = await attached(storyteller(), { after: 'now' })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const client = await socketClient(url)
    const { head } = await client.frame('ready')
    expect(head).toBe((await thread.info()).head)
    client.send({ type: 'send', message: 'Again.' })
    await client.frame('stream_end')
    expect(contiguousText(client.entries(), Number(head))).toBe(story)
  })

  test("answers a resume after 'now' with its position", async () => {
    const { url, thread } = await attached()
    const client = await socketClient(url)
    client.send({ type: 'send', message: 'Tell me.' })
    await client.frame('ack')
    for await (const _ of thread.follow({ until: 'idle' }));
    client.frames.length = 0
    client.send({ type: 'resume', after: 'now' })
    const { head } = await client.frame('ready')
    expect(head).toBe((await thread.info()).head)
    client.send({ type: 'send', message: 'Again.' })
    await client.frame('stream_end')
    expect(contiguousText(client.entries(), Number(head))).toBe(story)
  })

  test("includes messages sent before ready in what comes after 'now'", async () => {
    const known = Promise.withResolvers<void>()
    const { url } = await attached(storyteller(), { stream: false }, (thread) => ({
      ...thread,
      info: () => known.promise.then(() => thread.info()),
    }))
    const client = await socketClient(url)
    client.send({ type: 'send', message: 'Tell me.' })
    // Long enough for an answer, if the message did not have to wait.
    await new Promise((resolve) => setTimeout(resolve, 20))
    known.resolve()
    expect(await client.frame('message')).toMatchObject({ text: story })
    expect(client.frames.map(({ type }) => type)).toEqual(['ready', 'ack', 'message'])
  })

  test('can resume from an earlier position', async () => {
    const { url } = await attached()
    const client = await followRun(url)
    const first = client.entries()
    client.frames.length = 0
    client.send({ type: 'resume', after: 0 })
    await client.frame('stream_end')
    expect(contiguousText(client.entries())).toBe(contiguousText(first))
    client.frames.length = 0
    for (const after of [0, 0, 0, 2]) client.send({ type: 'resume', after })
    client.send({ type: 'send', message: 'Again.' })
    await until(() => client.frames.filter(({ type }) => type === 'stream_end').length >= 2)
    // Earlier resumes may have sent some entries. The last one is complete and comes last.
    const entries = client.entries()
    const last = entries.slice(entries.findLastIndex(({ seq, from = seq }) => from === 3))
    expect(contiguousText(last, 2)).toBe(story + story)
  })

  test('accepts messages, stops and approvals, and answers each', async () => {
    const { url, thread } = await attached(asker())
    const client = await socketClient(url)
    client.send({ type: 'send', id: 'a', message: 'Cut it.', key: 'k' })
    client.send({ type: 'send', id: 7, message: 'Cut it.', key: 'k' })
    await until(() => client.frames.filter(({ type }) => type === 'ack').length === 2)
    expect(client.frames.slice(1)).toEqual([
      { type: 'ack', id: 'a', seq: 1 },
      { type: 'ack', id: 7, seq: 1 },
    ])
    for await (const _ of thread.follow({ until: 'idle' }));
    const [request] = (await thread.state()).approvals
    client.send({ type: 'approve', callId: 'call_9', approved: true, id: 'no' })
    expect(await client.frame('error')).toMatchObject({ id: 'no', code: 'invalid_input' })
    client.send({ type: 'approve', callId: request?.callId, approved: false, reason: 'no rope', id: 'b' })
    await until(() => client.frames.some(({ id }) => id === 'b'))
    client.send({ type: 'stop', id: 'c', reason: 'enough' })
    await until(() => client.frames.some(({ id }) => id === 'c'))
    for await (const _ of thread.follow({ until: 'idle' }));
    expect((await thread.state()).run?.outcome).toBe('completed')
  })

  test('accepts results of calls that the client runs, and rewinds', async () => {
    const { url, thread } = await attached(picker())
    const client = await socketClient(url)
    const answerTo = async (frame: Readonly<Record<string, unknown>>) => {
      client.send(frame)
      await until(() => client.frames.some(({ id }) => id === frame.id))
      for await (const _ of thread.follow({ until: 'idle' }));
      return client.frames.find(({ id }) => id === frame.id)
    }
    const answers = async () =>
      (await thread.state()).messages.flatMap((message) =>
        message.role === 'assistant' ? [textOf(message)] : [],
      )
    const result = { type: 'respond', callId: 'call_1' }
    await answerTo({ type: 'send', id: 'a', message: 'Pick one.' })
    expect(await answerTo({ ...result, id: 'b' })).toMatchObject({ code: 'invalid_input' })
    expect(await answerTo({ ...result, id: 'c', output: 'red' })).toMatchObject({ type: 'ack' })
    const { head } = await thread.info()
    expect(await answerTo({ ...result, id: 'd', output: 'blue' })).toMatchObject({ type: 'ack' })
    expect((await thread.info()).head).toBe(head)
    expect(await answers()).toEqual(['', expect.stringContaining('red')])
    const again = { type: 'rewind', before: 2, key: 'k' }
    const rewound = await answerTo({ ...again, id: 'e' })
    expect(await answerTo({ ...again, id: 'f' })).toMatchObject({ type: 'ack', seq: rewound?.seq })
    expect(await answers()).toEqual([''])
    const content = [{ type: 'text', text: 'green' }]
    const [{ callId = '' } = {}] = (await thread.state()).approvals
    await answerTo({ ...result, callId, id: 'g', content, isError: true })
    expect(await answers()).toEqual(['', expect.stringContaining('green')])
  })

  test('accepts with a message only what the option clientOptions names', async () => {
    const request = { system: 'Be brief.' }
    const commands = [
      { type: 'send', message: 'One', request },
      { type: 'rewind', before: 1, request },
    ]
    const { url, thread } = await attached(counter())
    const client = await socketClient(url)
    for (const [id, command] of commands.entries()) {
      client.send({ ...command, id })
      await until(() => client.frames.some((frame) => frame.id === id))
      expect(client.frames.at(-1)).toMatchObject({
        code: 'invalid_input',
        message: expect.stringMatching(/'request.system'.*clientOptions/),
      })
    }
    expect((await thread.info()).head).toBe(0)
    const open = await attached(counter(), { clientOptions: ['system'] })
    const allowed = await socketClient(open.url)
    allowed.send({ ...commands[0], id: 'x' })
    await allowed.frame('ack')
    expect((await open.thread.read())[0]?.event).toMatchObject({ type: 'input', request })
  })

  test('handles messages in order', async () => {
    let asked = 0
    const { url, thread } = await attached(muser(), {
      // The first one takes longest.
      authorize: () => new Promise((resolve) => setTimeout(resolve, asked++ === 0 ? 50 : 0)),
    })
    const client = await socketClient(url)
    for (let turn = 0; turn < 20; turn++) client.send({ type: 'send', message: `Turn ${turn}` })
    await until(() => client.frames.filter(({ type }) => type === 'ack').length === 20)
    const said = (await thread.read()).flatMap(({ event }) =>
      event.type === 'input' ? [event.message.content] : [],
    )
    expect(said).toEqual(Array.from({ length: 20 }, (_, turn) => `Turn ${turn}`))
  })
})

describe('a client with stream: false', () => {
  test('gets one message at the end of each run', async () => {
    const { url, thread } = await attached(storyteller(), { stream: false, after: 0 })
    const client = await socketClient(url)
    await thread.send('Tell me.')
    await client.frame('message')
    for await (const _ of thread.follow({ until: 'idle' }));
    await thread.send('Again.')
    await until(() => client.frames.filter(({ type }) => type === 'message').length === 2)
    const ends = (await thread.read()).filter(({ event }) => event.type === 'run-end')
    const starts = (await thread.read()).flatMap(({ event }) =>
      event.type === 'run-start' ? [event.runId] : [],
    )
    expect(client.frames.slice(1)).toEqual(
      ends.map(({ seq }, index) => ({
        type: 'message',
        seq,
        runId: starts[index],
        outcome: 'completed',
        text: story,
      })),
    )
  })

  test('by default gets the messages of runs that end from now on', async () => {
    const { url, thread } = await attached(storyteller(), { stream: false })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const client = await socketClient(url)
    await client.frame('ready')
    const seq = await thread.send('Again.')
    expect(await client.frame('message')).toMatchObject({ outcome: 'completed', text: story })
    expect(client.frames).toHaveLength(2)
    expect(client.frames[1]?.seq).toBeGreaterThan(seq)
  })

  test('that connects during a run gets all of its text, and nothing of the previous run', async () => {
    const { url, thread } = await attached(storyteller(story.repeat(5), { paceMs: 1 }), { stream: false })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const { head } = await thread.info()
    await thread.send('Again.')
    await until(async () => (await thread.info()).head > head + 20)
    const client = await socketClient(url)
    expect((await client.frame('ready')).head).toBeGreaterThan(head + 20)
    expect(await client.frame('message')).toMatchObject({ text: story.repeat(5) })
    expect(client.frames.map(({ type }) => type)).toEqual(['ready', 'message'])
  })

  test('only gets new approval requests', async () => {
    const { url, thread } = await attached(asker(), { stream: false })
    await thread.send('Cut it.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const client = await socketClient(url)
    await client.frame('ready')
    await thread.approve('call_1', { approved: true })
    expect(await client.frame('message')).toMatchObject({ outcome: 'completed', text: 'It is cut.' })
    expect(client.frames.map(({ type }) => type)).toEqual(['ready', 'message'])
  })

  test('gets approval requests', async () => {
    const { url, thread } = await attached(asker(), { stream: false, after: 0 })
    const client = await socketClient(url)
    client.send({ type: 'send', message: 'Cut it.' })
    const request = await client.frame('tool_approval_request')
    expect(request).toMatchObject({ event: { name: 'cut_rope', input: { where: 'here' } } })
    expect(await client.frame('message')).toMatchObject({ outcome: 'suspended' })
    client.send({ type: 'approve', callId: (request.event as { callId: string }).callId, approved: true })
    await until(() => client.frames.some(({ outcome }) => outcome === 'completed'))
    expect(client.frames.at(-1)).toMatchObject({ type: 'message', text: 'It is cut.' })
    expect((await thread.info()).status).toBe('idle')
  })

  test('can have an approval remembered', async () => {
    const { url, thread } = await attached(ruled(), { stream: false, after: 0 })
    const client = await socketClient(url)
    client.send({ type: 'send', message: 'Tie it.' })
    const request = await client.frame('tool_approval_request')
    const { callId } = request.event as { callId: string }
    client.send({ type: 'approve', callId, approved: true, remember: 'for a while' })
    expect(await client.frame('error')).toMatchObject({ code: 'invalid_input' })
    client.send({ type: 'approve', callId, approved: true, remember: 'thread' })
    await until(() => client.frames.some(({ outcome }) => outcome === 'completed'))
    const approval = (await thread.read()).find(({ event }) => event.type === 'approval')
    expect(approval?.event).toMatchObject({ remember: { for: 'thread', rules: ['write(here)'] } })
  })

  test('that resumes in the middle of a run gets all of its text', async () => {
    const { url, thread } = await attached(storyteller(story.repeat(5), { paceMs: 1 }), { stream: false })
    await thread.send('Tell me.')
    await until(async () => (await thread.info()).head > 20)
    const { head } = await thread.info()
    const client = await socketClient(url)
    client.send({ type: 'resume', after: head })
    expect(await client.frame('message')).toMatchObject({ text: story.repeat(5) })
    expect(client.frames.map(({ type }) => type)).toEqual(['ready', 'message'])
  })
})

describe('an invalid frame', () => {
  test.each([
    ['nonsense', 'not valid JSON'],
    ['', 'not valid JSON'],
    ['[]', 'must be a JSON object, not an array'],
    [`{"type":"ping","id":${'['.repeat(200)}${']'.repeat(200)}}`, 'more than 100 levels deep'],
    ['null', 'not null'],
    ['{}', 'must be one of send, stop'],
    ['{"type":"constructor"}', 'must be one of send, stop'],
    ['{"type":"send"}', "the field 'message' is missing"],
    ['{"type":"send","message":7}', 'not a number'],
    ['{"type":"send","message":""}', 'empty'],
    ['{"type":"send","message":"x","mode":"loud"}', "'mode'"],
    ['{"type":"send","mesage":"x"}', "did you mean 'message'?"],
    ['{"type":"resume"}', "'after' is missing"],
    ['{"type":"resume","after":-1}', "must be a whole number of at least 0, or 'now', not -1"],
    ['{"type":"resume","after":"later"}', 'or \'now\', not "later"'],
    ['{"type":"resume","after":99}', 'the log ends at 0'],
    ['{"type":"approve","callId":"c"}', "'approved' is missing"],
    ['{"type":"stop","reason":7}', "'reason'"],
    ['{"type":"respond","output":1}', "'callId' is missing"],
    ['{"type":"respond","callId":"c","output":1}', "'c'"],
    ['{"type":"rewind"}', "'before' is missing"],
    ['{"type":"rewind","before":1}', "'before' must be"],
    ['{"type":"send","message":"x","request":[]}', "'request'"],
  ])('%s is rejected, and the connection stays open', async (text, says) => {
    const { url, errors } = await attached()
    const client = await socketClient(url)
    client.send(text)
    expect(await client.frame('error')).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(says),
    })
    client.send({ type: 'ping' })
    await client.frame('pong')
    expect(errors).toEqual([])
  })

  test('is answered with its id, and binary frames have none', async () => {
    const { url } = await attached()
    const client = await socketClient(url)
    client.send({ type: 'sned', id: 'mine' })
    expect(await client.frame('error')).toMatchObject({ id: 'mine' })
    client.frames.length = 0
    client.ws.send(Buffer.from('{"type":"ping"}'), { binary: true })
    expect(await client.frame('error')).toMatchObject({ message: expect.stringContaining('binary') })
  })

  test('is answered differently from an internal error', async () => {
    const { url, errors } = await attached(storyteller(), {
      authorize() {
        throw new TypeError('/secret/path')
      },
    })
    const client = await socketClient(url)
    client.send({ type: 'stop', id: 1 })
    const error = await client.frame('error')
    expect(error).toMatchObject({ code: 'internal', id: 1, errorId: expect.any(String) })
    expect(JSON.stringify(error)).not.toContain('secret')
    expect(errors).toHaveLength(1)
  })
})

describe('the connection', () => {
  test('gets pings, and is closed if it does not answer them', async () => {
    const { port, channels } = await attached(storyteller(), { heartbeatMs: 20 })
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write(
      'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    let pings = 0
    socket.on('data', (data: Buffer) => {
      for (const byte of data) if (byte === 0x89) pings++
    })
    await new Promise((resolve) => socket.once('close', resolve))
    expect(pings).toBe(2)
    await channels[0]?.closed
  })

  test('stays open as long as pings are answered', async () => {
    const { url } = await attached(storyteller(), { heartbeatMs: 10 })
    const client = await socketClient(url)
    let pings = 0
    client.ws.on('ping', () => pings++)
    await until(() => pings > 8)
    client.send({ type: 'ping' })
    await client.frame('pong')
  })

  test('ends with the thread, and with the app', async () => {
    const { url, app, thread, channels } = await attached(muser(), { after: 0 })
    const one = await socketClient(url)
    await one.frame('ready')
    await thread.delete()
    expect(await one.closed).toMatchObject({ code: 4404 })
    await channels[0]?.closed
    await thread.create()
    const two = await socketClient(url)
    await two.frame('ready')
    await app.close({ graceMs: 0 })
    expect(await two.closed).toMatchObject({ code: 1001 })
  })

  test('of a client that keeps sending and reads nothing uses one buffer, and is closed', async () => {
    const { url, served } = await attached(storyteller(), { framesPerSecond: 1_000_000, stuckMs: 300 })
    const client = await socketClient(url)
    client.ws.pause()
    client.ws.on('error', () => {})
    const { socket, codes } = served[0] as (typeof served)[number]
    const invalidFrame = JSON.stringify({ type: 'x'.repeat(90), id: 'y'.repeat(250) })
    let max = 0
    while (codes.length === 0) {
      // About one chunk of frames.
      for (let frame = 0; frame < 200; frame++) client.send(invalidFrame)
      await new Promise((resolve) => setTimeout(resolve, 1))
      max = Math.max(max, socket.writableLength)
    }
    expect(codes).toEqual([1013])
    expect(max).toBeLessThan(1_000_000)
  })

  test('that the client closes leaves nothing behind', async () => {
    const { url, channels } = await attached(storyteller(), { after: 0 })
    const client = await socketClient(url)
    await client.frame('ready')
    client.ws.close(1000)
    await channels[0]?.closed
    expect(await client.closed).toMatchObject({ code: 1000 })
  })
})

test('options are checked', async () => {
  const { thread } = await attached()
  const ws = { on() {} } as never
  expect(() => attachSocket(ws, { thread } as never)).toThrow("'socket' must be")
  expect(() => attachSocket(ws, { thread, socket: {}, heartbeat: 1 } as never)).toThrow(
    "did you mean 'heartbeatMs'",
  )
  const clientOptions = ['models'] as never
  expect(() => attachSocket(ws, { thread, socket: {} as never, clientOptions })).toThrow(
    'any of model, tools, system',
  )
})
