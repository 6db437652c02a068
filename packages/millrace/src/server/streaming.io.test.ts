import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import {
  contiguousText,
  entriesOf,
  socketClient,
  sseFrames,
  story,
  storyteller,
  until,
} from '../protocols/protocols.test-kit.ts'
import type { ServerOptions } from './index.ts'
import { rejectedUpgrade, served } from './server.test-kit.ts'

/**
 * A server with an empty thread `one`, whose agent streams slowly enough to be interrupted many
 * times.
 */
async function serveStory({
  times = 20,
  paceMs = 2,
  agents = storyteller(story.repeat(times), { paceMs }),
  ...options
} = {}) {
  const given = served(agents, options)
  const { url } = await given.app.listen()
  const thread = given.app.thread('one')
  await thread.create()
  return { ...given, url, thread, whole: story.repeat(times) }
}

/** The text in the log, read without interruptions. */
async function logOf(thread: Awaited<ReturnType<typeof serveStory>>['thread']): Promise<string> {
  return contiguousText(await thread.read({ limit: 100_000 }))
}

const hasEnded = (entries: readonly Entry[]) => entries.at(-1)?.event.type === 'run-end'

describe('server-sent events', () => {
  test('arrive as they are written, each with its number', async () => {
    const { url, thread, whole, followers } = await serveStory({ times: 2 })
    const response = await fetch(`${url}/threads/one/events`)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const entries: Entry[] = []
    await thread.send('Tell me.')
    for await (const { id, data, lines } of sseFrames(response.body)) {
      expect(lines.join('\n')).not.toContain('\r')
      if (id === undefined) continue
      const entry = JSON.parse(data ?? '') as Entry
      expect(id).toBe(String(entry.seq))
      entries.push(entry)
      if (hasEnded(entries)) break
    }
    expect(contiguousText(entries)).toBe(whole)
    expect(entries.filter(({ event }) => event.type === 'text').length).toBeGreaterThan(5)
    await until(() => followers() === 0)
  })

  test('a client that reconnects with Last-Event-ID gets every entry exactly once', async () => {
    const { url, thread, whole, followers } = await serveStory()
    await thread.send('Tell me.')
    const entries: Entry[] = []
    let cuts = 0
    while (!hasEnded(entries)) {
      const stop = new AbortController()
      const timer = setTimeout(() => stop.abort(), 5 + ((cuts * 37) % 120))
      const last = entries.at(-1)
      try {
        const response = await fetch(`${url}/threads/one/events?after=0`, {
          headers: last ? { 'last-event-id': String(last.seq) } : {},
          signal: stop.signal,
        })
        for await (const { id, data } of sseFrames(response.body)) {
          if (id !== undefined) entries.push(JSON.parse(data ?? '') as Entry)
          if (hasEnded(entries)) break
        }
      } catch {
        cuts++
      }
      clearTimeout(timer)
    }
    expect(cuts).toBeGreaterThan(3)
    expect(contiguousText(entries)).toBe(whole)
    expect(await logOf(thread)).toBe(whole)
    await until(() => followers() === 0)
  })

  test("a stream after 'now' sends its start number first, so that a browser can resume from it", async () => {
    const { url, thread, whole, app } = await serveStory({ times: 1 })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const { head } = await thread.info()
    const address = '/threads/one/events?after=now'
    for (const response of [
      await fetch(url + address),
      await app.fetch(new Request(`http://localhost${address}`)),
    ]) {
      const frames = sseFrames(response.body)
      expect((await frames.next()).value?.lines).toEqual([`id: ${head}`, 'retry: 1000'])
      await frames.return(undefined)
    }
    // Something happens in the meantime.
    const seq = await thread.send('Again.')
    const headers = { 'last-event-id': String(head) }
    const back = await fetch(`${url}${address}&until=${seq}`, { headers })
    expect(contiguousText(await entriesOf(back.body), head)).toBe(whole)
  })

  test("a stream after 'now' has new entries, and a page after 'now' is empty", async () => {
    const { url, thread, whole } = await serveStory({ times: 1 })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const { head } = await thread.info()
    const page = await fetch(`${url}/threads/one/events?after=now`, {
      headers: { accept: 'application/json' },
    })
    expect(await page.json()).toEqual({ entries: [], head })
    const response = await fetch(`${url}/threads/one/events?after=now`)
    await thread.send('Again.')
    const entries: Entry[] = []
    for await (const { data } of sseFrames(response.body)) {
      if (data !== undefined) entries.push(JSON.parse(data) as Entry)
      if (hasEnded(entries)) break
    }
    expect(contiguousText(entries, head)).toBe(whole)
  })

  test('that are requested behind other responses come after them', async () => {
    const { url, thread, whole } = await serveStory({ times: 1 })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    for (const path of ['/openapi.json', '/healthz', '/threads/one/events'])
      socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    await until(() => text.includes('retry: 1000'))
    await thread.send('Tell me.')
    await until(() => text.includes('"run-end"'))
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
    const stream = text.slice(text.indexOf('retry: 1000'))
    const entries = [...stream.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as Entry)
    expect(entries.map(({ from, seq }) => from ?? seq)[0]).toBe(1)
    expect(contiguousText(entries)).toBe(whole)
  })

  test('an idle stream sends heartbeats', async () => {
    const { url } = await serveStory({ heartbeatMs: 10 } as object)
    const response = await fetch(`${url}/threads/one/events`)
    let beats = 0
    for await (const { lines } of sseFrames(response.body)) if (lines[0] === ': ' && ++beats === 3) break
  })

  test('a stream of fetch() sends heartbeats too, and ends when it is canceled', async () => {
    const { app, followers } = await serveStory({ heartbeatMs: 5 } as object)
    const response = await app.fetch(new Request('http://localhost/threads/one/events'))
    let beats = 0
    for await (const { lines } of sseFrames(response.body)) if (lines[0] === ': ' && ++beats === 3) break
    await until(() => followers() === 0)
  })

  test('deleting a thread ends its followers', async () => {
    const { url, thread, followers } = await serveStory()
    const response = await fetch(`${url}/threads/one/events`)
    await until(() => followers() === 1)
    await thread.delete()
    const frames = await Array.fromAsync(sseFrames(response.body))
    expect(frames.some(({ event }) => event === 'end')).toBe(false)
    expect((await fetch(`${url}/threads/one/events`)).status).toBe(404)
  })

  test('nothing is followed for a client that disconnects before the response', async () => {
    let open: (() => void) | undefined
    const given = served(storyteller(), {
      auth: () =>
        new Promise((resolve) => {
          open = () => resolve({ user: 'ann' })
        }),
    })
    const { url } = await given.app.listen()
    await given.app.thread('one', { user: 'ann' }).create()
    const request = httpRequest(`${url}/threads/one/events`)
    request.on('error', () => {})
    request.end()
    await until(() => open !== undefined)
    request.destroy()
    // The server notices before it continues.
    await new Promise((resolve) => setTimeout(resolve, 20))
    open?.()
    await until(() => given.followers() === 0)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(given.followers()).toBe(0)
  })
})

describe('a client that does not read', () => {
  /** More than the kernel buffers. */
  const flood = 'x'.repeat(1024 * 1024)
  const floods = 24

  async function flooded(options: ServerOptions = {}) {
    const given = served(storyteller(flood, { deltaChars: 64 * 1024 }), options)
    const { url, port } = await given.app.listen()
    const thread = given.app.thread('one')
    for (let turn = 0; turn < floods; turn++) await thread.send(`Turn ${turn}`)
    for await (const _ of thread.follow({ until: 'idle' }));
    return { ...given, url, port, thread }
  }

  /** A connection that never reads. */
  async function stuckClient(port: number) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.write('GET /threads/one/events HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await new Promise((resolve) => socket.once('connect', resolve))
    return socket
  }

  test('does not delay others, and is disconnected', async () => {
    const { port, url, followers } = await flooded({ stuckMs: 2000 })
    await stuckClient(port)
    await until(() => followers() === 1)
    const entries = await entriesOf((await fetch(`${url}/threads/one/events?until=idle`)).body)
    expect(contiguousText(entries).length).toBe(floods * flood.length)
    await until(() => followers() === 0)
  })

  test('over a WebSocket is closed with code 1013', async () => {
    const { url, followers } = await flooded({ stuckMs: 500 })
    const client = await socketClient(`${url}/threads/one/socket`)
    await client.frame('ready')
    client.ws.pause()
    client.send({ type: 'resume', after: 0 })
    await until(() => followers() === 1)
    await until(() => followers() === 0)
    client.ws.resume()
    expect(await client.closed).toMatchObject({ code: 1013, reason: expect.stringContaining('too slow') })
    // What it received before has no gaps.
    contiguousText(client.entries())
  })
})

describe('many clients on one thread', () => {
  test('read at their own pace and get the same text', async () => {
    const { url, thread, whole, followers } = await serveStory({ times: 10, paceMs: 1 })
    const paces = [0, 0, 1, 5, 10]
    const bySse = paces.map(async (pace) => {
      const response = await fetch(`${url}/threads/one/events`)
      const entries: Entry[] = []
      for await (const { id, data } of sseFrames(response.body)) {
        if (id !== undefined) entries.push(JSON.parse(data ?? '') as Entry)
        if (hasEnded(entries)) break
        if (pace > 0) await new Promise((resolve) => setTimeout(resolve, pace))
      }
      return entries
    })
    const sockets = await Promise.all(paces.map(() => socketClient(`${url}/threads/one/socket?after=0`)))
    const bySocket = sockets.map(async (client, index) => {
      const pace = paces[index] ?? 0
      while (!hasEnded(client.entries())) {
        if (pace > 0) client.ws.pause()
        await new Promise((resolve) => setTimeout(resolve, pace))
        if (pace > 0) client.ws.resume()
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      return client.entries()
    })
    await until(() => followers() === 2 * paces.length)
    await thread.send('Tell me.')
    for (const entries of await Promise.all([...bySse, ...bySocket]))
      expect(contiguousText(entries)).toBe(whole)
    for (const { ws } of sockets) ws.close()
    await until(() => followers() === 0)
  })

  test('a socket with stream=false gets one message per run from now on', async () => {
    const { url, thread, whole } = await serveStory({ times: 1 })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const client = await socketClient(`${url}/threads/one/socket?stream=false`)
    client.send({ type: 'send', message: 'Again.' })
    expect(await client.frame('message')).toMatchObject({ text: whole })
    expect(client.frames.map(({ type }) => type)).toEqual(['ready', 'ack', 'message'])
  })

  test('a socket with after=now gets every entry after the head in `ready`', async () => {
    const { url, thread, whole } = await serveStory({ times: 1 })
    await thread.send('Tell me.')
    for await (const _ of thread.follow({ until: 'idle' }));
    const client = await socketClient(`${url}/threads/one/socket?after=now`)
    client.send({ type: 'send', message: 'Again.' })
    await client.frame('stream_end')
    const { head } = await client.frame('ready')
    expect(contiguousText(client.entries(), Number(head))).toBe(whole)
    const rejected = await rejectedUpgrade(`${url}/threads/one/socket?after=later`)
    expect(rejected.status).toBe(400)
    expect(rejected.body).toContain("'after' must be a whole number of at least 0, or 'now'")
  })

  test('a socket that is cut off repeatedly gets every entry exactly once', async () => {
    const { url, thread, whole, followers } = await serveStory()
    await thread.send('Tell me.')
    const entries: Entry[] = []
    let cuts = 0
    while (!hasEnded(entries)) {
      const client = await socketClient(`${url}/threads/one/socket?after=${entries.at(-1)?.seq ?? 0}`)
      const cutAt = performance.now() + 5 + ((cuts * 37) % 120)
      await until(() => performance.now() > cutAt || hasEnded(client.entries()))
      client.ws.terminate()
      entries.push(...client.entries())
      cuts++
    }
    expect(cuts).toBeGreaterThan(3)
    expect(contiguousText(entries)).toBe(whole)
    await until(() => followers() === 0)
  })
})
