import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HttpSpeechOptions } from './http-speech.ts'
import { httpSpeech } from './http-speech.ts'
import { collectAudio, never } from './speech.test-kit.ts'
import type { Answer } from './speech-server.test-kit.ts'
import { bytes, no, sound, speechServer, whole } from './speech-server.test-kit.ts'

let server: Awaited<ReturnType<typeof speechServer>>
let url: string

beforeEach(async () => {
  server = await speechServer()
  url = `${server.origin}/say`
})
afterEach(() => server.close())

function voice(options: Partial<HttpSpeechOptions> = {}) {
  return httpSpeech({ url, body: (text) => ({ text }), sampleRate: 24_000, ...options })
}

const invalidOptions: readonly [unknown, RegExp][] = [
  [undefined, /takes options/],
  [{ body: () => '', sampleRate: 1 }, /sampleRate/],
  [{ url: 'nowhere', body: () => '', sampleRate: 8000 }, /must be a URL/],
  [{ url: 'http://a.test', body: () => '' }, /needs the option 'sampleRate'/],
  [{ url: 'http://a.test', sampleRate: 8000 }, /needs the option 'body'/],
  [{ url: 'http://a.test', sampleRate: 8000, method: 'GET', body: () => '' }, /use the option 'query'/],
  [{ body: () => '', sampleRate: 8000 }, /needs the option 'url'/],
  [
    { url: 'http://me:secret@a.test', body: () => '', sampleRate: 8000 },
    /must not include a user name or password/,
  ],
  [{ url: 'http://a.test', body: () => '', samplerate: 8000 }, /did you mean 'sampleRate'/],
]

describe('httpSpeech()', () => {
  test('streams audio as it arrives, in chunks of any size', async () => {
    let goOn = () => {}
    server.answers.push((response) => {
      response.writeHead(200, { 'content-type': 'audio/pcm' })
      response.write(bytes.subarray(0, 1001))
      goOn = () => {
        response.write(bytes.subarray(1001, 1002))
        setImmediate(() => response.end(bytes.subarray(1002)))
      }
    })
    const chunks = voice().synthesize('Hello.', { signal: never })[Symbol.asyncIterator]()
    const first = await chunks.next()
    expect(first.value.pcm).toEqual(sound.slice(0, 500))
    goOn()
    const rest = await collectAudio({ [Symbol.asyncIterator]: () => chunks })
    expect(rest.pcm).toEqual(sound.slice(500))
    expect(rest.rates).toEqual([24_000])
  })

  test('builds the request from the options', async () => {
    server.answers.push(whole, whole, whole)
    await collectAudio(
      voice({ headers: { 'x-key': 'k' } }).synthesize('Hello.', { signal: never, voice: 'low' }),
    )
    const body = (text: string, { voice }: { voice?: string | undefined }) => `${voice}: ${text}`
    await collectAudio(
      voice({ body, headers: async () => ({ 'content-type': 'text/plain' }) }).synthesize('Hi.', {
        signal: never,
        voice: 'low',
      }),
    )
    const get = httpSpeech({
      url: `${url}?rate=2`,
      method: 'GET',
      query: (text) => ({ text }),
      sampleRate: 8000,
    })
    expect(await collectAudio(get.synthesize('a & b', { signal: never }))).toMatchObject({ rates: [8000] })
    expect(server.seen).toMatchObject([
      {
        method: 'POST',
        url: '/say',
        body: '{"text":"Hello."}',
        headers: { 'x-key': 'k', 'content-type': 'application/json' },
      },
      { method: 'POST', body: 'low: Hi.', headers: { 'content-type': 'text/plain' } },
      { method: 'GET', url: '/say?rate=2&text=a+%26+b', body: '' },
    ])
  })

  test('reads WAV with its sample rate', async () => {
    const header = Buffer.from(
      'RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\x02\0\x10\0data\0\0\0\0',
      'latin1',
    )
    header.writeUInt32LE(22_050, 24)
    server.answers.push((response) =>
      response.writeHead(200, { 'content-type': 'audio/wav' }).end(Buffer.concat([header, bytes])),
    )
    const { pcm, rates } = await collectAudio(
      httpSpeech({ url, body: (text) => text, format: 'wav' }).synthesize('Hi.', { signal: never }),
    )
    expect(pcm).toEqual(sound)
    expect(rates).toEqual([22_050])
  })

  test('a connection that breaks midway is an error, after the audio that arrived', async () => {
    let cut = () => {}
    server.answers.push((response) => {
      response.writeHead(200, { 'content-length': bytes.length })
      response.write(bytes.subarray(0, 2000))
      cut = () => response.destroy()
    })
    const got: number[] = []
    const said = async () => {
      for await (const { pcm } of voice().synthesize('Hello.', { signal: never })) {
        got.push(...pcm)
        if (got.length === 1000) cut()
      }
    }
    await expect(said()).rejects.toMatchObject({ code: 'stream_error', op: 'speech.synthesize' })
    expect(got).toEqual([...sound.slice(0, 1000)])
    // A retry would repeat speech.
    expect(server.seen).toHaveLength(1)
  })

  test('half a sample at the end is an error', async () => {
    server.answers.push((response) => response.end(bytes.subarray(0, 99)))
    await expect(collectAudio(voice().synthesize('Hello.', { signal: never }))).rejects.toThrow(
      'the audio ends early',
    )
  })

  test('a server that hangs times out', async () => {
    server.answers.push(() => {})
    server.answers.push((response) => response.writeHead(200).write(bytes.subarray(0, 10)))
    const hasty = voice({ timeoutMs: 50, attempts: 1 })
    const timeout = { code: 'timeout', message: expect.stringMatching(/sent nothing for 50 ms/) }
    await expect(collectAudio(hasty.synthesize('Hello.', { signal: never }))).rejects.toMatchObject(timeout)
    await expect(collectAudio(hasty.synthesize('Hello.', { signal: never }))).rejects.toMatchObject(timeout)
    await expect.poll(() => server.cutOff()).toBe(2)
  })

  test('retries a 429 and a 503, and yields the audio once', async () => {
    server.answers.push(
      no(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '1' }),
      no(503, {}),
      whole,
    )
    const { pcm } = await collectAudio(voice().synthesize('Hello.', { signal: never }))
    expect(pcm).toEqual(sound)
    expect(server.seen).toHaveLength(3)
  })

  test('respects the maximum number of attempts, and does not wait for a long retry-after', async () => {
    server.answers.push(no(503, {}), no(503, {}), whole)
    await expect(
      collectAudio(voice({ attempts: 2 }).synthesize('Hello.', { signal: never })),
    ).rejects.toMatchObject({
      code: 'overloaded',
      status: 503,
    })
    expect(server.seen).toHaveLength(2)
    server.answers.splice(0, 1, no(429, {}, { 'retry-after': '60' }))
    await expect(collectAudio(voice().synthesize('Hello.', { signal: never }))).rejects.toMatchObject({
      code: 'rate_limit',
      retryAfterMs: 60_000,
    })
    expect(server.seen).toHaveLength(3)
  })

  test('reports a 401 at once, without the key that it quotes', async () => {
    const headers = { authorization: 'Bearer very-secret-key-1' }
    server.answers.push(no(401, { error: { message: 'Incorrect API key provided: very-secret-key-1' } }))
    const failed = collectAudio(voice({ headers }).synthesize('Hello.', { signal: never }))
    await expect(failed).rejects.toMatchObject({
      code: 'auth',
      status: 401,
      message: expect.stringMatching(/\[key\]/),
    })
    await expect(failed).rejects.not.toMatchObject({ message: expect.stringMatching(/secret/) })
    expect(server.seen).toHaveLength(1)
  })

  test.each([
    [
      'application/json',
      '{"error":"no such voice"}',
      /sent application\/json instead of audio: .*no such voice/,
    ],
    ['text/html', '<html>', /sent text\/html instead of audio/],
    ['audio/mpeg', 'ID3', /sent audio\/mpeg, which is not supported: request pcm/],
    ['audio/x-wav', 'RIFF', /set format to 'wav'/],
  ])('rejects the content type %s', async (type, body, message) => {
    server.answers.push((response) => response.writeHead(200, { 'content-type': type }).end(body))
    await expect(collectAudio(voice().synthesize('Hello.', { signal: never }))).rejects.toMatchObject({
      code: 'llm_error',
      message: expect.stringMatching(message),
    })
  })

  test('retries an empty response, and then fails', async () => {
    const nothing: Answer = (response) => response.writeHead(200, { 'content-type': 'audio/pcm' }).end()
    server.answers.push(nothing, nothing)
    await expect(
      collectAudio(voice({ attempts: 2 }).synthesize('Hello.', { signal: never })),
    ).rejects.toMatchObject({
      code: 'stream_error',
      message: expect.stringMatching(/sent no audio/),
    })
    expect(server.seen).toHaveLength(2)
  })

  test('does not follow redirects', async () => {
    server.answers.push((response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end())
    await expect(collectAudio(voice().synthesize('Hello.', { signal: never }))).rejects.toThrow(
      /redirects to another address/,
    )
  })

  test('says which host cannot be reached', async () => {
    const unreachable = voice({ attempts: 1 })
    await server.close()
    await expect(collectAudio(unreachable.synthesize('Hello.', { signal: never }))).rejects.toMatchObject({
      code: 'stream_error',
      message: expect.stringMatching(/cannot reach 127\.0\.0\.1:\d+: ECONNREFUSED/),
    })
  })

  test.each(['before the response', 'midway', 'before the request'])(
    'an abort %s ends it and releases the connection',
    async (when) => {
      const stop = new AbortController()
      const aborted = { code: 'stream_interrupted' }
      server.answers.push((response) => {
        if (when === 'in the middle') response.writeHead(200).write(bytes.subarray(0, 100))
        else stop.abort()
      })
      if (when === 'before it is sent') stop.abort()
      const chunks = voice().synthesize('Hello.', { signal: stop.signal })[Symbol.asyncIterator]()
      if (when === 'in the middle') {
        await chunks.next()
        const next = chunks.next()
        stop.abort()
        await expect(next).rejects.toMatchObject(aborted)
      } else await expect(chunks.next()).rejects.toMatchObject(aborted)
      if (when === 'before it is sent') expect(server.seen).toEqual([])
      else await expect.poll(() => server.cutOff()).toBe(1)
    },
  )

  test('does not retry after an abort', async () => {
    const stop = new AbortController()
    server.answers.push(no(503, {}, { 'retry-after': '4' }))
    const said = collectAudio(voice().synthesize('Hello.', { signal: stop.signal }))
    await expect.poll(() => server.seen.length).toBe(1)
    stop.abort()
    await expect(said).rejects.toMatchObject({ code: 'stream_interrupted' })
    expect(server.seen).toHaveLength(1)
  })

  test('does not wait for a fetch that ignores the signal', async () => {
    const stop = new AbortController()
    let asked = 0
    const deaf = () => {
      asked++
      return new Promise<Response>(() => {})
    }
    const patient = voice({ fetch: deaf, timeoutMs: Number.POSITIVE_INFINITY })
    const soon = collectAudio(patient.synthesize('Hello.', { signal: stop.signal }))
    await expect.poll(() => asked).toBe(1)
    const sooner = collectAudio(patient.synthesize('Hello.', { signal: stop.signal }))
    stop.abort()
    await expect(soon).rejects.toMatchObject({ code: 'stream_interrupted' })
    await expect(sooner).rejects.toMatchObject({ code: 'stream_interrupted' })
    expect(asked).toBe(1)
  })

  test('releases the connection when the reader stops', async () => {
    server.answers.push((response) => response.writeHead(200).write(bytes))
    for await (const _ of voice().synthesize('Hello.', { signal: never })) break
    await expect.poll(() => server.cutOff()).toBe(1)
  })

  test.each(invalidOptions)('rejects %j', (options, message) => {
    expect(() => httpSpeech(options as never)).toThrow(message)
  })
})
