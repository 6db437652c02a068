import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HttpSpeechOptions } from './http-speech.ts'
import { httpSpeech } from './http-speech.ts'
import { heard, never } from './speech.test-kit.ts'
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

const refused: readonly [unknown, RegExp][] = [
  [undefined, /takes options/],
  [{ body: () => '', sampleRate: 1 }, /sampleRate/],
  [{ url: 'nowhere', body: () => '', sampleRate: 8000 }, /must be an address/],
  [{ url: 'http://a.test', body: () => '' }, /needs the option 'sampleRate'/],
  [{ url: 'http://a.test', sampleRate: 8000 }, /needs the option 'body'/],
  [{ url: 'http://a.test', sampleRate: 8000, method: 'GET', body: () => '' }, /use the option 'query'/],
  [{ body: () => '', sampleRate: 8000 }, /needs the option 'url'/],
  [{ url: 'http://me:secret@a.test', body: () => '', sampleRate: 8000 }, /no user name and no password/],
  [{ url: 'http://a.test', body: () => '', samplerate: 8000 }, /did you mean 'sampleRate'/],
]

describe('a voice over HTTP', () => {
  test('gives out sound as it comes, whatever cuts it', async () => {
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
    const rest = await heard({ [Symbol.asyncIterator]: () => chunks })
    expect(rest.pcm).toEqual(sound.slice(500))
    expect(rest.rates).toEqual([24_000])
  })

  test('sends the text as it is told to', async () => {
    server.answers.push(whole, whole, whole)
    await heard(voice({ headers: { 'x-key': 'k' } }).synthesize('Hello.', { signal: never, voice: 'low' }))
    const body = (text: string, { voice }: { voice?: string | undefined }) => `${voice}: ${text}`
    await heard(
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
    expect(await heard(get.synthesize('a & b', { signal: never }))).toMatchObject({ rates: [8000] })
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

  test('reads WAV, and takes its rate from it', async () => {
    const header = Buffer.from(
      'RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\x02\0\x10\0data\0\0\0\0',
      'latin1',
    )
    header.writeUInt32LE(22_050, 24)
    server.answers.push((response) =>
      response.writeHead(200, { 'content-type': 'audio/wav' }).end(Buffer.concat([header, bytes])),
    )
    const { pcm, rates } = await heard(
      httpSpeech({ url, body: (text) => text, format: 'wav' }).synthesize('Hi.', { signal: never }),
    )
    expect(pcm).toEqual(sound)
    expect(rates).toEqual([22_050])
  })

  test('a connection that breaks in the middle is an error, after the sound that came', async () => {
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
    // To begin anew would say the same twice.
    expect(server.seen).toHaveLength(1)
  })

  test('half a sample at the end is an error', async () => {
    server.answers.push((response) => response.end(bytes.subarray(0, 99)))
    await expect(heard(voice().synthesize('Hello.', { signal: never }))).rejects.toThrow(
      'the sound breaks off',
    )
  })

  test('a server that hangs is given up', async () => {
    server.answers.push(() => {})
    server.answers.push((response) => response.writeHead(200).write(bytes.subarray(0, 10)))
    const hasty = voice({ timeoutMs: 50, attempts: 1 })
    const timeout = { code: 'timeout', message: expect.stringMatching(/has given nothing for 50 ms/) }
    await expect(heard(hasty.synthesize('Hello.', { signal: never }))).rejects.toMatchObject(timeout)
    await expect(heard(hasty.synthesize('Hello.', { signal: never }))).rejects.toMatchObject(timeout)
    await expect.poll(() => server.cutOff()).toBe(2)
  })

  test('a 429 and a 503 are tried again, and the sound comes once', async () => {
    server.answers.push(
      no(429, { error: { message: 'slow down' } }, { 'retry-after-ms': '1' }),
      no(503, {}),
      whole,
    )
    const { pcm } = await heard(voice().synthesize('Hello.', { signal: never }))
    expect(pcm).toEqual(sound)
    expect(server.seen).toHaveLength(3)
  })

  test('tries no more often than it is told, and not at all if it is asked to wait for long', async () => {
    server.answers.push(no(503, {}), no(503, {}), whole)
    await expect(heard(voice({ attempts: 2 }).synthesize('Hello.', { signal: never }))).rejects.toMatchObject(
      {
        code: 'overloaded',
        status: 503,
      },
    )
    expect(server.seen).toHaveLength(2)
    server.answers.splice(0, 1, no(429, {}, { 'retry-after': '60' }))
    await expect(heard(voice().synthesize('Hello.', { signal: never }))).rejects.toMatchObject({
      code: 'rate_limit',
      retryAfterMs: 60_000,
    })
    expect(server.seen).toHaveLength(3)
  })

  test('a 401 is told at once, without the key that it quotes', async () => {
    const headers = { authorization: 'Bearer very-secret-key-1' }
    server.answers.push(no(401, { error: { message: 'Incorrect API key provided: very-secret-key-1' } }))
    const failed = heard(voice({ headers }).synthesize('Hello.', { signal: never }))
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
      /sent application\/json instead of sound: .*no such voice/,
    ],
    ['text/html', '<html>', /sent text\/html instead of sound/],
    ['audio/mpeg', 'ID3', /sent audio\/mpeg, which cannot be read: ask it for pcm/],
    ['audio/x-wav', 'RIFF', /set format to 'wav'/],
  ])('%s is no sound', async (type, body, message) => {
    server.answers.push((response) => response.writeHead(200, { 'content-type': type }).end(body))
    await expect(heard(voice().synthesize('Hello.', { signal: never }))).rejects.toMatchObject({
      code: 'llm_error',
      message: expect.stringMatching(message),
    })
  })

  test('an answer with nothing in it is tried again, and then told', async () => {
    const nothing: Answer = (response) => response.writeHead(200, { 'content-type': 'audio/pcm' }).end()
    server.answers.push(nothing, nothing)
    await expect(heard(voice({ attempts: 2 }).synthesize('Hello.', { signal: never }))).rejects.toMatchObject(
      {
        code: 'stream_error',
        message: expect.stringMatching(/sent no sound/),
      },
    )
    expect(server.seen).toHaveLength(2)
  })

  test('is not led to another host', async () => {
    server.answers.push((response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end())
    await expect(heard(voice().synthesize('Hello.', { signal: never }))).rejects.toThrow(/sends us on/)
  })

  test('says which host cannot be reached', async () => {
    const nobody = voice({ attempts: 1 })
    await server.close()
    await expect(heard(nobody.synthesize('Hello.', { signal: never }))).rejects.toMatchObject({
      code: 'stream_error',
      message: expect.stringMatching(/cannot reach 127\.0\.0\.1:\d+: ECONNREFUSED/),
    })
  })

  test.each(['before an answer', 'in the middle', 'before it is sent'])(
    'aborted %s, it ends and lets go',
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

  test('aborted while it waits to try again, it does not', async () => {
    const stop = new AbortController()
    server.answers.push(no(503, {}, { 'retry-after': '4' }))
    const said = heard(voice().synthesize('Hello.', { signal: stop.signal }))
    await expect.poll(() => server.seen.length).toBe(1)
    stop.abort()
    await expect(said).rejects.toMatchObject({ code: 'stream_interrupted' })
    expect(server.seen).toHaveLength(1)
  })

  test('a fetch that does not look at the signal is not waited for', async () => {
    const stop = new AbortController()
    let asked = 0
    const deaf = () => {
      asked++
      return new Promise<Response>(() => {})
    }
    const patient = voice({ fetch: deaf, timeoutMs: Number.POSITIVE_INFINITY })
    const soon = heard(patient.synthesize('Hello.', { signal: stop.signal }))
    await expect.poll(() => asked).toBe(1)
    const sooner = heard(patient.synthesize('Hello.', { signal: stop.signal }))
    stop.abort()
    await expect(soon).rejects.toMatchObject({ code: 'stream_interrupted' })
    await expect(sooner).rejects.toMatchObject({ code: 'stream_interrupted' })
    expect(asked).toBe(1)
  })

  test('who stops listening lets go of the connection', async () => {
    server.answers.push((response) => response.writeHead(200).write(bytes))
    for await (const _ of voice().synthesize('Hello.', { signal: never })) break
    await expect.poll(() => server.cutOff()).toBe(1)
  })

  test.each(refused)('%j is refused', (options, message) => {
    expect(() => httpSpeech(options as never)).toThrow(message)
  })
})
