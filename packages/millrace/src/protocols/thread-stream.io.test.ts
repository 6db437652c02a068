import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Entry, PublicError } from '../protocol/index.ts'
import { publicError } from '../protocol/index.ts'
import { httpError } from './http-error.ts'
import { eventFrames } from './millrace-sse.ts'
import { writeThread } from './node-stream.ts'
import type { ThreadStream } from './thread-stream.ts'
import { streamBody } from './thread-stream.ts'

interface TestStream extends ThreadStream {
  readonly taken: () => number
  readonly ended: () => number
  readonly errors: unknown[]
}

/** A stream of `count` entries that records what happens to it. */
function testStream(
  count: number,
  { text = 'hi', fails = false, ...more }: Partial<ThreadStream> & { text?: string; fails?: boolean } = {},
): TestStream {
  const stop = new AbortController()
  const errors: unknown[] = []
  let taken = 0
  let ended = 0
  async function* entries(): AsyncGenerator<Entry, undefined> {
    for (let seq = 1; seq <= count && !stop.signal.aborted; seq++) {
      taken++
      yield { seq, at: 0, event: { type: 'text', text } }
      // As if it waited for I/O.
      if (seq % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    if (fails) throw new Error('failed')
    return undefined
  }
  return {
    entries: entries(),
    frames: eventFrames(),
    signal: stop.signal,
    ends: true,
    heartbeatMs: 60_000,
    stuckMs: 60_000,
    end() {
      ended++
      stop.abort(httpError(503, 'overloaded', 'going away'))
    },
    publicError: (thrown) => publicError(thrown, (error) => errors.push(error)),
    taken: () => taken,
    ended: () => ended,
    errors,
    ...more,
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A real server that answers with a stream. */
async function answering(feed: ThreadStream, onWrite = () => {}, onClose = () => {}): Promise<number> {
  const server = createServer((request, response) => {
    const write = response.write.bind(response)
    response.write = (chunk: unknown) => {
      onWrite()
      return write(chunk)
    }
    request.on('error', () => {})
    response.on('error', () => {})
    response.on('close', onClose)
    void writeThread(response, feed)
  })
  onTestFinished(() => void server.close())
  onTestFinished(() => server.closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const idsIn = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
const upTo = (many: number) => Array.from({ length: many }, (_, index) => index + 1)

describe.each(['over Node', 'as a web stream'])('events %s', (output) => {
  async function open(feed: ThreadStream): Promise<ReadableStream<Uint8Array> | null> {
    if (output === 'as a web stream') return streamBody(feed)
    return (await fetch(`http://127.0.0.1:${await answering(feed)}`)).body
  }

  test('end as soon as the frames are done, although more may follow', async () => {
    const { entries, taken, ...more } = testStream(3)
    const feed = {
      ...more,
      // Nothing else ever arrives.
      entries: {
        next: () => entries.next(),
        listen: () => (taken() < 3 ? undefined : new Promise<void>(() => {})),
      },
      frames: { ...eventFrames(), isDone: () => taken() === 3 },
    }
    expect(idsIn(await new Response(await open(feed)).text())).toEqual(upTo(3))
  })

  test('are all sent, and then the end', async () => {
    const feed = testStream(1000)
    const text = await new Response(await open(feed)).text()
    expect(text.startsWith('retry: 1000\n\nid: 1\n')).toBe(true)
    expect(idsIn(text)).toEqual(upTo(1000))
    expect(text.endsWith('event: end\ndata: {}\n\n')).toBe(true)
    expect(feed.ended()).toBeGreaterThan(0)
  })

  test('have no end frame if the thread or the stream fails', async () => {
    const text = await new Response(await open(testStream(3, { ends: false }))).text()
    expect(idsIn(text)).toEqual([1, 2, 3])
    expect(text).not.toContain('event: end')
    const broken = testStream(3, { fails: true })
    expect(await new Response(await open(broken)).text()).not.toContain('event: end')
    expect(broken.errors).toHaveLength(1)
    expect(broken.ended()).toBeGreaterThan(0)
  })

  test('that fail are reported in the format of the protocol, without details', async () => {
    const frames = { ...eventFrames(), fail: ({ code, message }: PublicError) => `! ${code}: ${message}\n` }
    const broken = await new Response(await open(testStream(3, { fails: true, frames }))).text()
    expect(broken).toMatch(/! internal: an internal error occurred\n$/)
    const feed = testStream(Number.POSITIVE_INFINITY, { frames })
    const body = await open(feed)
    setTimeout(feed.end, 5)
    expect(await new Response(body).text()).toMatch(/! overloaded: going away\n$/)
  })

  test('that the client stops reading are not reported as failed', async () => {
    const frames = { ...eventFrames(), fail: () => 'failed' }
    const waiting = Promise.withResolvers<IteratorResult<Entry, undefined>>()
    const feed = testStream(0, { frames, entries: { next: () => waiting.promise } })
    const reader = (await open(feed))?.getReader()
    await reader?.read()
    const reading = reader?.read()
    await reader?.cancel()
    await until(() => feed.ended() > 0)
    waiting.resolve({ done: true, value: undefined })
    await reading
    await new Promise((resolve) => setImmediate(resolve))
    expect(feed.errors).toEqual([])
  })

  test('without a frame are left out, and heartbeats are optional', async () => {
    const frames = {
      headers: {},
      entry: ({ seq }: Entry) => (seq % 2 === 0 ? `${seq} ` : undefined),
    }
    const stream = testStream(8, { frames, heartbeatMs: 1 })
    expect(await new Response(await open(stream)).text()).toBe('2 4 6 8 ')
  })

  test('can be ended by the protocol', async () => {
    let seen = 0
    const frames = {
      headers: {},
      entry: ({ seq }: Entry) => {
        seen = seq
        return `${seq} `
      },
      isDone: () => seen === 3,
      end: () => 'end',
    }
    const stream = testStream(Number.POSITIVE_INFINITY, { frames, ends: false })
    expect(await new Response(await open(stream)).text()).toBe('1 2 3 end')
    expect(stream.ended()).toBeGreaterThan(0)
  })

  test('end when the reader cancels', async () => {
    const feed = testStream(Number.POSITIVE_INFINITY)
    const reader = (await open(feed))?.getReader()
    await reader?.read()
    await reader?.cancel()
    await until(() => feed.ended() > 0)
    const taken = feed.taken()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(feed.taken()).toBeLessThanOrEqual(taken + 1)
  })

  test('are not read ahead of a slow reader', async () => {
    const feed = testStream(Number.POSITIVE_INFINITY, { text: 'x'.repeat(64 * 1024) })
    const reader = (await open(feed))?.getReader()
    await reader?.read()
    let before = -1
    while (feed.taken() !== before) {
      before = feed.taken()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    // What Node and the kernel buffer.
    expect(before).toBeLessThan(output === 'as a web stream' ? 2 : 400)
    await reader?.cancel()
  })
})

test('entries that are ready together are written at once', async () => {
  let writes = 0
  const port = await answering(testStream(99), () => writes++)
  const text = await (await fetch(`http://127.0.0.1:${port}`)).text()
  expect(idsIn(text)).toEqual(upTo(99))
  // The opening, the events, and the end.
  expect(writes).toBe(3)
})

test('a stuck client is disconnected', async () => {
  const feed = testStream(Number.POSITIVE_INFINITY, { text: 'x'.repeat(64 * 1024), stuckMs: 50 })
  const socket = connect(await answering(feed), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => feed.ended() > 0)
})

test('a response that is not read is closed with its stream', async () => {
  const feed = testStream(Number.POSITIVE_INFINITY, { text: 'x'.repeat(64 * 1024) })
  const closed = Promise.withResolvers<void>()
  const socket = connect(await answering(feed, undefined, closed.resolve), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  let before = 0
  while (feed.taken() === 0 || feed.taken() !== before) {
    before = feed.taken()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  feed.end()
  await closed.promise
})
