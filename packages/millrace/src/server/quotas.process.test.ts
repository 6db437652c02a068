import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { isWhole } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import { until } from '../protocols/protocols.test-kit.ts'
import { scriptedModel } from '../testing/index.ts'
import { memoryStore } from '../threads/index.ts'
import type { Command } from './limited-server.test-kit.ts'
import { byToken, served } from './server.test-kit.ts'

const mebibyte = 1024 * 1024

const usage = { inputTokens: 5, outputTokens: 5 }

/** Never finishes the answer to a message that contains `slow`. */
const desk = () =>
  agent({
    name: 'desk',
    model: scriptedModel(({ messages }) =>
      JSON.stringify(messages.at(-1)).includes('slow')
        ? [{ text: 'Well' }, { hang: true }]
        : [{ text: 'At once.' }, { usage }],
    ),
  })

interface Asked {
  readonly method?: string
  readonly body?: object
  readonly as?: string
  /** The client address. */
  readonly from?: string
  readonly headers?: Record<string, string>
}

/** Sends a request over a real connection, from a loopback address. */
async function ask(port: number, path: string, { method = 'GET', body, as, from, headers = {} }: Asked = {}) {
  const sent = request({
    port,
    path,
    method,
    host: '127.0.0.1',
    ...(from && { localAddress: from }),
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(as && { authorization: `Bearer ${as}` }),
      ...headers,
    },
  })
  sent.end(body && JSON.stringify(body))
  const [answer] = await once(sent, 'response')
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return { status: answer.statusCode, headers: answer.headers, text, json: () => JSON.parse(text) }
}

async function say(port: number, message: string, more: Asked = {}) {
  const made = await ask(port, '/threads', { method: 'POST', body: {}, ...more })
  if (made.status !== 201) return { ...made, id: '' }
  const { id } = made.json()
  const said = await ask(port, `/threads/${id}/messages`, { method: 'POST', body: { message }, ...more })
  return { ...said, id: id as string }
}

async function usageOf(port: number, more: Asked = {}) {
  return (await ask(port, '/usage', more)).json().usage
}

/** A server in a separate process, with its own heap. */
async function process(options: object, file?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-quotas-'))
  const path = file ?? join(folder, 'threads.db')
  const child: ChildProcess = fork(
    new URL('./limited-server.test-kit.ts', import.meta.url),
    [path, JSON.stringify(options)],
    { execArgv: ['--expose-gc', '--disable-warning=ExperimentalWarning'] },
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
    await rm(folder, { recursive: true, force: true })
  })
  await once(child, 'message')
  async function send(what: Command) {
    child.send(what)
    const [{ answer }] = await once(child, 'message')
    return answer
  }
  return { path, port: (await send({ ask: 'listen' })) as number, send }
}

describe('quotas', () => {
  test.runIf(isWhole)('a thousand slow runs of one caller do not delay another caller', async () => {
    const { app } = served(desk(), { auth: byToken, limits: { requestsPerSecond: 100_000 } })
    const { port } = await app.listen()
    const statuses: Record<number, number> = {}
    const rejected: Awaited<ReturnType<typeof say>>[] = []
    for (let count = 0; count < 1010; count += 101)
      for (const answer of await Promise.all(
        Array.from({ length: 101 }, () => say(port, 'slow', { as: 'ann' })),
      )) {
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
        if (answer.status === 429) rejected.push(answer)
      }
    // 20 run, 200 wait, and the others are rejected.
    expect(statuses[202]).toBeGreaterThanOrEqual(220)
    expect(statuses[202]).toBeLessThan(240)
    expect(rejected[0]?.json().error).toMatchObject({
      code: 'rate_limit',
      message: expect.stringMatching(/quota 'waiting' is used up \(200/),
    })
    expect(Number(rejected[0]?.headers['retry-after'])).toBeGreaterThan(0)
    expect(await usageOf(port, { as: 'ann' })).toMatchObject({
      runs: { used: 20, limit: 20 },
      waiting: { used: 200, limit: 200 },
    })
    const { id } = await say(port, 'hello', { as: 'bob' })
    const answer = await ask(port, `/threads/${id}/events?until=idle`, { as: 'bob' })
    expect(answer.text).toContain('At once.')
    expect(await usageOf(port, { as: 'bob' })).toMatchObject({ runs: { used: 0 }, waiting: { used: 0 } })
  })

  test('concurrent runs are counted across two processes that share a file', async () => {
    const options = { hasUsers: true, quotas: { runs: 2 } }
    const one = await process(options)
    const two = await process(options, one.path)
    for (const { port } of [one, two, one, two, one])
      expect(await say(port, 'slow', { as: 'ann' })).toMatchObject({ status: 202 })
    for (const { port } of [one, two])
      await until(async () => (await usageOf(port, { as: 'ann' })).waiting.used === 3)
    expect(await usageOf(two.port, { as: 'ann' })).toMatchObject({ runs: { used: 2, limit: 2 } })
    const { id } = await say(two.port, 'hello', { as: 'bob' })
    const answer = await ask(two.port, `/threads/${id}/events?until=idle`, { as: 'bob' })
    expect(answer.text).toContain('At once.')
    expect(await usageOf(one.port, { as: 'ann' })).toMatchObject({ runs: { used: 2 }, waiting: { used: 3 } })
  })

  test.each([
    ['storedBytes', { storedBytes: 1 }, 60],
    ['bytesPerMinute', { bytesPerMinute: 1 }, undefined],
    ['tokensPerMinute', { tokensPerMinute: 1 }, undefined],
  ])('%s are limited, with a message and a retry-after', async (name, quotas, seconds) => {
    const { app } = served(desk(), { auth: byToken }, { quotas, store: memoryStore({ now: () => 1e12 }) })
    const { port } = await app.listen()
    const { id } = await say(port, 'hello', { as: 'ann' })
    if (id) await ask(port, `/threads/${id}/events?until=idle`, { as: 'ann' })
    const rejected = await say(port, 'hello', { as: 'ann' })
    expect(rejected.status).toBe(429)
    expect(rejected.json().error.message).toContain(`quota '${name}' is used up`)
    const retryAfter = Number(rejected.headers['retry-after'])
    expect(retryAfter).toBeGreaterThan(0)
    expect(retryAfter).toBeLessThanOrEqual(60)
    if (seconds) expect(retryAfter).toBe(seconds)
    // A stop is always accepted, and other callers have their own quota.
    expect((await ask(port, `/threads/${id}/stop`, { method: 'POST', body: {}, as: 'ann' })).status).toBe(202)
    expect((await ask(port, '/threads', { method: 'POST', body: {}, as: 'bob' })).status).toBe(201)
  })

  test('a fork counts too', async () => {
    const { app } = served(desk(), { auth: byToken }, { quotas: { storedBytes: 1000 } })
    const { port } = await app.listen()
    const { id } = await say(port, `hello ${'x'.repeat(1000)}`, { as: 'ann' })
    const forked = await ask(port, `/threads/${id}/fork`, { method: 'POST', body: { at: 1 }, as: 'ann' })
    expect(forked.status).toBe(429)
    expect(forked.text).toContain("quota 'storedBytes'")
  })

  test('a misspelled quota is reported', () => {
    expect(() => served(desk(), {}, { quotas: { run: 5 } as never })).toThrow(
      /'quotas.run' does not exist: did you mean 'runs'/,
    )
    expect(() => served(desk(), {}, { quotas: { runs: 0 } })).toThrow(/'quotas.runs' must be/)
  })
})

describe('without auth, limits apply per address', () => {
  const [one, other] = [{ from: '127.0.0.1' }, { from: '127.0.0.2' }]

  test('quotas', async () => {
    const { app } = served(desk(), {}, { quotas: { runs: 1 } })
    const { port } = await app.listen()
    for (let count = 0; count < 3; count++)
      expect((await say(port, 'slow', { ...one, headers: {} })).status).toBe(202)
    await until(async () => (await usageOf(port, one)).waiting.used === 2)
    expect(await usageOf(port, one)).toMatchObject({ runs: { used: 1, limit: 1 } })
    const { id } = await say(port, 'hello', other)
    expect((await ask(port, `/threads/${id}/events?until=idle`, other)).text).toContain('At once.')
  })

  test('requests per second', async () => {
    const { app } = served(desk(), { limits: { requestsPerSecond: 1 } })
    const { port } = await app.listen()
    for (let count = 0; count < 4; count++) expect((await ask(port, '/threads', one)).status).toBe(200)
    const rejected = await ask(port, '/threads', one)
    expect([rejected.status, rejected.headers['retry-after']]).toEqual([429, '1'])
    expect((await ask(port, '/threads', other)).status).toBe(200)
  })

  test('streams, and concurrent requests', async () => {
    const { app } = served(desk(), { limits: { streams: 1, requestsAtOnce: 1 } })
    const { port } = await app.listen()
    const { id } = await say(port, 'slow', one)
    const open = (head: string) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.1' })
      onTestFinished(() => void socket.destroy())
      socket.write(`${head} HTTP/1.1\r\nhost: localhost\r\n`)
      return socket
    }
    const stream = open(`GET /threads/${id}/events`)
    stream.write('\r\n')
    await once(stream, 'data')
    const second = await ask(port, `/threads/${id}/events`, one)
    expect([second.status, second.json().error.message]).toEqual([
      429,
      'you have 1 streams open: close one first',
    ])
    // A request whose body has not arrived yet is in progress.
    const posting = open('POST /threads')
    posting.write('content-type: application/json\r\ncontent-length: 10\r\n\r\n{')
    await until(async () => (await ask(port, '/threads', one)).status === 429)
    const rejected = await ask(port, '/threads', one)
    expect(rejected.json().error.message).toContain('1 requests in progress')
    expect(rejected.headers['retry-after']).toBe('1')
    expect((await ask(port, '/threads', other)).status).toBe(200)
    posting.destroy()
    await until(async () => (await ask(port, '/threads', one)).status === 200)
  })
})

describe('memory', () => {
  test.runIf(isWhole)('clients that do not read use no more than the buffer', async () => {
    const { port, send } = await process({
      limits: { bufferBytes: 16 * mebibyte, requestsPerSecond: 100_000 },
    })
    for (let count = 0; count < 12; count++) await send({ ask: 'write', bytes: 3_000_000 })
    const before = (await send({ ask: 'memory' })) as number
    const open = (text: string, from: number) => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${from}` })
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => {})
      socket.write(text)
    }
    const get = (path: string, accept: string) =>
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept: ${accept}\r\n\r\n`
    for (let from = 2; from < 6; from++)
      for (let count = 0; count < 15; count++) {
        open(get('/threads/large/events?after=0', 'text/event-stream'), from)
        open(get('/threads/large/events?limit=10000', 'application/json'), from)
        open(
          `POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(900_000)}`,
          from,
        )
      }
    // All earlier requests have been handled when this one is.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect((await ask(port, '/healthz')).status).toBe(200)
    // Data that is being read and written comes on top.
    const held = async () => (((await send({ ask: 'memory' })) as number) - before) / mebibyte
    await expect.poll(held).toBeLessThan(2 * 16)
    // Small requests still work, for all clients.
    for (const from of ['127.0.0.1', '127.0.0.2'])
      expect((await say(port, 'hello', { from })).status).toBe(202)
  })
})
