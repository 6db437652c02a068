import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { espeak } from './espeak.ts'
import { collectAudio, loudness, never } from './speech.test-kit.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-espeak-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isThere = await promisify(execFile)('espeak-ng', ['--version']).then(
  () => true,
  () => false,
)

// In CI, test/system-packages.ts makes sure that it is installed.
describe.skipIf(!isThere && !process.env.CI)('espeak-ng', () => {
  test('speaks without a long silence around it', async () => {
    const { pcm, sampleRate, rates, ms } = await collectAudio(
      espeak().synthesize('The order was shipped on Friday.', { signal: never }),
    )
    expect(rates).toEqual([22_050])
    expect(ms).toBeGreaterThan(1200)
    expect(ms).toBeLessThan(3500)
    expect(loudness(pcm, sampleRate, 30, 200)).toBeGreaterThan(300)
    expect(loudness(pcm, sampleRate, ms - 140)).toBe(0)
    expect(loudness(pcm, sampleRate, ms - 400, ms - 150)).toBeGreaterThan(300)
  })

  test('streams audio before all of it is synthesized', async () => {
    const text = 'The order was shipped on Friday. '.repeat(12)
    const { chunks } = await collectAudio(espeak().synthesize(text, { signal: never }))
    // A pipe holds 64 KB, which is less than two seconds.
    expect(chunks.length).toBeGreaterThan(8)
  })

  test('speaks other languages, by language or voice name', async () => {
    const say = async (options: object, text = 'Eins zwei drei.') =>
      (await collectAudio(espeak().synthesize(text, { signal: never, ...options }))).pcm
    const german = await say({ language: 'de' })
    expect(german).not.toEqual(await say({}))
    expect(await say({ language: 'de-AT' })).toEqual(german)
    expect(await say({ voice: 'de' })).toEqual(german)
    expect((await say({ language: 'zh-TW' }, '你好')).length).toBeGreaterThan(5000)
    expect(await say({ language: 'zh-HK' }, '你好')).toEqual(await say({ voice: 'yue' }, '你好'))
    expect((await say({ language: 'ru' }, 'Привет')).length).toBeGreaterThan(5000)
    const woman = espeak({ voice: 'de+f3' })
    const other = (await collectAudio(woman.synthesize('Eins zwei drei.', { signal: never, language: 'de' })))
      .pcm
    expect(other).not.toEqual(german)
    const chinese = espeak({ voice: 'cmn+f3' }).synthesize('你好', { signal: never, language: 'zh-TW' })
    expect((await collectAudio(chinese)).pcm).toEqual(await say({ voice: 'cmn+f3' }, '你好'))
    const back = (await collectAudio(woman.synthesize('Eins zwei drei.', { signal: never, language: 'en' })))
      .pcm
    expect(back).toEqual(await say({}))
  })

  test('speaks at the given speed', async () => {
    const text = 'The order was shipped on Friday.'
    const usual = await collectAudio(espeak().synthesize(text, { signal: never }))
    const fast = await collectAudio(espeak({ speed: 2 }).synthesize(text, { signal: never }))
    expect(fast.ms).toBeLessThan(usual.ms * 0.7)
  })

  test.each([
    ['a NUL', 'hello\0world', 'hello world'],
    ['its own phonemes', 'say [[h@l@U]] now', 'say [ [h@l@U]] now'],
    ['half a character', 'one \ud800 two', 'one \ufffd two'],
  ])('%s in a text is plain text', async (_, text, same) => {
    const say = async (text: string) => (await collectAudio(espeak().synthesize(text, { signal: never }))).pcm
    expect(await say(text)).toEqual(await say(same))
  })

  test.each(['-h', '--version', '<speak>hello</speak>', "'; exit #", '$(id)'])(
    '%s is only spoken',
    async (text) => {
      expect((await collectAudio(espeak().synthesize(text, { signal: never }))).ms).toBeGreaterThan(200)
    },
  )

  test('yields no audio for an empty text', async () => {
    for (const text of ['', ' \n', '\0'])
      expect((await collectAudio(espeak().synthesize(text, { signal: never }))).chunks).toEqual([])
  })

  test('streams the start of a long text before the end is synthesized', async () => {
    const chunks = espeak().synthesize('And so it runs on and on. '.repeat(2000), { signal: never })
    let ms = 0
    for await (const { pcm, sampleRate } of chunks) {
      ms += (pcm.length * 1000) / sampleRate
      if (ms > 5000) break
    }
    expect(ms).toBeLessThan(20_000)
  })

  test('reports an unknown voice, and rejects an invalid name', async () => {
    const unknown = collectAudio(espeak({ voice: 'xx' }).synthesize('Hi.', { signal: never }))
    await expect(unknown).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringMatching(/has no voice 'xx': run espeak-ng --voices for a list/),
    })
    for (const invalid of [
      { voice: '../../etc/passwd' },
      { voice: '-h' },
      { language: '../x' },
      { voice: '' },
    ])
      await expect(collectAudio(espeak().synthesize('Hi.', { signal: never, ...invalid }))).rejects.toThrow(
        /must be a name such as/,
      )
  })
})

describe('a program in place of espeak-ng', () => {
  test('that is missing: the error says how to install it', async () => {
    const nowhere = espeak({ program: join(folder, 'nowhere') })
    await expect(collectAudio(nowhere.synthesize('Hi.', { signal: never }))).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringMatching(/apt-get install espeak-ng/),
    })
  })

  test('that fails: the error includes its stderr', async () => {
    const bad = program('bad', 'printf RIFF; echo "no data" >&2; exit 3')
    await expect(collectAudio(espeak({ program: bad }).synthesize('Hi.', { signal: never }))).rejects.toThrow(
      /exited with 3: no data/,
    )
  })

  test('that writes no WAV file: reports an error', async () => {
    const wrong = program('wrong', 'cat >/dev/null; echo this is not a sound')
    await expect(
      collectAudio(espeak({ program: wrong }).synthesize('Hi.', { signal: never })),
    ).rejects.toThrow(/not a readable WAV file: it starts with "this"/)
  })

  test('that cannot be run: reports an error', async () => {
    const path = join(folder, 'plain')
    writeFileSync(path, 'no program')
    await expect(
      collectAudio(espeak({ program: path }).synthesize('Hi.', { signal: never })),
    ).rejects.toThrow(/cannot be run/)
  })

  test('that hangs: it is killed on abort and after the timeout', async () => {
    const pids = join(folder, 'pids')
    const slow = program('slow', `echo $$ >> ${pids}; exec sleep 1000`)
    const hasty = espeak({ program: slow, timeoutMs: 50 })
    await expect(collectAudio(hasty.synthesize('Hi.', { signal: never }))).rejects.toMatchObject({
      code: 'timeout',
    })
    // On a slow machine it may be killed before it has written its id.
    const { length } = pidsIn(pids)
    const stop = new AbortController()
    const said = collectAudio(espeak({ program: slow }).synthesize('Hi.', { signal: stop.signal }))
    await expect.poll(() => pidsIn(pids)).toHaveLength(length + 1)
    stop.abort()
    await expect(said).rejects.toMatchObject({ code: 'stream_interrupted' })
    for (const pid of pidsIn(pids)) expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })

  test('is not run after an abort, and killed when the reader stops', async () => {
    const pids = join(folder, 'more-pids')
    const header =
      'RIFF\\0\\0\\0\\0WAVEfmt \\020\\0\\0\\0\\001\\0\\001\\0\\042\\126\\0\\0\\0\\0\\0\\0\\002\\0\\020\\0data\\0\\0\\0\\0'
    const endless = program('endless', `echo $$ >> ${pids}; printf '${header}'; exec cat /dev/zero`)
    const voice = espeak({ program: endless })
    await expect(
      collectAudio(voice.synthesize('Hi.', { signal: AbortSignal.abort() })),
    ).rejects.toMatchObject({
      code: 'stream_interrupted',
    })
    for await (const { sampleRate } of voice.synthesize('Hi.', { signal: never })) {
      expect(sampleRate).toBe(22_050)
      break
    }
    const [pid = 0, ...others] = pidsIn(pids)
    expect(others).toEqual([])
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})

test.each([
  [{ speed: 9 }, /from 0.5 to 3/],
  [{ voice: 'a\0b' }, /must be a name/],
  [{ progam: 'x' }, /did you mean 'program'/],
  [null, /must be an object/],
])('rejects %j', (options, message) => {
  expect(() => espeak(options as never)).toThrow(message)
})

function program(name: string, script: string): string {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}

function pidsIn(path: string): number[] {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').map(Number)
  } catch {
    return []
  }
}
