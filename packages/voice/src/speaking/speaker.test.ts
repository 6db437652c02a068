import { fakeClock } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { testClient } from '../client.test-kit.ts'
import type { Speech } from '../speech.ts'
import { type ScriptedSpeechOptions, scriptedSpeech } from '../testing.ts'
import { speaker } from './speaker.ts'

const sampleRate = 16_000
const perMs = sampleRate / 1000

/** Ten characters of the scripted voice take a second. */
interface StartedOptions extends ScriptedSpeechOptions {
  readonly reports?: boolean
  readonly speech?: Speech
  readonly after?: Promise<void>
  readonly drained?: () => Promise<void>
}

function started(options: StartedOptions = {}) {
  const { reports = true, speech: customSpeech, after = Promise.resolve(), drained, ...voice } = options
  const clock = fakeClock()
  const speech = scriptedSpeech({ msPerChar: 100, sampleRate, clock, ...voice })
  const failed: { text: string; message: string }[] = []
  const client = testClient({
    clock,
    sampleRate,
    ...(reports && { report: (_, position) => spoken.played(position) }),
  })
  let seq = 0
  const spoken = speaker({
    speech: customSpeech ?? speech,
    outlet: { ...client, ...(drained && { drained }) },
    turn: 1,
    sampleRate,
    lookAhead: { sentences: 2, ms: 5000 },
    speechTimeoutMs: 3000,
    clock,
    nextSeq: () => seq++,
    after,
    onFailed: (error, text) => failed.push({ text, message: String(error) }),
  })
  let start = 0
  function say(text: string, round = 1) {
    const origins = Array.from({ length: text.length + 1 }, (_, at) => at)
    spoken.say({
      sentence: { source: text, speech: text, origins },
      textPosition: { round, start },
      waitedFor: 'model',
    })
    start += text.length
  }
  const said = () => client.eventsOf('voice_sentence').map(({ text }) => text)
  /** Ends the turn: a pending wait for the fake clock would block the test. */
  async function over() {
    client.close()
    spoken.silence()
    await clock.until(spoken.done)
  }
  return { clock, speech, client, spoken, say, said, failed, over }
}

const ten = (letter: string) => letter.repeat(9).concat('.')

describe('speech', () => {
  test('is sent in order, each sentence announced before its audio, without position gaps', async () => {
    const { clock, client, spoken, say } = started()
    for (const letter of 'abcd') say(ten(letter))
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(client.eventsOf('voice_sentence')).toEqual(
      [...'abcd'].map((letter, at) => ({
        type: 'voice_sentence',
        turn: 1,
        position: at * 1000 * perMs,
        text: ten(letter),
        round: 1,
        start: at * 10,
        chars: 10,
      })),
    )
    let position = 0
    for (const [at, frame] of client.frames.entries()) {
      expect(frame).toMatchObject({ kind: 'speech', turn: 1, seq: at, position })
      position += frame.pcm.length
    }
    expect(client.eventsOf('voice_end')).toEqual([{ type: 'voice_end', turn: 1, samples: position }])
    expect(position).toBe(4000 * perMs)
    expect(spoken.playhead.position).toBe(position)
  })

  test('starts at once without blocking say', async () => {
    const { clock, said, say, over } = started()
    say(ten('a'))
    await clock.advance(0)
    expect(said()).toEqual([ten('a')])
    await over()
  })

  test('waits for the previous turn', async () => {
    const before = Promise.withResolvers<void>()
    const { clock, said, speech, say, over } = started({ after: before.promise })
    say(ten('a'))
    await clock.advance(1000)
    expect(speech.texts).toEqual([])
    before.resolve()
    await clock.advance(0)
    expect(said()).toEqual([ten('a')])
    await over()
  })

  test('is converted to the sample rate of the client', async () => {
    const { clock, client, spoken, say } = started({ sampleRate: 8000 })
    say(ten('a'))
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    const samples = client.frames.reduce((sum, { pcm }) => sum + pcm.length, 0)
    expect(Math.abs(samples - 1000 * perMs)).toBeLessThanOrEqual(2)
  })
})

describe('the look-ahead', () => {
  test('is two sentences that are not playing yet', async () => {
    const { clock, speech, say, over } = started()
    for (const letter of 'abcdef') say(ten(letter))
    // The first was sent but is not known to be played yet.
    await clock.advance(10)
    expect(speech.texts).toHaveLength(2)
    await clock.advance(500)
    expect(speech.texts).toHaveLength(3)
    await clock.advance(1000)
    expect(speech.texts).toHaveLength(4)
    await over()
  })

  test('is five seconds of audio for long sentences, even within one', async () => {
    const { clock, speech, client, say, over } = started()
    say('x'.repeat(200))
    say(ten('b'))
    await clock.advance(10)
    const sent = () => client.frames.reduce((sum, { pcm }) => sum + pcm.length, 0) / perMs
    expect(sent()).toBe(5000)
    await clock.advance(3000)
    expect(sent()).toBeGreaterThanOrEqual(7800)
    expect(sent()).toBeLessThanOrEqual(8000)
    expect(speech.texts).toHaveLength(1)
    await over()
  })

  test('is based on the clock for a client that does not report', async () => {
    const { clock, speech, say, spoken, client } = started({ reports: false })
    for (const letter of 'abcdef') say(ten(letter))
    await clock.advance(10)
    expect(speech.texts.length).toBeLessThanOrEqual(3)
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(speech.texts).toHaveLength(6)
    expect(spoken.playhead.ahead).toBe(0)
  })

  test('stops while the socket is full', async () => {
    const taken = Promise.withResolvers<void>()
    const { clock, client, say, over } = started({ drained: () => taken.promise })
    say(ten('a'))
    await clock.advance(10_000)
    expect(client.frames).toHaveLength(1)
    taken.resolve()
    await clock.advance(10)
    expect(client.frames.length).toBeGreaterThan(1)
    await over()
  })

  test('stops while the client is paused', async () => {
    const { clock, speech, client, say, over } = started()
    for (const letter of 'abcdef') say(ten(letter))
    await clock.advance(500)
    client.send({ type: 'voice_pause', turn: 1 })
    await clock.advance(60_000)
    expect(speech.texts).toHaveLength(3)
    await over()
  })
})

describe('a synthesizer', () => {
  test('that fails for a sentence continues with the next', async () => {
    const { clock, client, spoken, say, said, failed } = started({
      fail: (text) => (text.startsWith('b') ? 'no b' : undefined),
    })
    for (const letter of 'abc') say(ten(letter))
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(said()).toEqual([ten('a'), ten('c')])
    expect(failed).toEqual([{ text: ten('b'), message: 'Error: no b' }])
    expect(spoken.segments.map(({ hasFailed }) => hasFailed)).toEqual([false, true, false])
  })

  test.each([true, 'ignore-abort'] as const)(
    'that hangs (%s) times out and continues with the next sentence',
    async (kind) => {
      const { clock, client, speech, spoken, say, said, failed } = started({
        hang: (text) => text.startsWith('b') && kind,
      })
      for (const letter of 'abc') say(ten(letter))
      spoken.end()
      await clock.until(spoken.done)
      client.close()
      expect(said()).toEqual([ten('a'), ten('c')])
      expect(failed[0]?.message).toMatch('the synthesizer produced nothing for 3000 ms')
      expect(speech.texts.map(({ aborted }) => aborted)).toEqual([false, true, false])
    },
  )

  test('that is slower than real time causes gaps, which are recorded', async () => {
    const { clock, client, spoken, say } = started({ delayMs: 1500 })
    for (const letter of 'ab') say(ten(letter))
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(spoken.gaps).toEqual([{ position: 1000 * perMs, ms: expect.any(Number), for: 'voice' }])
    expect(spoken.gaps[0]?.ms).toBeGreaterThan(400)
  })

  test('that yields invalid chunks gets an error', async () => {
    async function* synthesize() {
      yield { pcm: new Float32Array(4), sampleRate } as never
    }
    const { clock, spoken, say, failed, client } = started({ speech: { synthesize } })
    say('Hello.')
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(failed[0]?.message).toMatch('must yield { pcm: Int16Array, sampleRate }')
  })

  test('that yields nothing fails for words, but not for punctuation', async () => {
    async function* synthesize() {}
    const { clock, spoken, say, failed, client } = started({ speech: { synthesize } })
    say('你好。')
    say('…')
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(failed).toEqual([{ text: '你好。', message: expect.stringMatching('produced no audio') }])
  })

  test('that does not return an async iterable gets an error', async () => {
    const synthesize = async () => ({ pcm: new Int16Array(4), sampleRate })
    const { clock, spoken, say, failed, client } = started({ speech: { synthesize } as never })
    say('Hello.')
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(failed[0]?.message).toMatch('make it async *synthesize()')
  })

  test('that changes its sample rate within a sentence gets an error', async () => {
    async function* synthesize() {
      yield { pcm: new Int16Array(1600), sampleRate }
      yield { pcm: new Int16Array(1600), sampleRate: 8000 }
    }
    const { clock, spoken, say, failed, client } = started({ speech: { synthesize } })
    say('Hello.')
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(failed[0]?.message).toMatch('must not change the sample rate within a text: 16000, then 8000')
    expect(spoken.samples).toBe(1600)
  })

  test('that throws synchronously only fails the sentence', async () => {
    const synthesize = () => {
      throw new Error('no voice')
    }
    const { clock, spoken, say, failed, client } = started({ speech: { synthesize } })
    say('Hello.')
    say('World.')
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(failed.map(({ message }) => message)).toEqual(['Error: no voice', 'Error: no voice'])
  })
})

describe('silence', () => {
  test('stops speaking and aborts synthesis', async () => {
    const { clock, speech, client, spoken, say } = started({ paceMs: 10 })
    for (const letter of 'abc') say(ten(letter))
    await clock.advance(15)
    const { length } = client.frames
    spoken.silence()
    await clock.until(spoken.done)
    client.close()
    await clock.advance(10_000)
    expect(client.frames).toHaveLength(length)
    expect(speech.texts).toEqual([expect.objectContaining({ text: ten('a'), aborted: true })])
    expect(client.eventsOf('voice_end')).toEqual([])
  })
})

describe('a retracted round', () => {
  test('is dropped as far as it was not played, and spoken again', async () => {
    const { clock, client, spoken, say, said } = started()
    say(ten('a'), 1)
    say(ten('b'), 2)
    say(ten('c'), 2)
    await clock.advance(400)
    spoken.retract(2)
    say(ten('d'), 2)
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(client.eventsOf('voice_retract')).toEqual([
      { type: 'voice_retract', turn: 1, position: 1000 * perMs },
    ])
    expect(said().at(-1)).toBe(ten('d'))
    const [a, ...rest] = spoken.segments
    expect(a?.isRetracted).toBe(false)
    expect(rest.filter(({ isRetracted }) => !isRetracted).map(({ sentence }) => sentence.speech)).toEqual([
      ten('d'),
    ])
    expect(spoken.playhead.position).toBe(spoken.samples)
  })

  test('without a replacement ends when the earlier audio was played', async () => {
    const { clock, client, spoken, say } = started()
    say(ten('a'), 1)
    say(ten('b'), 2)
    // The client has reported its position by now.
    await clock.advance(400)
    spoken.retract(2)
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(spoken.playhead.position).toBe(1000 * perMs)
  })

  test('leaves nothing in the resampler that would still be sent', async () => {
    const { clock, client, spoken, say, over } = started({ sampleRate: 8000, paceMs: 10 })
    say(ten('a'))
    await clock.advance(15)
    spoken.retract(1)
    const { length } = client.frames
    await clock.advance(1000)
    expect(client.frames).toHaveLength(length)
    await over()
  })

  test('aborts its synthesis', async () => {
    const { clock, speech, client, spoken, say } = started({ paceMs: 10 })
    say(ten('a'))
    await clock.advance(15)
    spoken.retract(1)
    spoken.end()
    await clock.until(spoken.done)
    client.close()
    expect(speech.texts[0]?.aborted).toBe(true)
  })
})
