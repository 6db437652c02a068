import { createServer, type Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Lookup } from './resolve.ts'
import { failure, fetched, listen, names, serves, site, textOf } from './site.test-kit.ts'

const MiB = 1024 * 1024

/** A server that says exactly these bytes, and ends. */
async function says(head: string, then: (socket: Socket) => void = (socket) => socket.end()) {
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(head, 'latin1')
      then(socket)
    })
  })
  const { port, connections } = await listen(server)
  return { url: `http://127.0.0.1:${port}/`, connections }
}

describe('a packed body', () => {
  const words = 'Grüße '.repeat(1000).trim()
  test.each([
    ['gzip', gzipSync(words)],
    ['x-gzip', gzipSync(words)],
    ['GZip', gzipSync(words)],
    ['deflate', deflateSync(words)],
    ['deflate', deflateRawSync(words)],
    ['br', brotliCompressSync(words)],
    ['zstd', zstdCompressSync(words)],
    ['identity', Buffer.from(words)],
  ])('in %s is unpacked', async (coding, body) => {
    const type = 'text/plain; charset=utf-8'
    const here = await site(serves(body, { 'content-encoding': coding, 'content-type': type }))
    expect(await textOf(here.url)).toBe(words)
    expect(here.requests[0]?.headers['accept-encoding']).toBe('gzip, deflate, br, zstd')
  })

  test.each(['gzip, gzip', 'compress', 'nonsense'])('in %s is refused', async (coding) => {
    const here = await site(serves('x', { 'content-encoding': coding }))
    expect(await failure(here.url)).toBe(`the answer is packed as "${coding}", which cannot be read here`)
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(64 * MiB, 'a'))],
    ['br', brotliCompressSync(Buffer.alloc(64 * MiB, 'a'), { params: { 1: 1 } })],
    ['zstd', zstdCompressSync(Buffer.alloc(64 * MiB, 'a'))],
  ])('that is a bomb of %s is read as far as the limit', async (coding, bomb) => {
    const here = await site(serves(bomb, { 'content-encoding': coding, 'content-type': 'text/plain' }))
    const before = process.memoryUsage().arrayBuffers
    const answer = await fetched(here.url, { maxBytes: MiB })
    expect(answer).toContain(
      '[characters 1–30000 of 1048576: give offset 30000 for more]\n[only the first 1.0 MiB were read]',
    )
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * MiB)
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test('that never comes to its content is read as far as the limit', async () => {
    const here = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
      // RFC 1952: the flag says that the name of a file comes first, and it has no end.
      response.write(Buffer.from('1f8b0808000000000000', 'hex'))
      const more = () => {
        while (!response.destroyed && response.write('a'.repeat(65536))) {}
      }
      response.on('drain', more)
      more()
    })
    expect(await fetched(here.url, { maxBytes: MiB })).toContain(
      '[only the first 1.0 MiB were read]\n[there is no text',
    )
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test('that is cut short is shown as far as it came', async () => {
    const packed = gzipSync(Array.from({ length: 5000 }, (_, index) => `line ${index}`).join('\n'))
    const half = packed.subarray(0, packed.length / 2)
    const here = await site(serves(half, { 'content-encoding': 'gzip', 'content-type': 'text/plain' }))
    expect(await textOf(here.url)).toMatch(/^line 0\nline 1\n/)
  })

  test('that is not what it says is a sentence', async () => {
    const here = await site(serves('not packed at all', { 'content-encoding': 'gzip' }))
    expect(await failure(here.url)).toBe(
      'the answer broke off (Z_DATA_ERROR) before anything of it could be read',
    )
  })
})

describe('a body', () => {
  test('without end is read as far as the limit', async () => {
    const here = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = () => {
        while (!response.destroyed && response.write('a'.repeat(65536))) {}
      }
      response.on('drain', more)
      more()
    })
    expect(await fetched(here.url, { maxBytes: MiB })).toContain(
      'of 1048576: give offset 30000 for more]\n[only',
    )
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test.each([999, 1000, 1001])('of %i bytes fits a limit of 1000, or is cut there', async (length) => {
    const here = await site(serves('a'.repeat(length), { 'content-type': 'text/plain' }))
    const answer = await fetched(here.url, { maxBytes: 1000 })
    expect(String(answer).includes('only the first 1000 bytes were read')).toBe(length > 1000)
    expect(answer).toMatch(new RegExp(`\n\na{${Math.min(length, 1000)}}$`))
  })

  test.each([
    [
      'a length that is too large',
      'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nhalf',
    ],
    [
      'chunks that never end',
      'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    ],
  ])('with %s is shown as far as it came, and said to be broken off', async (_, bytes) => {
    const { url } = await says(bytes)
    const answer = await fetched(url)
    expect(answer).toMatch(/\[the answer broke off \((ECONNRESET|HPE_\w+)\)\]/)
    expect(answer).toMatch(/\n\nhalf$/)
  })

  test.each([
    ['nothing comes', 'content-length: 100\r\n\r\n'],
    ['only garbage comes', 'transfer-encoding: chunked\r\n\r\nzz\r\n'],
  ])('of which %s is a sentence', async (_, bytes) => {
    const { url } = await says(`HTTP/1.1 200 OK\r\n${bytes}`)
    expect(await failure(url)).toBe('the answer broke off (ECONNRESET) before anything of it could be read')
  })

  test('longer than its length is read to its length', async () => {
    const { url } = await says(
      'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nhalf and more',
    )
    expect(await textOf(url)).toBe('half')
  })
})

describe('a server', () => {
  test.each([
    ['that speaks something else', 'SSH-2.0-OpenSSH_9.6\r\n', /does not speak proper HTTP \(HPE_\w+\)/],
    ['with headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`, /\(HPE_HEADER_OVERFLOW\)/],
    ['that says nothing', '', /closed the connection without an answer/],
    [
      'that wants to speak something else',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /without an answer/,
    ],
    ['with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', /HPE_/],
  ])('%s is told of in a sentence', async (_, bytes, sentence) => {
    const { url, connections } = await says(bytes)
    expect(await failure(url)).toMatch(sentence)
    await expect.poll(() => connections.open.size).toBe(0)
  })

  test('that is not there is told of without its address', async () => {
    const here = await says('')
    const { port } = new URL(here.url)
    const lookup = names({ 'gone.test': '127.0.0.9' })
    expect(await failure(`http://gone.test:${port}/`, { lookup, allow: ['gone.test'] })).toBe(
      `gone.test:${port} refuses connections: nothing listens there`,
    )
  })

  test('without an address is told of', async () => {
    expect(await failure('http://nowhere.test/')).toContain('there is no host named nowhere.test')
    const empty: Lookup = (_, __, done) => done(null, [])
    expect(await failure('http://nowhere.test/', { lookup: empty })).toContain('no host named')
  })

  test('whose name cannot be looked up just now is told of as that', async () => {
    const busy = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    expect(await failure('http://a.test/', { lookup: (_, __, done) => done(busy, []) })).toContain(
      'just now. Try again',
    )
  })
})

describe('time', () => {
  /** Everything that can take for ever. */
  const waits: readonly [string, (socket: Socket) => void][] = [
    ['the head', () => {}],
    ['the rest of the head', (socket) => socket.write('HTTP/1.1 200 OK\r\n')],
    ['the body', (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n')],
    [
      'a body that drips',
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n')
        const drip = setInterval(() => socket.write('a'), 5)
        socket.on('close', () => clearInterval(drip))
      },
    ],
    [
      'the body of an error',
      (socket) => socket.write('HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\n\r\nsorry'),
    ],
    [
      'a packed body',
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f', 'latin1'),
    ],
  ]

  test.each(waits)('is up while it waits for %s', async (_, then) => {
    const { url, connections } = await says('', then)
    expect(await failure(url, { timeoutMs: 60 })).toBe(`"${url}" gave no whole answer within 0.06 seconds`)
    await expect.poll(() => connections.open.size).toBe(0)
  })

  test('is up while a name is looked up, or a rule is asked', async () => {
    expect(await failure('http://a.test/', { timeoutMs: 20, lookup: () => {} })).toContain(
      'gave no whole answer',
    )
    const here = await site((_, response) => void response.writeHead(302, { location: '/a' }).end())
    const permits = () => new Promise<undefined>(() => {})
    expect(await failure(here.url, { timeoutMs: 60 }, { permits })).toContain('gave no whole answer')
  })

  test.each(waits)('does not matter when it is cancelled while it waits for %s', async (_, then) => {
    const stop = new AbortController()
    const { url, connections } = await says('', (socket) => {
      then(socket)
      setImmediate(() => stop.abort(new Error('cancelled')))
    })
    expect(await failure(url, {}, { signal: stop.signal })).toBe('cancelled')
    await expect.poll(() => connections.open.size).toBe(0)
  })

  test('does not begin if it was cancelled before', async () => {
    const here = await site(serves('x'))
    const signal = AbortSignal.abort(new Error('cancelled'))
    expect(await failure(here.url, {}, { signal })).toBe('cancelled')
    const lookup = names({ 'a.test': '127.0.0.1' })
    expect(await failure(`http://a.test:${here.port}`, { lookup }, { signal })).toBe('cancelled')
    expect(here.connections.made).toBe(0)
  })
})
