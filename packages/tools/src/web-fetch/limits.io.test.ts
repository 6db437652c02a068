import { createServer, type Socket } from 'node:net'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { Lookup } from './resolve.ts'
import { failure, fetched, listen, names, serves, site, textOf } from './site.test-kit.ts'

const MiB = 1024 * 1024

/** A server that sends exactly these bytes, and ends. */
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

describe('a compressed body', () => {
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
  ])('in %s is decompressed', async (coding, body) => {
    const type = 'text/plain; charset=utf-8'
    const here = await site(serves(body, { 'content-encoding': coding, 'content-type': type }))
    expect(await textOf(here.url)).toBe(words)
    expect(here.requests[0]?.headers['accept-encoding']).toBe('gzip, deflate, br, zstd')
  })

  test.each(['gzip, gzip', 'compress', 'nonsense'])('in %s is rejected', async (coding) => {
    const here = await site(serves('x', { 'content-encoding': coding }))
    expect(await failure(here.url)).toBe(`the response is compressed as "${coding}", which is not supported`)
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(64 * MiB, 'a'))],
    ['br', brotliCompressSync(Buffer.alloc(64 * MiB, 'a'), { params: { 1: 1 } })],
    ['zstd', zstdCompressSync(Buffer.alloc(64 * MiB, 'a'))],
  ])('that is a %s bomb is read up to the limit', async (coding, bomb) => {
    const here = await site(serves(bomb, { 'content-encoding': coding, 'content-type': 'text/plain' }))
    const before = process.memoryUsage().arrayBuffers
    const result = await fetched(here.url, { maxBytes: MiB })
    expect(result).toContain(
      '[characters 1–30000 of 1048576: use offset 30000 for more]\n[only the first 1.0 MiB were read]',
    )
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * MiB)
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test('that never reaches its content is read up to the limit', async () => {
    const here = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' })
      // RFC 1952: the flag announces a file name, which never ends.
      response.write(Buffer.from('1f8b0808000000000000', 'hex'))
      const more = () => {
        while (!response.destroyed && response.write('a'.repeat(65536))) {}
      }
      response.on('drain', more)
      more()
    })
    expect(await fetched(here.url, { maxBytes: MiB })).toContain(
      '[only the first 1.0 MiB were read]\n[no text found',
    )
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test('that is truncated is returned as far as it was received', async () => {
    const packed = gzipSync(Array.from({ length: 5000 }, (_, index) => `line ${index}`).join('\n'))
    const half = packed.subarray(0, packed.length / 2)
    const here = await site(serves(half, { 'content-encoding': 'gzip', 'content-type': 'text/plain' }))
    expect(await textOf(here.url)).toMatch(/^line 0\nline 1\n/)
  })

  test('with invalid data is explained', async () => {
    const here = await site(serves('not packed at all', { 'content-encoding': 'gzip' }))
    expect(await failure(here.url)).toBe(
      'the response was cut off (Z_DATA_ERROR) before any of it could be read',
    )
  })
})

describe('a body', () => {
  test('without end is read up to the limit', async () => {
    const here = await site((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = () => {
        while (!response.destroyed && response.write('a'.repeat(65536))) {}
      }
      response.on('drain', more)
      more()
    })
    expect(await fetched(here.url, { maxBytes: MiB })).toContain(
      'of 1048576: use offset 30000 for more]\n[only',
    )
    await expect.poll(() => here.connections.open.size).toBe(0)
  })

  test.each([999, 1000, 1001])('of %i bytes fits a limit of 1000, or is cut there', async (length) => {
    const here = await site(serves('a'.repeat(length), { 'content-type': 'text/plain' }))
    const result = await fetched(here.url, { maxBytes: 1000 })
    expect(String(result).includes('only the first 1000 bytes were read')).toBe(length > 1000)
    expect(result).toMatch(new RegExp(`\n\na{${Math.min(length, 1000)}}$`))
  })

  test.each([
    [
      'a content-length that is too large',
      'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\nhalf',
    ],
    [
      'chunks that never end',
      'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n',
    ],
  ])('with %s is returned as far as it was received, with a note', async (_, bytes) => {
    const { url } = await says(bytes)
    const result = await fetched(url)
    expect(result).toMatch(/\[the response was cut off \((ECONNRESET|HPE_\w+)\)\]/)
    expect(result).toMatch(/\n\nhalf$/)
  })

  test.each([
    ['nothing is received', 'content-length: 100\r\n\r\n'],
    ['only garbage is received', 'transfer-encoding: chunked\r\n\r\nzz\r\n'],
  ])('is explained if %s', async (_, bytes) => {
    const { url } = await says(`HTTP/1.1 200 OK\r\n${bytes}`)
    expect(await failure(url)).toBe('the response was cut off (ECONNRESET) before any of it could be read')
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
    ['with another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', /does not return valid HTTP \(HPE_\w+\)/],
    ['with headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`, /\(HPE_HEADER_OVERFLOW\)/],
    ['that sends nothing', '', /closed the connection without a response/],
    [
      'that switches protocols',
      'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      /without a response/,
    ],
    ['with two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab', /HPE_/],
  ])('%s is explained', async (_, bytes, sentence) => {
    const { url, connections } = await says(bytes)
    expect(await failure(url)).toMatch(sentence)
    await expect.poll(() => connections.open.size).toBe(0)
  })

  test('that is down is explained without its address', async () => {
    const here = await says('')
    const { port } = new URL(here.url)
    const lookup = names({ 'gone.test': '127.0.0.9' })
    expect(await failure(`http://gone.test:${port}/`, { lookup, allow: ['gone.test'] })).toBe(
      `gone.test:${port} refuses connections: no server is listening there`,
    )
  })

  test('without an address is explained', async () => {
    expect(await failure('http://nowhere.test/')).toContain('there is no host named nowhere.test')
    const empty: Lookup = (_, __, done) => done(null, [])
    expect(await failure('http://nowhere.test/', { lookup: empty })).toContain('no host named')
  })

  test('with a temporary lookup failure is explained', async () => {
    const busy = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    expect(await failure('http://a.test/', { lookup: (_, __, done) => done(busy, []) })).toContain(
      'at the moment. Try again',
    )
  })
})

describe('the timeout', () => {
  /** Everything that can take forever. */
  const waits: readonly [string, (socket: Socket) => void][] = [
    ['the headers', () => {}],
    ['the rest of the headers', (socket) => socket.write('HTTP/1.1 200 OK\r\n')],
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
      'the body of an error response',
      (socket) => socket.write('HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\n\r\nsorry'),
    ],
    [
      'a compressed body',
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f', 'latin1'),
    ],
  ]

  test.each(waits)('applies while waiting for %s', async (_, then) => {
    const { url, connections } = await says('', then)
    expect(await failure(url, { timeoutMs: 60 })).toBe(
      `"${url}" did not return a complete response within 0.06 seconds`,
    )
    await expect.poll(() => connections.open.size).toBe(0)
  })

  test('applies to lookups and permission checks', async () => {
    expect(await failure('http://a.test/', { timeoutMs: 20, lookup: () => {} })).toContain(
      'did not return a complete response',
    )
    const here = await site((_, response) => void response.writeHead(302, { location: '/a' }).end())
    const checkAccess = () => new Promise<undefined>(() => {})
    expect(await failure(here.url, { timeoutMs: 60 }, { checkAccess })).toContain(
      'did not return a complete response',
    )
  })

  test.each(waits)('does not matter for a call canceled while waiting for %s', async (_, then) => {
    const stop = new AbortController()
    const { url, connections } = await says('', (socket) => {
      then(socket)
      setImmediate(() => stop.abort(new Error('canceled')))
    })
    expect(await failure(url, {}, { signal: stop.signal })).toBe('canceled')
    await expect.poll(() => connections.open.size).toBe(0)
  })

  test('does not start for a call that is already canceled', async () => {
    const here = await site(serves('x'))
    const signal = AbortSignal.abort(new Error('canceled'))
    expect(await failure(here.url, {}, { signal })).toBe('canceled')
    const lookup = names({ 'a.test': '127.0.0.1' })
    expect(await failure(`http://a.test:${here.port}`, { lookup }, { signal })).toBe('canceled')
    expect(here.connections.made).toBe(0)
  })
})
