import { fakeClock } from 'millrace/testing'
import { expect, test } from 'vitest'
import { joined, loudness, microphone, quiet, tone } from './listening.test-kit.ts'
import type { Transcriber } from './transcriber.ts'
import { listeningSampleRate } from './voice-activity.ts'

const utterance = joined(quiet(640), tone(640), quiet(960))

test('emits events at the start of an utterance, during it, at its end, and its transcript', async () => {
  const { push, events } = microphone()
  push(utterance)
  await expect.poll(() => events.at(-1)?.type).toBe('transcript')
  expect(events).toEqual([
    { type: 'speech', atMs: 768, ms: 128 },
    { type: 'speech', atMs: 864, ms: 224 },
    { type: 'speech', atMs: 960, ms: 320 },
    { type: 'speech', atMs: 1056, ms: 416 },
    { type: 'speech', atMs: 1152, ms: 512 },
    { type: 'speech', atMs: 1248, ms: 608 },
    { type: 'silence', atMs: 1888, ms: 640 },
    // With 320 ms before it and 224 ms after it.
    { type: 'transcript', text: '1184', ms: 640 },
  ])
})

test('the chunking of the audio does not matter', async () => {
  const sound = joined(utterance, tone(100), quiet(900), utterance, tone(300), quiet(960))
  const eventsFor = async (size: (at: number) => number) => {
    const { push, events, transcripts } = microphone()
    for (let at = 0; at < sound.length; ) {
      const end = at + size(at)
      push(sound.slice(at, end))
      at = end
      if (at % 3 === 0) await Promise.resolve()
    }
    await expect.poll(() => transcripts().length).toBe(3)
    // Transcripts come a little later, after a variable delay.
    return [...events.filter(({ type }) => type !== 'transcript'), ...transcripts()]
  }
  const whole = await eventsFor(() => sound.length)
  expect(whole.length).toBeGreaterThan(18)
  for (const size of [1, 7, 160, 511, 513, 4096]) expect(await eventsFor(() => size)).toEqual(whole)
  expect(await eventsFor((at) => 1 + ((at * 7919) % 977))).toEqual(whole)
})

test('a microphone may have any sample rate', async () => {
  for (const sampleRate of [8000, 44_100, 48_000]) {
    const { push, types, events } = microphone({ sampleRate })
    // A tone that passes all filters.
    const voice = Int16Array.from({ length: (sampleRate * 640) / 1000 }, (_, i) =>
      Math.round(9000 * Math.sin((2 * Math.PI * 440 * i) / sampleRate)),
    )
    push(joined(quiet(640, sampleRate), voice, quiet(960, sampleRate)))
    await expect.poll(types).toEqual(['speech', 'silence', 'transcript'])
    const last = events.at(-1)
    expect(last?.type === 'transcript' && Math.abs(last.ms - 640) <= 64).toBe(true)
  }
})

test('ignores sounds shorter than 100 ms', async () => {
  const { push, events, types } = microphone()
  push(joined(quiet(320), tone(96), quiet(960)))
  push(utterance)
  await expect.poll(types).toEqual(['speech', 'silence', 'transcript'])
  expect(events[0]).toMatchObject({ atMs: 320 + 96 + 960 + 640 + 128 })
})

test('a short pause is part of an utterance, a long one separates two', async () => {
  const { push, transcripts } = microphone()
  push(joined(quiet(320), tone(320), quiet(320), tone(320), quiet(960)))
  push(joined(tone(320), quiet(640), tone(640), quiet(960)))
  await expect.poll(transcripts).toEqual(['1504', '864', '1184'])
})

test('transcription starts during the silence, and is dropped if speech continues', async () => {
  const asked: { ms: number; signal: AbortSignal }[] = []
  const transcriber: Transcriber = {
    async transcribe(pcm, { signal }) {
      asked.push({ ms: (pcm.length / listeningSampleRate) * 1000, signal })
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw signal.reason
    },
  }
  const { push, partialTranscript, types, close } = microphone({ transcriber })
  push(joined(quiet(320), tone(320), quiet(320)))
  await expect.poll(() => asked.map(({ ms }) => ms)).toEqual([864])
  expect(types()).toEqual(['speech'])
  push(tone(320))
  await expect.poll(() => asked[0]?.signal.aborted).toBe(true)
  const words = partialTranscript()
  push(quiet(960))
  await expect.poll(types).toEqual(['speech', 'silence'])
  expect(asked.map(({ ms }) => ms)).toEqual([864, 1280, 1504])
  close()
  expect(await words).toBe('')
  await expect.poll(() => asked.every(({ signal }) => signal.aborted)).toBe(true)
  expect(types()).toEqual(['speech', 'silence'])
})

test('without eager, it calls the transcriber once', async () => {
  const asked: number[] = []
  const transcriber: Transcriber = {
    async transcribe(pcm) {
      asked.push((pcm.length / listeningSampleRate) * 1000)
      return 'once'
    },
  }
  const { push, transcripts } = microphone({ transcriber, eager: false })
  push(joined(quiet(320), tone(320), quiet(320)))
  await new Promise((resolve) => setImmediate(resolve))
  push(joined(tone(320), quiet(960)))
  await expect.poll(transcripts).toEqual(['once'])
  expect(asked).toEqual([1504])
})

test('a long utterance is transcribed in pieces, cut where it is quiet', async () => {
  const pieces: Int16Array[] = []
  const transcriber: Transcriber = {
    async transcribe(pcm) {
      pieces.push(pcm)
      return `${pieces.length}`
    },
  }
  const { push, transcripts, types } = microphone({ transcriber, maxMs: 2000, eager: false })
  for (let i = 0; i < 5; i++) push(joined(tone(800), tone(200, { level: 1200 })))
  push(quiet(960))
  await expect.poll(transcripts).toEqual(['1 2 3'])
  expect(types()).toEqual(['speech', 'silence', 'transcript'])
  for (const pcm of pieces) {
    expect(pcm.length).toBeLessThanOrEqual(listeningSampleRate * 2 + 512)
    // Not in a loud part.
    if (pcm !== pieces.at(-1)) expect(Math.abs(pcm.at(-1) ?? 0)).toBe(1200)
  }
  expect(pieces.reduce((sum, { length }) => sum + length, 0)).toBe((156 + 7) * 512)
})

test('endless speech is ended, and none of it is lost', async () => {
  const { push, types, transcripts } = microphone({ maxMs: 1000 })
  for (let i = 0; i < 50; i++) {
    push(tone(1000))
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

test('reports a failed transcription and continues with the next utterance', async () => {
  let asked = 0
  const transcriber: Transcriber = {
    async transcribe() {
      if (++asked === 1) throw new Error('no model')
      return asked === 2 ? (undefined as never) : ' three '
    },
  }
  const { push, types, transcripts, failures } = microphone({ transcriber })
  for (let i = 0; i < 3; i++) {
    push(utterance)
    await expect.poll(() => transcripts().length).toBe(i + 1)
  }
  expect(transcripts()).toEqual(['', '', 'three'])
  expect(failures()).toEqual([
    new Error('no model'),
    expect.objectContaining({ message: expect.stringMatching(/must return a string/) }),
  ])
  expect(types().slice(0, 4)).toEqual(['speech', 'silence', 'failed', 'transcript'])
})

test('a transcriber that hangs does not block listening, and times out', async () => {
  const clock = fakeClock()
  const signals: AbortSignal[] = []
  const transcriber: Transcriber = {
    transcribe(_pcm, { signal }) {
      signals.push(signal)
      return signals.length === 1 ? new Promise(() => {}) : Promise.resolve('second')
    },
  }
  const { push, types, transcripts, failures } = microphone({ transcriber, clock, timeoutMs: 5000 })
  push(utterance)
  push(utterance)
  await expect.poll(types).toEqual(['speech', 'silence', 'speech', 'silence'])
  await clock.advance(4999)
  expect(transcripts()).toEqual([])
  await clock.advance(1)
  await expect.poll(transcripts).toEqual(['', 'second'])
  expect(failures()).toMatchObject([{ code: 'timeout', message: 'the transcriber took longer than 5000 ms' }])
  expect(signals[0]?.aborted).toBe(true)
})

test('the queue of a slow transcriber is bounded, and dropped utterances are reported in order', async () => {
  const open: ((text: string) => void)[] = []
  const transcriber: Transcriber = { transcribe: () => new Promise((resolve) => open.push(resolve)) }
  const { push, types, transcripts, failures } = microphone({ transcriber, eager: false })
  for (let i = 0; i < 6; i++) push(utterance)
  await expect.poll(() => types().filter((type) => type === 'silence').length).toBe(6)
  for (let i = 0; i < 4; i++) {
    await expect.poll(() => open.length).toBe(i + 1)
    open[i]?.(`${i}`)
  }
  await expect.poll(transcripts).toEqual(['0', '1', '2', '3', '', ''])
  expect(failures()).toMatchObject([{ code: 'overloaded' }, { code: 'overloaded' }])
})

test('a failing detector is reported once, and listening continues when it works again', async () => {
  let isBroken = true
  const { detect } = loudness.open()
  const vad = {
    open: () => ({
      detect(pcm: Int16Array) {
        if (isBroken) throw new Error('broken')
        return detect(pcm)
      },
    }),
  }
  const { push, types, failures } = microphone({ vad })
  for (let i = 0; i < 3; i++) {
    push(utterance)
    await expect.poll(() => failures().length).toBe(1)
  }
  isBroken = false
  push(utterance)
  await expect.poll(types).toEqual(['failed', 'speech', 'silence', 'transcript'])
})

test('a detector that hangs times out, and its queue is bounded', async () => {
  const clock = fakeClock()
  let asked = 0
  const vad = {
    open: () => ({
      detect(pcm: Int16Array) {
        return asked++ === 0 ? new Promise<number[]>(() => {}) : loudness.open().detect(pcm)
      },
    }),
  }
  const { push, events, types } = microphone({ vad, clock, timeoutMs: 1000 })
  push(quiet(100))
  for (let i = 0; i < 40; i++) push(quiet(1000))
  expect(events).toMatchObject([{ type: 'failed', error: { code: 'overloaded' } }])
  await clock.advance(1000)
  push(utterance)
  await expect.poll(types).toEqual(['failed', 'speech', 'silence', 'transcript'])
  // Dropped audio counts too.
  expect(events[1]).toMatchObject({ atMs: 1277 * 32 })
})

test('no audio is lost while the detector loads, and a load error is reported', async () => {
  const clock = fakeClock()
  const loaded = Promise.withResolvers<void>()
  const slow = microphone({ vad: { ...loudness, ready: () => loaded.promise }, clock, timeoutMs: 1000 })
  slow.push(utterance)
  await clock.advance(5000)
  expect(slow.events).toEqual([])
  loaded.resolve()
  await expect.poll(slow.types).toEqual(['speech', 'silence', 'transcript'])

  const detect = async () => Promise.reject(new Error('no weights'))
  const vad = { open: () => ({ detect }), ready: detect }
  const { push, failures } = microphone({ vad })
  push(utterance)
  await expect.poll(failures).toEqual([new Error('no weights')])
})

test('returns the partial transcript', async () => {
  const { push, partialTranscript, types } = microphone()
  expect(await partialTranscript()).toBe('')
  push(joined(quiet(640), tone(320)))
  await expect.poll(types).toEqual(['speech'])
  const [first, second] = await Promise.all([partialTranscript(), partialTranscript()])
  expect([first, second]).toEqual(['640', '640'])
  push(tone(320))
  await expect.poll(partialTranscript).toBe('960')
  push(quiet(960))
  await expect.poll(types).toEqual(['speech', 'silence', 'transcript'])
  expect(await partialTranscript()).toBe('')
})

test('concurrent partial transcripts share one call of the transcriber, and are empty if it fails', async () => {
  let asked = 0
  const transcriber: Transcriber = {
    async transcribe() {
      asked++
      throw new Error('no model')
    },
  }
  const { push, partialTranscript, types, failures } = microphone({ transcriber })
  push(joined(quiet(640), tone(320)))
  await expect.poll(types).toEqual(['speech'])
  expect(await Promise.all([partialTranscript(), partialTranscript(), partialTranscript()])).toEqual([
    '',
    '',
    '',
  ])
  expect(asked).toBe(1)
  expect(failures()).toEqual([])
})

test('emits nothing after it is closed', async () => {
  const { push, partialTranscript, close, events, types } = microphone()
  push(joined(quiet(640), tone(320)))
  await expect.poll(types).toEqual(['speech'])
  const before = events.length
  push(tone(320))
  close()
  push(utterance)
  expect(await partialTranscript()).toBe('')
  await new Promise((resolve) => setImmediate(resolve))
  expect(events.length).toBe(before)
})

test('rejects invalid options', () => {
  expect(() => microphone({ sampleRate: 4000 })).toThrow(
    /the sample rate must be a whole number from 8000 to 48000, not 4000/,
  )
  expect(() => microphone({ threshold: 1.5 })).toThrow(
    /'threshold' must be a number between 0 and 1, not 1.5/,
  )
  expect(() => microphone({ maxMs: 10 })).toThrow(/'maxMs' must be at least 1000 milliseconds, not 10/)
  expect(() => microphone({ vad: {} as never })).toThrow(/'vad' must be a VoiceActivity, such as silero\(\)/)
  expect(() => microphone({ transcriber: null as never })).toThrow(/'transcriber' must be a Transcriber/)
  expect(() => microphone({ silencems: 3 } as never)).toThrow(/did you mean 'silenceMs'/)
})
