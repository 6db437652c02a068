import { fakeClock } from 'millrace/testing'
import { expect, test } from 'vitest'
import { joined, loudness, microphone, quiet, tone } from './listening.test-kit.ts'
import type { Transcriber } from './transcriber.ts'
import { heardRate } from './voice-activity.ts'

const utterance = joined(quiet(640), tone(640), quiet(960))

test('an utterance is told at its beginning, as it goes on, at its end, and in words', async () => {
  const { hear, events } = microphone()
  hear(utterance)
  await expect.poll(() => events.at(-1)?.type).toBe('transcript')
  expect(events).toEqual([
    { type: 'speech', atMs: 768, ms: 128 },
    { type: 'speech', atMs: 864, ms: 224 },
    { type: 'speech', atMs: 960, ms: 320 },
    { type: 'speech', atMs: 1056, ms: 416 },
    { type: 'speech', atMs: 1152, ms: 512 },
    { type: 'speech', atMs: 1248, ms: 608 },
    { type: 'silence', atMs: 1888, ms: 640 },
    // With 320 ms before it and 224 behind.
    { type: 'transcript', text: '1184', ms: 640 },
  ])
})

test('how the sound is cut changes nothing', async () => {
  const sound = joined(utterance, tone(100), quiet(900), utterance, tone(300), quiet(960))
  const heard = async (size: (at: number) => number) => {
    const { hear, events, transcripts } = microphone()
    for (let at = 0; at < sound.length; ) {
      const end = at + size(at)
      hear(sound.slice(at, end))
      at = end
      if (at % 3 === 0) await Promise.resolve()
    }
    await expect.poll(() => transcripts().length).toBe(3)
    // Words come a little later, and how much later is another matter.
    return [...events.filter(({ type }) => type !== 'transcript'), ...transcripts()]
  }
  const whole = await heard(() => sound.length)
  expect(whole.length).toBeGreaterThan(18)
  for (const size of [1, 7, 160, 511, 513, 4096]) expect(await heard(() => size)).toEqual(whole)
  expect(await heard((at) => 1 + ((at * 7919) % 977))).toEqual(whole)
})

test('a microphone may have any rate', async () => {
  for (const sampleRate of [8000, 44_100, 48_000]) {
    const { hear, types, events } = microphone({ sampleRate })
    // A tone that is left by any filter.
    const voice = Int16Array.from({ length: (sampleRate * 640) / 1000 }, (_, i) =>
      Math.round(9000 * Math.sin((2 * Math.PI * 440 * i) / sampleRate)),
    )
    hear(joined(quiet(640, sampleRate), voice, quiet(960, sampleRate)))
    await expect.poll(types).toEqual(['speech', 'silence', 'transcript'])
    const last = events.at(-1)
    expect(last?.type === 'transcript' && Math.abs(last.ms - 640) <= 64).toBe(true)
  }
})

test('what is shorter than 100 ms is nothing', async () => {
  const { hear, events, types } = microphone()
  hear(joined(quiet(320), tone(96), quiet(960)))
  hear(utterance)
  await expect.poll(types).toEqual(['speech', 'silence', 'transcript'])
  expect(events[0]).toMatchObject({ atMs: 320 + 96 + 960 + 640 + 128 })
})

test('a short pause is part of an utterance, a long one divides two', async () => {
  const { hear, transcripts } = microphone()
  hear(joined(quiet(320), tone(320), quiet(320), tone(320), quiet(960)))
  hear(joined(tone(320), quiet(640), tone(640), quiet(960)))
  await expect.poll(transcripts).toEqual(['1504', '864', '1184'])
})

test('writing down begins before the silence is over, and is given up when there is more', async () => {
  const asked: { ms: number; signal: AbortSignal }[] = []
  const transcriber: Transcriber = {
    async transcribe(pcm, { signal }) {
      asked.push({ ms: (pcm.length / heardRate) * 1000, signal })
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw signal.reason
    },
  }
  const { hear, soFar, types, close } = microphone({ transcriber })
  hear(joined(quiet(320), tone(320), quiet(320)))
  await expect.poll(() => asked.map(({ ms }) => ms)).toEqual([864])
  expect(types()).toEqual(['speech'])
  hear(tone(320))
  await expect.poll(() => asked[0]?.signal.aborted).toBe(true)
  const words = soFar()
  hear(quiet(960))
  await expect.poll(types).toEqual(['speech', 'silence'])
  expect(asked.map(({ ms }) => ms)).toEqual([864, 1280, 1504])
  close()
  expect(await words).toBe('')
  await expect.poll(() => asked.every(({ signal }) => signal.aborted)).toBe(true)
  expect(types()).toEqual(['speech', 'silence'])
})

test('one that is not eager asks the transcriber once', async () => {
  const asked: number[] = []
  const transcriber: Transcriber = {
    async transcribe(pcm) {
      asked.push((pcm.length / heardRate) * 1000)
      return 'once'
    },
  }
  const { hear, transcripts } = microphone({ transcriber, eager: false })
  hear(joined(quiet(320), tone(320), quiet(320)))
  await new Promise((resolve) => setImmediate(resolve))
  hear(joined(tone(320), quiet(960)))
  await expect.poll(transcripts).toEqual(['once'])
  expect(asked).toEqual([1504])
})

test('a long utterance is written down in pieces, cut where it is quiet', async () => {
  const pieces: Int16Array[] = []
  const transcriber: Transcriber = {
    async transcribe(pcm) {
      pieces.push(pcm)
      return `${pieces.length}`
    },
  }
  const { hear, transcripts, types } = microphone({ transcriber, maxMs: 2000, eager: false })
  for (let i = 0; i < 5; i++) hear(joined(tone(800), tone(200, { level: 1200 })))
  hear(quiet(960))
  await expect.poll(transcripts).toEqual(['1 2 3'])
  expect(types()).toEqual(['speech', 'silence', 'transcript'])
  for (const pcm of pieces) {
    expect(pcm.length).toBeLessThanOrEqual(heardRate * 2 + 512)
    // Not in the middle of what is loud.
    if (pcm !== pieces.at(-1)) expect(Math.abs(pcm.at(-1) ?? 0)).toBe(1200)
  }
  expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe((156 + 7) * 512)
})

test('speech without an end is answered all the same, and none of it is lost', async () => {
  const { hear, types, transcripts } = microphone({ maxMs: 1000 })
  for (let i = 0; i < 50; i++) {
    hear(tone(1000))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await expect.poll(() => transcripts().length).toBe(2)
  expect(types().filter((type) => type === 'silence').length).toBe(2)
  for (const text of transcripts()) {
    const pieces = text.split(' ').map(Number)
    expect(pieces.length).toBeGreaterThan(15)
    expect(pieces.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(20_000)
  }
})

test('what is not understood is told, and the next is', async () => {
  let asked = 0
  const transcriber: Transcriber = {
    async transcribe() {
      if (++asked === 1) throw new Error('no ears')
      return asked === 2 ? (undefined as never) : ' three '
    },
  }
  const { hear, types, transcripts, failures } = microphone({ transcriber })
  for (let i = 0; i < 3; i++) {
    hear(utterance)
    await expect.poll(() => transcripts().length).toBe(i + 1)
  }
  expect(transcripts()).toEqual(['', '', 'three'])
  expect(failures()).toEqual([
    new Error('no ears'),
    expect.objectContaining({ message: expect.stringMatching(/no text/) }),
  ])
  expect(types().slice(0, 4)).toEqual(['speech', 'silence', 'failed', 'transcript'])
})

test('a transcriber that hangs keeps nobody from being heard, and is given up', async () => {
  const clock = fakeClock()
  const signals: AbortSignal[] = []
  const transcriber: Transcriber = {
    transcribe(_pcm, { signal }) {
      signals.push(signal)
      return signals.length === 1 ? new Promise(() => {}) : Promise.resolve('second')
    },
  }
  const { hear, types, transcripts, failures } = microphone({ transcriber, clock, timeoutMs: 5000 })
  hear(utterance)
  hear(utterance)
  await expect.poll(types).toEqual(['speech', 'silence', 'speech', 'silence'])
  await clock.advance(4999)
  expect(transcripts()).toEqual([])
  await clock.advance(1)
  await expect.poll(transcripts).toEqual(['', 'second'])
  expect(failures()).toMatchObject([{ code: 'timeout', message: 'the transcriber took longer than 5000 ms' }])
  expect(signals[0]?.aborted).toBe(true)
})

test('what waits for a transcriber that is too slow is bounded, and the rest is told in its place', async () => {
  const open: ((text: string) => void)[] = []
  const transcriber: Transcriber = { transcribe: () => new Promise((resolve) => open.push(resolve)) }
  const { hear, types, transcripts, failures } = microphone({ transcriber, eager: false })
  for (let i = 0; i < 6; i++) hear(utterance)
  await expect.poll(() => types().filter((type) => type === 'silence').length).toBe(6)
  for (let i = 0; i < 4; i++) {
    await expect.poll(() => open.length).toBe(i + 1)
    open[i]?.(`${i}`)
  }
  await expect.poll(transcripts).toEqual(['0', '1', '2', '3', '', ''])
  expect(failures()).toMatchObject([{ code: 'overloaded' }, { code: 'overloaded' }])
})

test('a detector that fails is told of once, and heard again when it works', async () => {
  let isBroken = true
  const { detect } = loudness.open()
  const vad = {
    open: () => ({
      detect(pcm: Int16Array) {
        if (isBroken) throw new Error('deaf')
        return detect(pcm)
      },
    }),
  }
  const { hear, types, failures } = microphone({ vad })
  for (let i = 0; i < 3; i++) {
    hear(utterance)
    await expect.poll(() => failures().length).toBe(1)
  }
  isBroken = false
  hear(utterance)
  await expect.poll(types).toEqual(['failed', 'speech', 'silence', 'transcript'])
})

test('a detector that hangs is given up, and what waits for it is bounded', async () => {
  const clock = fakeClock()
  let asked = 0
  const vad = {
    open: () => ({
      detect(pcm: Int16Array) {
        return asked++ === 0 ? new Promise<number[]>(() => {}) : loudness.open().detect(pcm)
      },
    }),
  }
  const { hear, events, types } = microphone({ vad, clock, timeoutMs: 1000 })
  hear(quiet(100))
  for (let i = 0; i < 40; i++) hear(quiet(1000))
  expect(events).toMatchObject([{ type: 'failed', error: { code: 'overloaded' } }])
  await clock.advance(1000)
  hear(utterance)
  await expect.poll(types).toEqual(['failed', 'speech', 'silence', 'transcript'])
  // The sound that was dropped counts.
  expect(events[1]).toMatchObject({ atMs: 1277 * 32 })
})

test('nothing is lost while the detector is loaded, and one that cannot be is told of', async () => {
  const clock = fakeClock()
  const loaded = Promise.withResolvers<void>()
  const slow = microphone({ vad: { ...loudness, ready: () => loaded.promise }, clock, timeoutMs: 1000 })
  slow.hear(utterance)
  await clock.advance(5000)
  expect(slow.events).toEqual([])
  loaded.resolve()
  await expect.poll(slow.types).toEqual(['speech', 'silence', 'transcript'])

  const detect = async () => Promise.reject(new Error('no weights'))
  const vad = { open: () => ({ detect }), ready: detect }
  const { hear, failures } = microphone({ vad })
  hear(utterance)
  await expect.poll(failures).toEqual([new Error('no weights')])
})

test('what was said so far can be asked for', async () => {
  const { hear, soFar, types } = microphone()
  expect(await soFar()).toBe('')
  hear(joined(quiet(640), tone(320)))
  await expect.poll(types).toEqual(['speech'])
  const [first, second] = await Promise.all([soFar(), soFar()])
  expect([first, second]).toEqual(['640', '640'])
  hear(tone(320))
  await expect.poll(soFar).toBe('960')
  hear(quiet(960))
  await expect.poll(types).toEqual(['speech', 'silence', 'transcript'])
  expect(await soFar()).toBe('')
})

test('asked twice for what was said so far, the transcriber is asked once; if it fails there are no words', async () => {
  let asked = 0
  const transcriber: Transcriber = {
    async transcribe() {
      asked++
      throw new Error('no ears')
    },
  }
  const { hear, soFar, types, failures } = microphone({ transcriber })
  hear(joined(quiet(640), tone(320)))
  await expect.poll(types).toEqual(['speech'])
  expect(await Promise.all([soFar(), soFar(), soFar()])).toEqual(['', '', ''])
  expect(asked).toBe(1)
  expect(failures()).toEqual([])
})

test('after it is closed it hears nothing', async () => {
  const { hear, soFar, close, events, types } = microphone()
  hear(joined(quiet(640), tone(320)))
  await expect.poll(types).toEqual(['speech'])
  const before = events.length
  hear(tone(320))
  close()
  hear(utterance)
  expect(await soFar()).toBe('')
  await new Promise((resolve) => setImmediate(resolve))
  expect(events.length).toBe(before)
})

test('misuse says how to do it', () => {
  expect(() => microphone({ sampleRate: 4000 })).toThrow(
    /the sample rate must be a whole number from 8000 to 48000, not 4000/,
  )
  expect(() => microphone({ threshold: 1.5 })).toThrow(
    /'threshold' must be a number between 0 and 1, not 1.5/,
  )
  expect(() => microphone({ maxMs: 10 })).toThrow(/'maxMs' must be at least 1000 milliseconds, not 10/)
  expect(() => microphone({ vad: {} as never })).toThrow(
    /'vad' must be a VoiceActivity, as silero\(\) gives it/,
  )
  expect(() => microphone({ transcriber: null as never })).toThrow(/'transcriber' must be a Transcriber/)
  expect(() => microphone({ silencems: 3 } as never)).toThrow(/did you mean 'silenceMs'/)
})
