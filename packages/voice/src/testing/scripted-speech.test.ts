import { describe, expect, test } from 'vitest'
import { fakeClock } from '../../../millrace/src/testing/fake-clock.ts'
import type { SpeechChunk } from '../index.ts'
import { scriptedSpeech } from './scripted-speech.ts'

const text = 'one two  three'

describe('scripted speech', () => {
  test('takes the same time for each character, and gives each word its own level', async () => {
    const voice = scriptedSpeech({ msPerChar: 10, sampleRate: 8000, chunkMs: 33 })
    const chunks = await all(voice.synthesize(text, { signal: never }))
    const pcm = chunks.flatMap((chunk) => [...chunk.pcm])
    expect(pcm).toHaveLength(14 * 80)
    expect(chunks.map((chunk) => chunk.pcm.length)).toEqual([264, 264, 264, 264, 64])
    const words = chunks.flatMap((chunk) => chunk.words ?? [])
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(['one', 'two', 'three'])
    expect(words.at(-1)).toEqual({ start: 9, end: 14, startMs: 90, endMs: 140 })
    for (const [at, character] of [...text].entries()) {
      const word = words.find(({ start, end }) => at >= start && at < end)
      const level = word ? voice.levelOf(text.slice(word.start, word.end)) : 0
      expect(new Set(pcm.slice(at * 80, at * 80 + 80)), character).toEqual(new Set([level]))
    }
    expect(new Set(['one', 'two', 'three'].map(voice.levelOf)).size).toBe(3)
  })

  test('includes word timings in the chunk where the word starts, unless disabled', async () => {
    const voice = scriptedSpeech({ msPerChar: 10, chunkMs: 45 })
    const chunks = await all(voice.synthesize(text, { signal: never }))
    expect(chunks.map((chunk) => chunk.words?.map((word) => word.start))).toEqual([[0, 4], [], [9], []])
    const silent = scriptedSpeech({ words: false })
    const [first] = await all(silent.synthesize(text, { signal: never }))
    expect(first).not.toHaveProperty('words')
  })

  test('records the texts, their options and how much audio was produced', async () => {
    const voice = scriptedSpeech({ msPerChar: 10 })
    await all(voice.synthesize('one', { signal: never, voice: 'low', language: 'en' }))
    await all(voice.synthesize('', { signal: never }))
    expect(voice.texts).toEqual([
      { text: 'one', options: { voice: 'low', language: 'en' }, ms: 30, aborted: false },
      { text: '', options: {}, ms: 0, aborted: false },
    ])
  })

  test('uses its clock', async () => {
    const clock = fakeClock()
    const voice = scriptedSpeech({ msPerChar: 10, chunkMs: 70, delayMs: 500, paceMs: 100, clock })
    await clock.until(all(voice.synthesize(text, { signal: never })))
    expect(clock.now()).toBe(600)
  })

  test('fails for the configured texts', async () => {
    const own = new TypeError('no')
    const fail = (text: string) => (text === 'bad' ? 'cannot say bad' : text === 'own' ? own : undefined)
    const voice = scriptedSpeech({ fail })
    await expect(all(voice.synthesize('bad', { signal: never }))).rejects.toThrow('cannot say bad')
    await expect(all(voice.synthesize('own', { signal: never }))).rejects.toBe(own)
    await expect(all(voice.synthesize('good', { signal: never }))).resolves.toHaveLength(1)
  })

  test('hangs until it is aborted', async () => {
    const voice = scriptedSpeech({ hang: (text) => text === 'slow' })
    const stop = new AbortController()
    const spoken = all(voice.synthesize('slow', { signal: stop.signal }))
    await expect(all(voice.synthesize('quick', { signal: never }))).resolves.toHaveLength(2)
    expect(voice.texts[0]).toMatchObject({ aborted: false })
    stop.abort(new Error('enough'))
    await expect(spoken).rejects.toThrow('enough')
    expect(voice.texts[0]).toMatchObject({ ms: 0, aborted: true })
  })

  test('hangs even after an abort with ignore-abort', async () => {
    const voice = scriptedSpeech({ hang: () => 'ignore-abort' })
    const stop = new AbortController()
    let ended = false
    all(voice.synthesize('slow', { signal: stop.signal })).catch(() => {
      ended = true
    })
    stop.abort()
    await new Promise((resolve) => setImmediate(resolve))
    expect(ended).toBe(false)
    expect(voice.texts[0]).toMatchObject({ aborted: true })
  })

  test('records an abort in the middle, but not one after the end', async () => {
    const voice = scriptedSpeech({ msPerChar: 10, chunkMs: 70 })
    for (const [index, chunks, aborted] of [
      [0, 1, true],
      [1, 2, false],
    ] as const) {
      const stop = new AbortController()
      const spoken = voice.synthesize(text, { signal: stop.signal })[Symbol.asyncIterator]()
      for (let count = 0; count < chunks; count++) await spoken.next()
      stop.abort(new Error('enough'))
      const rest = spoken.next()
      await (aborted
        ? expect(rest).rejects.toThrow('enough')
        : expect(rest).resolves.toMatchObject({ done: true }))
      expect(voice.texts[index]).toMatchObject({ ms: 70 * chunks, aborted })
    }
  })

  test('rejects unknown options', () => {
    expect(() => scriptedSpeech({ pace: 3 } as never)).toThrow(/did you mean 'paceMs'/)
    expect(() => scriptedSpeech({ chunkMs: 0 })).toThrow(/chunkMs/)
    expect(() => scriptedSpeech({ sampleRate: 1 })).toThrow(/sampleRate/)
  })
})

const never = new AbortController().signal

async function all(chunks: AsyncIterable<SpeechChunk>): Promise<SpeechChunk[]> {
  return Array.fromAsync(chunks)
}
