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

interface Fed extends ThreadStream {
  readonly taken: () => number
  readonly ended: () => number
  readonly errors: unknown[]
}

/** A stream of so many entries that knows what becomes of it. */
function fed(
  many: number,
  { text = 'hi', fails = false, ...more }: Partial<ThreadStream> & { text?: string; fails?: boolean } = {},
): Fed {
  const stop = new AbortController()
  const errors: unknown[] = []
  let taken = 0
  let ended = 0
  async function* entries(): AsyncGenerator<Entry, undefined> {
    for (let seq = 1; seq <= many && !stop.signal.aborted; seq++) {
      taken++
      yield { seq, at: 0, event: { type: 'text', text } }
      // As if it came from somewhere.
      if (seq % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    if (fails) throw new Error('broken off')
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

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A real server that answers with a feed. */
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

const told = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
const upTo = (many: number) => Array.from({ length: many }, (_, index) => index + 1)

describe.each(['over Node', 'as a web stream'])('events %s', (way) => {
  async function open(feed: ThreadStream): Promise<ReadableStream<Uint8Array> | null> {
    if (way === 'as a web stream') return streamBody(feed)
    return (await fetch(`http://127.0.0.1:${await answering(feed)}`)).body
  }

  test('are all told, and then the end', async () => {
    const feed = fed(1000)
    const text = await new Response(await open(feed)).text()
    expect(text.startsWith('retry: 1000\n\nid: 1\n')).toBe(true)
    expect(told(text)).toEqual(upTo(1000))
    expect(text.endsWith('event: end\ndata: {}\n\n')).toBe(true)
    expect(feed.ended()).toBeGreaterThan(0)
  })

  test('the end is not told where it is none', async () => {
    const text = await new Response(await open(fed(3, { ends: false }))).text()
    expect(told(text)).toEqual([1, 2, 3])
    expect(text).not.toContain('event: end')
    const broken = fed(3, { fails: true })
    expect(await new Response(await open(broken)).text()).not.toContain('event: end')
    expect(broken.errors).toHaveLength(1)
    expect(broken.ended()).toBeGreaterThan(0)
  })

  test('what breaks off is told in words of the protocol, without inner detail', async () => {
    const frames = { ...eventFrames(), fail: ({ code, message }: PublicError) => `! ${code}: ${message}\n` }
    const broken = await new Response(await open(fed(3, { fails: true, frames }))).text()
    expect(broken).toMatch(/! internal: something went wrong here\n$/)
    const feed = fed(Number.POSITIVE_INFINITY, { frames })
    const body = await open(feed)
    setTimeout(feed.end, 5)
    expect(await new Response(body).text()).toMatch(/! overloaded: going away\n$/)
  })

  test('an entry that has no form is left out, and a protocol without heartbeat is silent', async () => {
    const frames = {
      headers: {},
      entry: ({ seq }: Entry) => (seq % 2 === 0 ? `${seq} ` : undefined),
    }
    const stream = fed(8, { frames, heartbeatMs: 1 })
    expect(await new Response(await open(stream)).text()).toBe('2 4 6 8 ')
  })

  test('a protocol may end it before the entries do', async () => {
    let seen = 0
    const frames = {
      headers: {},
      entry: ({ seq }: Entry) => {
        seen = seq
        return `${seq} `
      },
      isOver: () => seen === 3,
      end: () => 'over',
    }
    const stream = fed(Number.POSITIVE_INFINITY, { frames, ends: false })
    expect(await new Response(await open(stream)).text()).toBe('1 2 3 over')
    expect(stream.ended()).toBeGreaterThan(0)
  })

  test('a reader that goes ends the feed', async () => {
    const feed = fed(Number.POSITIVE_INFINITY)
    const reader = (await open(feed))?.getReader()
    await reader?.read()
    await reader?.cancel()
    await until(() => feed.ended() > 0)
    const taken = feed.taken()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(feed.taken()).toBeLessThanOrEqual(taken + 1)
  })

  test('a reader that does not read is not read for', async () => {
    const feed = fed(Number.POSITIVE_INFINITY, { text: 'x'.repeat(64 * 1024) })
    const reader = (await open(feed))?.getReader()
    await reader?.read()
    let before = -1
    while (feed.taken() !== before) {
      before = feed.taken()
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    // What Node and the kernel keep for it.
    expect(before).toBeLessThan(way === 'as a web stream' ? 2 : 400)
    await reader?.cancel()
  })
})

test('what is ready together leaves in one piece', async () => {
  let writes = 0
  const port = await answering(fed(99), () => writes++)
  const text = await (await fetch(`http://127.0.0.1:${port}`)).text()
  expect(told(text)).toEqual(upTo(99))
  // The opening, the events, and the end.
  expect(writes).toBe(3)
})

test('one that stays stuck is cut off', async () => {
  const feed = fed(Number.POSITIVE_INFINITY, { text: 'x'.repeat(64 * 1024), stuckMs: 50 })
  const socket = connect(await answering(feed), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  await until(() => feed.ended() > 0)
})

test('one that is not read goes with its feed', async () => {
  const feed = fed(Number.POSITIVE_INFINITY, { text: 'x'.repeat(64 * 1024) })
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
