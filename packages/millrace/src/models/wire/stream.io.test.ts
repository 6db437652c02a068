import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { agent } from '../../agent/index.ts'
import type { ModelEvent } from '../../protocol/index.ts'
import { MillraceError } from '../../protocol/index.ts'
import { openaiChat } from '../openai-chat/model.ts'
import type { HttpCall } from './http.ts'
import type { Fetch } from './http-response.ts'
import type { WireReader } from './stream.ts'
import { parseFrame, streamEvents } from './stream.ts'
import { callTo, drain, generator, httpServer, key, overEachTransport } from './wire.test-kit.ts'

const text = (words: string): ModelEvent => ({ type: 'text', text: words })
const done: ModelEvent = { type: 'done', finish: 'stop' }

/**
 * A minimal reader: every event is text; `END` ends the answer, `FIN` allows the end, `BAD` is an
 * error.
 */
function plainReader(events: ModelEvent[]): WireReader {
  let [ended, mayEnd] = [false, false]
  const finish = () => {
    ended = true
    events.push(done)
  }
  return {
    read(data) {
      if (data === 'BAD') throw new MillraceError({ op: 'model.stream', code: 'overloaded', message: 'busy' })
      if (data === 'TYPO') throw new TypeError('a bug')
      if (data === 'END') finish()
      else if (data === 'FIN') mayEnd = true
      else events.push(text(data))
    },
    end() {
      if (mayEnd && !ended) finish()
    },
    get ended() {
      return ended
    },
  }
}

const stream = (call: HttpCall) => generator(streamEvents({ prepare: async () => call, open: plainReader }))

const framed = (list: readonly string[]) => list.map((data) => `data: ${data}\n\n`).join('')
const frames = (...list: string[]) => framed(list)

const sse = { 'content-type': 'text/event-stream' }

/** A server that sends this body; the test controls the rest. */
const sending = (body: string, then: (response: ServerResponse) => void = () => {}) =>
  httpServer((_, response) => {
    response.writeHead(200, sse)
    response.write(body, () => then(response))
  })

/** Bytes in these pieces, from a fetch that ignores signals. */
function pieces(...list: string[]): { fetch: Fetch; canceled: ReturnType<typeof vi.fn> } {
  const canceled = vi.fn()
  const fetch: Fetch = async () => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = list.shift()
        if (next === undefined) return new Promise(() => {})
        controller.enqueue(new TextEncoder().encode(next))
      },
      cancel: canceled,
    })
    return new Response(body, { headers: sse })
  }
  return { fetch, canceled }
}

overEachTransport('by %s', (usual) => {
  const callBy = (url: string, over: Partial<HttpCall> = {}) => callTo(url, { fetch: usual, ...over })

  describe('a stream of events', () => {
    test('ends with its terminal event, and disconnects if the server does not', async () => {
      await using server = await sending(frames('a', 'b', 'END', 'too late'))
      expect(await drain(stream(callBy(server.url)))).toStrictEqual({
        events: [text('a'), text('b'), done],
        error: undefined,
      })
      await server.disconnected
    })

    test('that ends cleanly without its terminal event is incomplete', async () => {
      await using server = await sending(frames('a'), (response) => response.end())
      const { events, error } = await drain(stream(callBy(server.url)))
      expect(events).toStrictEqual([text('a')])
      expect(error).toMatchObject({ code: 'stream_error', retryable: true })
      expect(error?.message).toContain('without its terminal event')
    })

    test('that is empty is incomplete', async () => {
      await using server = await sending('', (response) => response.end())
      expect((await drain(stream(callBy(server.url)))).error).toMatchObject({ code: 'stream_error' })
    })

    test('that is reset has emitted the events before', async () => {
      await using server = await sending(`${frames('a', 'b')}data: c`, (response) =>
        response.socket?.resetAndDestroy(),
      )
      const { events, error } = await drain(stream(callBy(server.url)))
      expect(error).toMatchObject({ code: 'stream_error', retryable: true })
      expect(error?.message).toMatch(/^them: the stream broke off: /)
      expect(events).not.toContainEqual(text('c'))
    })

    test('that is shorter than its content-length is broken', async () => {
      await using server = await httpServer((_, response) => {
        response.writeHead(200, { ...sse, 'content-length': '1000' })
        response.write(frames('a'), () => response.socket?.end())
      })
      const { events, error } = await drain(stream(callBy(server.url)))
      expect(events).toStrictEqual([text('a')])
      expect(error).toMatchObject({ code: 'stream_error', retryable: true })
    })

    test('may end or break where the API allows it', async () => {
      const good = { events: [text('a'), done], error: undefined }
      await using ending = await sending(frames('a', 'FIN'), (response) => response.end())
      expect(await drain(stream(callBy(ending.url)))).toStrictEqual(good)
      await using cutting = await httpServer((_, response) => {
        response.writeHead(200, { ...sse, 'content-length': '1000' })
        response.write(frames('a', 'FIN'), () => response.socket?.end())
      })
      expect(await drain(stream(callBy(cutting.url)))).toStrictEqual(good)
    })

    test('emits the last event even without the blank line after it', async () => {
      await using server = await sending(`${frames('a')}data: END`, (response) => response.end())
      expect(await drain(stream(callBy(server.url)))).toStrictEqual({
        events: [text('a'), done],
        error: undefined,
      })
    })

    test.each([
      ['a provider error', 'BAD', { code: 'overloaded', message: 'busy' }],
      [
        'an error of the reader',
        'TYPO',
        { code: 'stream_error', message: 'them: the stream broke off: a bug' },
      ],
    ])(
      'with %s emits the events before it and none after it, however it is split',
      async (_, bad, failure) => {
        const whole = frames('a', 'b', bad, 'c', 'END')
        for (const list of [[whole], whole.split(/(?<=\n\n)/), [...whole]]) {
          const { fetch, canceled } = pieces(...list)
          const { events, error } = await drain(stream(callBy('https://host.test', { fetch })))
          expect(events).toStrictEqual([text('a'), text('b')])
          expect(error).toMatchObject(failure)
          expect(canceled).toHaveBeenCalled()
        }
      },
    )

    test('with an event that is too long fails permanently', async () => {
      const { fetch } = pieces(frames('a'), `data: ${'x'.repeat(65 * 1024 * 1024)}`)
      const { events, error } = await drain(stream(callBy('https://host.test', { fetch })))
      expect(events).toStrictEqual([text('a')])
      expect(error).toMatchObject({ code: 'stream_error', retryable: false })
    })

    test('may bring many events at once', async () => {
      const many = Array.from({ length: 200_000 }, (_, at) => String(at))
      const { fetch } = pieces(framed([...many, 'END']))
      const { events } = await drain(stream(callBy('https://host.test', { fetch })))
      expect(events).toHaveLength(200_001)
    })

    test('shows no key from the error that broke it', async () => {
      const fetch: Fetch = async () =>
        new Response(
          new ReadableStream({ start: (controller) => controller.error(new Error(`no ${key}`)) }),
          {
            headers: sse,
          },
        )
      const { error } = await drain(stream(callBy('https://host.test', { fetch })))
      expect(error?.message).toBe('them: the stream broke off: no [key]')
    })
  })

  describe('a reader that stops early', () => {
    test('closes the socket and leaves no listener on the signal', async () => {
      await using server = await sending(frames('a', 'b'))
      const { signal } = new AbortController()
      for await (const event of stream(callBy(server.url, { signal }))) {
        expect(event).toStrictEqual(text('a'))
        break
      }
      await server.disconnected
      expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    })

    test('by throwing does the same', async () => {
      await using server = await sending(frames('a'))
      const reading = async () => {
        for await (const _ of stream(callBy(server.url))) throw new Error('mine')
      }
      await expect(reading()).rejects.toThrow('mine')
      await server.disconnected
    })

    test('before the first event has sent nothing', async () => {
      const prepare = vi.fn()
      await generator(streamEvents({ prepare, open: plainReader })).return()
      expect(prepare).not.toHaveBeenCalled()
    })
  })

  describe('an abort', () => {
    test('mid-stream ends the stream, closes the socket and leaves no listener on the signal', async () => {
      await using server = await sending(frames('a'))
      const controller = new AbortController()
      const iterator = stream(callBy(server.url, { signal: controller.signal }))
      expect((await iterator.next()).value).toStrictEqual(text('a'))
      const rest = drain(iterator)
      controller.abort()
      const { events, error } = await rest
      expect(events).toStrictEqual([])
      expect(error).toMatchObject({ code: 'stream_interrupted', retryable: false })
      await server.disconnected
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    })

    test('after the end leaves no listener on the signal either', async () => {
      await using server = await sending(frames('a', 'END'), (response) => response.end())
      const { signal } = new AbortController()
      await drain(stream(callBy(server.url, { signal })))
      await vi.waitFor(() => expect(getEventListeners(signal, 'abort')).toHaveLength(0))
    })

    test('mid-stream works with a fetch that ignores signals', async () => {
      const controller = new AbortController()
      const { fetch, canceled } = pieces(frames('a'))
      const iterator = stream(callBy('https://host.test', { fetch, signal: controller.signal }))
      await iterator.next()
      const rest = drain(iterator)
      controller.abort()
      expect((await rest).error).toMatchObject({ code: 'stream_interrupted' })
      expect(canceled).toHaveBeenCalledOnce()
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0)
    })

    test.each([
      ['is empty', []],
      ['is complete', [frames('a', 'END')]],
    ])('while such a fetch waits for a response that %s takes effect once it arrives', async (_, list) => {
      const controller = new AbortController()
      const { fetch, canceled } = pieces(...list)
      const late: Fetch = async (url, init) => {
        const response = await fetch(url, init)
        controller.abort()
        return response
      }
      const call = callBy('https://host.test', { fetch: late, signal: controller.signal })
      const { events, error } = await drain(stream(call))
      expect(events).toStrictEqual([])
      expect(error).toMatchObject({ code: 'stream_interrupted' })
      expect(canceled).toHaveBeenCalledOnce()
    })
  })

  describe('an answer that continues', () => {
    test('is requested again with a new request, and emitted as one', async () => {
      const bodies = [frames('a', 'END'), frames('b', 'END')]
      const prepared: number[] = []
      const fetch: Fetch = async () => new Response(bodies.shift() ?? null, { headers: sse })
      const { events, error } = await drain(
        streamEvents({
          async prepare() {
            prepared.push(prepared.length)
            return callBy('https://host.test', { fetch })
          },
          open: plainReader,
          needsAnother: () => bodies.length > 0,
        }),
      )
      expect(prepared).toStrictEqual([0, 1])
      expect(events).toStrictEqual([text('a'), done, text('b'), done])
      expect(error).toBeUndefined()
    })
  })

  test('an event that is not JSON is a stream error that does not quote it', () => {
    expect(parseFrame('{"a":1}', 'them')).toStrictEqual({ a: 1 })
    expect(() => parseFrame('{"a":', 'them')).toThrow(
      expect.objectContaining({
        code: 'stream_error',
        retryable: true,
        message: expect.stringContaining('not valid JSON'),
      }),
    )
  })
})

test('a connection is reused, even if the end comes a moment after the last event', async () => {
  let connections = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'text/event-stream')
      response.write(
        'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      )
      setTimeout(() => response.end(), 1)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.closeAllConnections())
  onTestFinished(() => void server.close())
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const requests = 10
  for (let at = 0; at < requests; at++) {
    const ended = new Promise((resolve) =>
      server.once('request', (_, response) => response.once('close', resolve)),
    )
    expect((await agent({ model: openaiChat('m', { baseURL }) }).run('x')).text).toBe('hi')
    await ended
  }
  // If responses were canceled at the last event, each request would need a new connection.
  expect(connections).toBeLessThan(requests)
})
