import { readdirSync, readlinkSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { type AudioFrame, readAudioFrame, writeAudioFrame } from '../../../millrace/src/protocol/index.ts'
import { moonshine } from '../onnx/moonshine.ts'
import { silero } from '../onnx/silero.ts'
import { resampler } from '../resample.ts'
import { type FliteVoice, flite } from '../voices/flite.ts'
import { bargeIn } from './barge-in.ts'
import { joined, microphone, quiet } from './listening.test-kit.ts'
import { listeningSampleRate, type VoiceActivity } from './voice-activity.ts'

const vad = silero()
const transcriber = moonshine()
const speech = flite()
// A busy machine is slow, which does not matter here.
const ears = { vad, transcriber, timeoutMs: 100_000 }
afterAll(async () => {
  await Promise.all([vad.close?.(), transcriber.close?.(), speech.close?.()])
})

async function spoken(text: string, voice: FliteVoice = 'slt'): Promise<Int16Array> {
  const parts: Int16Array[] = []
  for await (const { pcm } of speech.synthesize(text, { signal: new AbortController().signal, voice }))
    parts.push(pcm)
  return joined(...parts)
}

/** As it arrives over a socket: 20 ms at a time. */
function* audioFrames(sound: Int16Array, sampleRate: number): Generator<Int16Array> {
  const size = sampleRate / 50
  for (let position = 0, seq = 0; position < sound.length; position += size, seq++) {
    const pcm = sound.subarray(position, position + size)
    yield (readAudioFrame(writeAudioFrame({ kind: 'microphone', turn: 0, seq, position, pcm })) as AudioFrame)
      .pcm
  }
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []

/** The word edit distance between two texts. */
function errors(said: readonly string[], recognized: readonly string[]): number {
  let row = recognized.map((_, index) => index + 1)
  said.forEach((word, line) => {
    let [corner, left] = [line, line + 1]
    row = row.map((above, column) => {
      const cost = Math.min(above + 1, left + 1, corner + (word === recognized[column] ? 0 : 1))
      corner = above
      left = cost
      return cost
    })
  })
  return row.at(-1) ?? said.length
}

const sentences = [
  'Where is my order number forty two?',
  'The weather in Berlin is sunny with light winds from the west.',
  'I would like to return the blue shoes that I bought last Tuesday.',
  'Please tell me how much the second ticket costs.',
  'Could you send the bill to my new address?',
  'The train to the airport leaves every twenty minutes.',
  'My brother lost his keys in the garden yesterday.',
  'The doctor will see you on Monday morning.',
  'How long does it take to get a new passport?',
  'I have been waiting for an answer since last week.',
  'Can I pay for this with a credit card?',
  'The second package has not arrived yet.',
  'Turn off the lights in the kitchen, please.',
  'She works for a small company in the north of the country.',
  'What time does the museum close on Sunday?',
  'I would like a cup of coffee with milk and no sugar.',
  'Our flight was late because of the heavy rain.',
  'Please remind me to call my mother this evening.',
  'The children are playing football in the park.',
  'We are looking for a quiet room with a view of the sea.',
]

test('recognizes at cost nine words in ten of twenty spoken sentences', async () => {
  const rate = 24_000
  const { push, transcripts, events } = microphone({ ...ears, sampleRate: rate })
  for (const [index, sentence] of sentences.entries()) {
    const up = resampler(listeningSampleRate, rate)
    const sound = up.push(joined(quiet(200), await spoken(sentence), quiet(900)))
    for (const pcm of audioFrames(sound, rate)) push(pcm)
    await expect.poll(() => transcripts().length).toBe(index + 1)
  }
  const wrong = sentences.map((said, index) => errors(wordsOf(said), wordsOf(transcripts()[index] ?? '')))
  const words = sentences.flatMap(wordsOf).length
  expect(wrong.reduce((sum, one) => sum + one, 0) / words).toBeLessThan(0.1)
  expect(events.filter(({ type }) => type === 'failed')).toEqual([])
})

test.runIf(process.platform === 'linux')('onnxruntime sends no usage data', async () => {
  await transcriber.ready?.()
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  // If it sends any, it keeps a log file open.
  expect(open.filter((path) => path.includes('mat-debug'))).toEqual([])
})

describe('ignores noise, and recognizes speech after it', () => {
  const seconds = 6
  const sound = (sample: (at: number) => number) =>
    Int16Array.from({ length: listeningSampleRate * seconds }, (_, at) => Math.round(sample(at)))
  const noise = randomly(7)
  const cases = {
    silence: quiet(seconds * 1000),
    'faint white noise': sound(() => 200 * noise()),
    'loud white noise': sound(() => 8000 * noise()),
    'the hum of the mains': sound((at) => 6000 * Math.sin((2 * Math.PI * 50 * at) / listeningSampleRate)),
    'a hum with its overtones': sound((at) =>
      [1, 2, 3, 5].reduce(
        (sum, n) => sum + (4000 / n) * Math.sin((2 * Math.PI * 50 * n * at) / listeningSampleRate),
        0,
      ),
    ),
    clicks: sound((at) => (at % 8000 < 40 ? 20_000 * noise() : 0)),
  }
  test.each(Object.entries(cases))('%s', async (_name, unspoken) => {
    const { push, events, types, transcripts } = microphone(ears)
    push(joined(unspoken, quiet(700), await spoken('The doctor will see you on Monday morning.'), quiet(900)))
    await expect.poll(() => transcripts().length).toBe(1)
    expect(types()).toEqual(['speech', 'silence', 'transcript'])
    expect(events[0]?.type === 'speech' && events[0].atMs).toBeGreaterThan(seconds * 1000)
    expect(transcripts()).toEqual([expect.stringMatching(/monday morning/i)])
  })
})

test('sentences with a long pause are two utterances, with a short one they are one', async () => {
  const [first, second] = [
    await spoken('Where is my order?'),
    await spoken('Please send it to my new address.'),
  ]
  const { push, transcripts } = microphone(ears)
  push(joined(quiet(300), first, quiet(1000), second, quiet(1000)))
  await expect.poll(() => transcripts().length).toBe(2)
  push(joined(first, quiet(150), second, quiet(1000)))
  await expect.poll(() => transcripts().length).toBe(3)
  expect(transcripts()).toEqual([
    expect.stringMatching(/^where is my order\W*$/i),
    expect.stringMatching(/^please send it to my/i),
    expect.stringMatching(/^where is my order\W+please send it to my/i),
  ])
})

/**
 * The actions when this is said while an agent speaks. The audio waits for partial transcripts, so
 * that the result does not depend on timing.
 */
async function interrupting(sound: Int16Array): Promise<string[]> {
  const machine = bargeIn({ language: 'en' })
  const actions: string[] = []
  let answering: Promise<unknown> = Promise.resolve()
  let detecting: Promise<unknown> = Promise.resolve()
  const watched: VoiceActivity = {
    open() {
      const { detect } = vad.open()
      return {
        detect(pcm) {
          const detected = detect(pcm)
          detecting = detected
          return detected
        },
      }
    },
  }
  const { push, partialTranscript, events } = microphone({ ...ears, vad: watched })
  const act = (action: string | undefined) => {
    if (action) actions.push(action)
    if (action === 'check')
      answering = partialTranscript().then((text) => act(machine.partialTranscript(text)))
  }
  let handled = 0
  const handleEvents = () => {
    for (const event of events.slice(handled)) {
      handled++
      if (event.type === 'speech') act(machine.speech(event.ms))
      else if (event.type === 'silence') machine.silence()
      else if (event.type === 'transcript') act(machine.transcript(event.text))
    }
  }
  for (const pcm of audioFrames(joined(quiet(400), sound, quiet(1000)), listeningSampleRate)) {
    push(pcm)
    await detecting
    await new Promise((resolve) => setImmediate(resolve))
    handleEvents()
    await answering
  }
  await expect.poll(() => events.at(-1)?.type).toBe('transcript')
  handleEvents()
  return actions
}

describe('while an agent speaks', () => {
  test('a back-channel phrase changes nothing', async () => {
    const actions = await interrupting(await spoken('Yeah, okay.', 'kal16'))
    expect(new Set(actions)).toEqual(new Set(['check']))
  })

  test('an unrecognized sound pauses it, and then it resumes', async () => {
    const actions = await interrupting(await spoken('Uh-huh.'))
    expect(actions).toEqual(['check', 'pause', 'resume'])
  })

  test('words interrupt it before the utterance ends', async () => {
    const actions = await interrupting(await spoken('Stop, that is not what I asked for.'))
    // Once for the partial transcript, and once for the final one.
    expect(actions.filter((action) => action === 'interrupt').length).toBe(2)
    expect(actions).not.toContain('resume')
  })
})

/** Reproducible numbers from -1 to 1. */
function randomly(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}
