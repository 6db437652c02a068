import { once } from 'node:events'
import { request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Lookup } from '../../web-fetch/resolve.ts'
import { listen, names, site } from '../../web-fetch/site.test-kit.ts'
import { hostProxy } from './proxy.ts'

/** The proxy of a sandboxed command, in this process. */
async function proxyFor(hosts: readonly string[], limits: Parameters<typeof hostProxy>[1] = {}) {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = listener.address() as AddressInfo
  const session = hostProxy(hosts, limits).serve(listener)
  onTestFinished(() => session.close())

  async function get(url: string, { method = 'GET', headers = {}, body = '' } = {}) {
    const asked = request({
      port,
      method,
      path: url,
      headers: { host: 'other.test', ...headers },
      agent: false,
    })
    asked.end(body)
    const [answer] = await once(asked, 'response')
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
  }

  /** The first response, and the connection. */
  async function tunnel(target: string): Promise<{ head: string; socket: Socket }> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    onTestFinished(() => void socket.destroy())
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`)
    const [head] = await once(socket, 'data')
    return { head: String(head), socket }
  }

  return { ...session, port, get, tunnel }
}

/** Echoes everything when the other side is done, then ends. */
async function echo(): Promise<number> {
  // Not `text(socket)`: reading to the end closes both directions in some versions of Node.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes
    })
    socket.on('end', () => socket.end(`received ${received}`))
  })
  const { port } = await listen(server)
  return port
}

describe('a host on the list', () => {
  test('gets the http request of the client, with its own host name', async () => {
    const here = await site((asked, response) => {
      response.writeHead(201, { 'x-answer': 'yes', 'keep-alive': 'timeout=9', 'set-cookie': ['a=1', 'b=2'] })
      asked.pipe(response)
    })
    const proxy = await proxyFor([`localhost:${here.port}`])
    const headers = {
      'x-own': 'kept',
      'x-hop': 'dropped',
      connection: 'x-hop',
      'proxy-authorization': 'secret',
    }
    const url = `http://localhost:${here.port}/a/b?c=d`
    const answer = await proxy.get(url, { method: 'POST', headers, body: 'body' })
    expect(answer).toMatchObject({ status: 201, body: 'body', headers: { 'x-answer': 'yes' } })
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    const [asked] = here.requests
    expect(asked).toMatchObject({ method: 'POST', url: '/a/b?c=d' })
    expect(asked?.headers).toMatchObject({ host: `localhost:${here.port}`, 'x-own': 'kept' })
    expect(asked?.headers).not.toHaveProperty('x-hop')
    expect(asked?.headers).not.toHaveProperty('proxy-authorization')
  })

  test('is connected through a tunnel, and both sides can end independently', async () => {
    const port = await echo()
    const { tunnel } = await proxyFor([`localhost:${port}`])
    const { head, socket } = await tunnel(`localhost:${port}`)
    expect(head).toBe('HTTP/1.1 200 Connection established\r\n\r\n')
    socket.end('these words')
    expect(await text(socket)).toBe('received these words')
  })

  test('that does not respond is reported', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port: gone } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const proxy = await proxyFor([`127.0.0.1:${gone}`, 'nowhere.test'], { lookup: names({}) })
    expect(await proxy.get(`http://127.0.0.1:${gone}/`)).toMatchObject({ status: 502 })
    expect((await proxy.tunnel(`127.0.0.1:${gone}`)).head).toMatch(/^HTTP\/1.1 502 .*refuses connections/s)
    expect((await proxy.tunnel('nowhere.test:443')).head).toMatch(/^HTTP\/1.1 502 .*no host named/s)
    expect([...proxy.denied]).toEqual([])
  })

  test.each([
    ['HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok', 502],
    ['HTTP/1.1 200 OK\r\nTrailer: x\r\nContent-Length: 2\r\n\r\nok', 200],
    ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 502],
    ['nonsense\r\n\r\n', 502],
    ['', 502],
  ])('that responds %j is handled', async (bytes, status) => {
    const { port } = await listen(createServer((socket) => socket.resume().end(bytes)))
    const proxy = await proxyFor([`localhost:${port}`])
    expect(await proxy.get(`http://localhost:${port}/`)).toMatchObject({ status })
  })

  test('is disconnected when the client disconnects', async () => {
    const silent = await site(() => {})
    const proxy = await proxyFor([`localhost:${silent.port}`])
    const asked = request({ port: proxy.port, path: `http://localhost:${silent.port}/`, agent: false })
    asked.on('error', () => {})
    asked.end()
    await expect.poll(() => silent.connections.open.size).toBe(1)
    asked.destroy()
    await expect.poll(() => silent.connections.open.size).toBe(0)
  })

  test('is looked up once, and connected to at that address', async () => {
    const here = await site((_, response) => response.end('one'))
    let asked = 0
    const lookup: Lookup = (_, __, callback) =>
      callback(null, [{ address: asked++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }])
    const proxy = await proxyFor([`localhost:${here.port}`], { lookup })
    expect(await proxy.get(`http://localhost:${here.port}/`)).toMatchObject({ status: 200, body: 'one' })
    expect(asked).toBe(1)
  })
})

describe('denied', () => {
  test('are hosts that are not on the list, with an explanation', async () => {
    const here = await site((_, response) => response.end('reached'))
    const proxy = await proxyFor(['registry.test', '*.example.test', `127.0.0.1:${here.port}`], {
      lookup: names({}),
    })
    const why = 'is not allowed from this sandbox. Allowed: registry.test, *.example.test'
    expect(await proxy.get('http://evil.test/')).toMatchObject({
      status: 403,
      body: expect.stringContaining(`evil.test ${why}`),
    })
    expect((await proxy.tunnel('evil.test:443')).head).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/)
    for (const other of [
      'example.test:443',
      'registry.test:22',
      `localhost:${here.port}`,
      'registry.test.evil.test:443',
      'registry.test@evil.test:443',
      `127.0.0.2:${here.port}`,
      `[::ffff:127.0.0.1]:${here.port}`,
    ])
      expect((await proxy.tunnel(other)).head).toContain(' 403 ')
    // The list applies to the normalized address.
    expect((await proxy.tunnel(`0x7f.1:${here.port}`)).head).toContain(' 200 ')
    expect([...proxy.denied]).toEqual(expect.arrayContaining(['evil.test', 'registry.test:22']))
    expect(here.asked).toEqual([])
  })

  test.each([
    ['127.0.0.1', 'a loopback address'],
    ['10.1.2.3', 'a private address'],
    ['169.254.169.254', 'a link-local address'],
    ['::ffff:10.0.0.1', 'a private address'],
  ])('is a name that resolves to %s', async (address, what) => {
    const lookup = names({ 'mixed.test': ['93.184.215.14', address], 'sub.any.test': address })
    const proxy = await proxyFor(['mixed.test', '*.any.test', '*'], { lookup })
    expect(await proxy.get('http://mixed.test/')).toMatchObject({ status: 403 })
    expect((await proxy.tunnel('sub.any.test:443')).head).toContain(`sub.any.test (${what}) is not allowed`)
  })

  test('are localhost and addresses, unless they are listed with their port', async () => {
    const here = await site((_, response) => response.end('inside'))
    const all = await proxyFor(['*', `*:${here.port}`])
    expect(await all.get(`http://localhost:${here.port}/`)).toMatchObject({ status: 403 })
    expect(await all.get(`http://127.0.0.1:${here.port}/`)).toMatchObject({ status: 403 })
    const other = await proxyFor([`*:${here.port}`, 'localhost', '127.0.0.1'])
    expect(await other.get(`http://localhost:${here.port}/`)).toMatchObject({ status: 403 })
    const named = await proxyFor([`127.0.0.1:${here.port}`])
    expect(await named.get(`http://127.0.0.1:${here.port}/`)).toMatchObject({ body: 'inside' })
  })

  test('is not a name that resolves to a listed address', async () => {
    const here = await site((_, response) => response.end('inside'))
    const lookup = names({ 'git.corp.test': '127.0.0.1', 'both.corp.test': ['127.0.0.1', '127.0.0.2'] })
    const proxy = await proxyFor([`*.corp.test:${here.port}`, `127.0.0.1:${here.port}`], { lookup })
    expect(await proxy.get(`http://git.corp.test:${here.port}/`)).toMatchObject({ body: 'inside' })
    expect(await proxy.get(`http://both.corp.test:${here.port}/`)).toMatchObject({ status: 403 })
  })

  test('are requests that are not for a proxy', async () => {
    const proxy = await proxyFor(['*'])
    for (const url of ['/', 'https://example.com/', 'ftp://example.com/'])
      expect(await proxy.get(url)).toMatchObject({ status: 400 })
    expect((await proxy.tunnel('not a host')).head).toContain(' 400 ')
  })
})

describe('connections', () => {
  test('end when idle', async () => {
    const { port } = await listen(createServer())
    const proxy = await proxyFor([`localhost:${port}`], { idleMs: 500 })
    const { head, socket } = await proxy.tunnel(`localhost:${port}`)
    expect(head).toContain(' 200 ')
    await once(socket.resume(), 'end')
  })

  test('are limited in number', async () => {
    const { port } = await listen(createServer())
    const proxy = await proxyFor([`localhost:${port}`], { maxConnections: 1 })
    await proxy.tunnel(`localhost:${port}`)
    const second = connect(proxy.port)
    second.on('error', () => {})
    await once(second, 'close')
  })

  test('end with the proxy, on both sides', async () => {
    const { port, connections } = await listen(createServer((socket) => void socket.resume()))
    const proxy = await proxyFor([`localhost:${port}`])
    const { socket } = await proxy.tunnel(`localhost:${port}`)
    await expect.poll(() => connections.open.size).toBe(1)
    proxy.close()
    await once(socket.resume(), 'end')
    await expect.poll(() => connections.open.size).toBe(0)
    const late = connect(proxy.port)
    const [error] = await once(late, 'error')
    expect(error.code).toBe('ECONNREFUSED')
  })
})
