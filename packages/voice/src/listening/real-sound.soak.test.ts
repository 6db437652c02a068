import { readdirSync, readlinkSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { type AudioFrame, readAudioFrame, writeAudioFrame } from '../../../millrace/src/protocol/index.ts'
import { moonshine } from '../onnx/moonshine.ts'
import { silero } from '../onnx/silero.ts'
import { resampler } from '../resample.ts'
import { type FliteVoice, flite } from '../voices/flite.ts'
import { bargeIn } from './barge-in.ts'
import { joined, microphone, quiet } from './listening.test-kit.ts'
import { heardRate, type VoiceActivity } from './voice-activity.ts'

const vad = silero()
const transcriber = moonshine()
const speech = flite()
// A machine that has much else to do is slow, which is no matter here.
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

/** As it comes over a socket: 20 ms at a time. */
function* audioFrames(sound: Int16Array, sampleRate: number): Generator<Int16Array> {
  const size = sampleRate / 50
  for (let position = 0, seq = 0; position < sound.length; position += size, seq++) {
    const pcm = sound.subarray(position, position + size)
    yield (readAudioFrame(writeAudioFrame({ kind: 'microphone', turn: 0, seq, position, pcm })) as AudioFrame)
      .pcm
  }
}

const wordsOf = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}']+/gu) ?? []

/** How many words have to be put in, left out or changed to get from one to the other. */
function errors(said: readonly string[], heard: readonly string[]): number {
  let row = heard.map((_, index) => index + 1)
  said.forEach((word, line) => {
    let [corner, left] = [line, line + 1]
    row = row.map((above, column) => {
      const least = Math.min(above + 1, left + 1, corner + (word === heard[column] ? 0 : 1))
      corner = above
      left = least
      return least
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

test('of twenty spoken sentences at least nine words in ten are understood', async () => {
  const rate = 24_000
  const { hear, transcripts, events } = microphone({ ...ears, sampleRate: rate })
  for (const [index, sentence] of sentences.entries()) {
    const up = resampler(heardRate, rate)
    const sound = up.push(joined(quiet(200), await spoken(sentence), quiet(900)))
    for (const pcm of audioFrames(sound, rate)) hear(pcm)
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
  // Where it sends any, it keeps a log of it open.
  expect(open.filter((path) => path.includes('mat-debug'))).toEqual([])
})

describe('what is no speech is not heard, and speech behind it is', () => {
  const seconds = 6
  const sound = (sample: (at: number) => number) =>
    Int16Array.from({ length: heardRate * seconds }, (_, at) => Math.round(sample(at)))
  const noise = randomly(7)
  const cases = {
    silence: quiet(seconds * 1000),
    'faint white noise': sound(() => 200 * noise()),
    'loud white noise': sound(() => 8000 * noise()),
    'the hum of the mains': sound((at) => 6000 * Math.sin((2 * Math.PI * 50 * at) / heardRate)),
    'a hum with its overtones': sound((at) =>
      [1, 2, 3, 5].reduce(
        (sum, n) => sum + (4000 / n) * Math.sin((2 * Math.PI * 50 * n * at) / heardRate),
        0,
      ),
    ),
    clicks: sound((at) => (at % 8000 < 40 ? 20_000 * noise() : 0)),
  }
  test.each(Object.entries(cases))('%s', async (_name, unspoken) => {
    const { hear, events, types, transcripts } = microphone(ears)
    hear(joined(unspoken, quiet(700), await spoken('The doctor will see you on Monday morning.'), quiet(900)))
    await expect.poll(() => transcripts().length).toBe(1)
    expect(types()).toEqual(['speech', 'silence', 'transcript'])
    expect(events[0]?.type === 'speech' && events[0].atMs).toBeGreaterThan(seconds * 1000)
    expect(transcripts()).toEqual([expect.stringMatching(/monday morning/i)])
  })
})

test('two sentences with a pause are two, with a short one they are one', async () => {
  const [first, second] = [
    await spoken('Where is my order?'),
    await spoken('Please send it to my new address.'),
  ]
  const { hear, transcripts } = microphone(ears)
  hear(joined(quiet(300), first, quiet(1000), second, quiet(1000)))
  await expect.poll(() => transcripts().length).toBe(2)
  hear(joined(first, quiet(150), second, quiet(1000)))
  await expect.poll(() => transcripts().length).toBe(3)
  expect(transcripts()).toEqual([
    expect.stringMatching(/^where is my order\W*$/i),
    expect.stringMatching(/^please send it to my/i),
    expect.stringMatching(/^where is my order\W+please send it to my/i),
  ])
})

/** What is done while an agent speaks and this is said. The sound stands still while an answer is waited for, so that no clock decides. */
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
  const { hear, soFar, events } = microphone({ ...ears, vad: watched })
  const act = (action: string | undefined) => {
    if (action) actions.push(action)
    if (action === 'suspect') answering = soFar().then((text) => act(machine.words(text)))
  }
  let told = 0
  const tell = () => {
    for (const event of events.slice(told)) {
      told++
      if (event.type === 'speech') act(machine.speech(event.ms))
      else if (event.type === 'silence') machine.silence()
      else if (event.type === 'transcript') act(machine.transcript(event.text))
    }
  }
  for (const pcm of audioFrames(joined(quiet(400), sound, quiet(1000)), heardRate)) {
    hear(pcm)
    await detecting
    await new Promise((resolve) => setImmediate(resolve))
    tell()
    await answering
  }
  await expect.poll(() => events.at(-1)?.type).toBe('transcript')
  tell()
  return actions
}

describe('while an agent speaks', () => {
  test('a sign of listening changes nothing', async () => {
    const actions = await interrupting(await spoken('Yeah, okay.', 'kal16'))
    expect(new Set(actions)).toEqual(new Set(['suspect']))
  })

  test('a sound that is not understood pauses it, and it goes on', async () => {
    const actions = await interrupting(await spoken('Uh-huh.'))
    expect(actions).toEqual(['suspect', 'pause', 'resume'])
  })

  test('words interrupt it before they are all said', async () => {
    const actions = await interrupting(await spoken('Stop, that is not what I asked for.'))
    // Once when it is understood, and once for what is to be answered.
    expect(actions.filter((action) => action === 'interrupt').length).toBe(2)
    expect(actions).not.toContain('resume')
  })
})

/** From -1 to 1, the same ones each time. */
function randomly(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 31 - 1
  }
}
