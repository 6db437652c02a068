import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openaiSpeech } from './openai-speech.ts'
import { collectAudio, never } from './speech.test-kit.ts'
import { no, sound, speechServer, whole } from './speech-server.test-kit.ts'

let server: Awaited<ReturnType<typeof speechServer>>

beforeEach(async () => {
  server = await speechServer()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await server.close()
})

describe("OpenAI's speech API", () => {
  test('gets a request for raw samples', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-from-environment-1')
    server.answers.push(whole, whole)
    const baseURL = `${server.origin}/v1/`
    const plain = await collectAudio(openaiSpeech({ baseURL }).synthesize('Hello.', { signal: never }))
    expect(plain.pcm).toEqual(sound)
    expect(plain.sampleRate).toBe(24_000)
    const rich = openaiSpeech({
      baseURL,
      apiKey: async () => 'sk-mine',
      model: 'tts-1',
      voice: 'sage',
      instructions: 'Calm.',
      speed: 1.5,
    })
    await collectAudio(rich.synthesize('Half \ud800 of it.', { signal: never, voice: 'nova' }))
    expect(server.seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/v1/audio/speech', 'Bearer sk-from-environment-1'],
      ['/v1/audio/speech', 'Bearer sk-mine'],
    ])
    expect(server.seen.map(({ body }) => JSON.parse(body))).toEqual([
      { model: 'gpt-4o-mini-tts', voice: 'alloy', input: 'Hello.', response_format: 'pcm' },
      {
        model: 'tts-1',
        voice: 'nova',
        input: 'Half \ufffd of it.',
        response_format: 'pcm',
        instructions: 'Calm.',
        speed: 1.5,
      },
    ])
  })

  test('uses OPENAI_BASE_URL, and other hosts need no key', async () => {
    vi.stubEnv('OPENAI_BASE_URL', server.origin)
    vi.stubEnv('OPENAI_API_KEY', '')
    server.answers.push(whole)
    await collectAudio(openaiSpeech().synthesize('Hello.', { signal: never }))
    expect(server.seen[0]?.url).toBe('/audio/speech')
    expect(server.seen[0]?.headers).not.toHaveProperty('authorization')
    vi.stubEnv('OPENAI_BASE_URL', 'nowhere')
    expect(() => openaiSpeech()).toThrow(/OPENAI_BASE_URL in the environment must be a URL/)
  })

  test('the error for a missing or invalid key says what to do', async () => {
    vi.stubEnv('OPENAI_BASE_URL', '')
    vi.stubEnv('OPENAI_API_KEY', '')
    const authError = {
      code: 'auth',
      message: expect.stringMatching(/set OPENAI_API_KEY, or pass apiKey to openaiSpeech\(\)/),
    }
    await expect(collectAudio(openaiSpeech().synthesize('Hello.', { signal: never }))).rejects.toMatchObject(
      authError,
    )
    const broken = collectAudio(
      openaiSpeech({ apiKey: 'sk-secret\n' }).synthesize('Hello.', { signal: never }),
    )
    await expect(broken).rejects.toMatchObject(authError)
    await expect(broken).rejects.not.toMatchObject({ message: expect.stringMatching(/secret/) })
  })

  test('reports its error message', async () => {
    server.answers.push(
      no(400, {
        error: { message: "Invalid value: 'x'. Supported voices are alloy", type: 'invalid_request_error' },
      }),
    )
    const said = collectAudio(
      openaiSpeech({ baseURL: server.origin, apiKey: 'k' }).synthesize('Hello.', {
        signal: never,
        voice: 'x',
      }),
    )
    await expect(said).rejects.toMatchObject({
      code: 'llm_error',
      status: 400,
      message: expect.stringMatching(/Supported voices/),
    })
  })

  test.each([
    [{ speed: 5 }, /from 0.25 to 4/],
    [{ baseUrl: 'http://a.test' }, /did you mean 'baseURL'/],
    [{ apiKey: 3 }, /apiKey/],
    ['x', /must be an object/],
  ])('rejects %j', (options, message) => {
    expect(() => openaiSpeech(options as never)).toThrow(message)
  })
})
