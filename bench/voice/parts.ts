import { flite, moonshine, type Speech, silero } from '@millrace/voice'
import { isMillraceError } from 'millrace'
import { measure, type Spread, spreadOf } from '../harness/measure.ts'
import type { PartsSize } from './part.ts'

/** One figure of a part that runs on this machine. */
export interface PartFigure {
  readonly title: string
  readonly unit: 'ms' | '×'
  /** Median, minimum and maximum. */
  readonly figures?: Spread
  /** Why there are no figures. */
  readonly leftOut?: string
}

interface Sound {
  readonly pcm: Int16Array
  readonly ms: number
}

const sentences = [
  'Your order left the warehouse this morning.',
  'It should be with you by tomorrow evening.',
  'The driver will call before he rings the bell.',
  'You can also collect it at the post office.',
  'Is there anything else that I can do for you?',
]
const frameSamples = 512
const never = new AbortController().signal

/** The installed speech packages, one after the other, each with the audio of the first. */
export async function measureParts(
  { sentences: count }: PartsSize,
  onStep: (step: string) => void,
): Promise<PartFigure[]> {
  onStep('flite, Moonshine, Silero')
  const texts = Array.from({ length: count }, (_, at) => sentences[at % sentences.length] ?? '')
  const sounds: Sound[] = []
  return [
    ...(await figures(
      ['flite: first audio of a short sentence', 'ms'],
      ['flite: CPU time per audio time', '×'],
      () => speak(texts, sounds),
    )),
    ...(await figures(
      ['Moonshine: transcription time per audio time', '×'],
      ['Moonshine: CPU time per audio time', '×'],
      () => transcribe(sounds),
    )),
    ...(await figures(
      ['Silero: CPU time per 32 ms frame', 'ms'],
      ['Silero: round trip per 32 ms frame', 'ms'],
      () => detect(sounds),
    )),
  ]
}

type Named = readonly [title: string, unit: PartFigure['unit']]

/** Two figures of one package, or why there are none. */
async function figures(
  one: Named,
  other: Named,
  take: () => Promise<readonly (readonly [number, number])[]>,
): Promise<PartFigure[]> {
  try {
    const pairs = await take()
    return [one, other].map(([title, unit], at) => ({
      title,
      unit,
      figures: spreadOf(pairs.map((pair) => pair[at] ?? 0)),
    }))
  } catch (error) {
    if (!isMillraceError(error)) throw error
    return [{ title: one[0], unit: one[1], leftOut: error.message }]
  }
}

async function speak(texts: readonly string[], sounds: Sound[]) {
  const voice = flite()
  try {
    const pairs: [number, number][] = []
    await say(voice, 'Hello.')
    for (const text of texts) {
      const before = process.cpuUsage()
      const { first, sound } = await say(voice, text)
      const { user, system } = process.cpuUsage(before)
      sounds.push(sound)
      pairs.push([first, (user + system) / 1000 / sound.ms])
    }
    return pairs
  } finally {
    await voice.close?.()
  }
}

async function say(voice: Speech, text: string) {
  const start = performance.now()
  const pieces: Int16Array[] = []
  let first = 0
  let rate = 0
  for await (const { pcm, sampleRate } of voice.synthesize(text, { signal: never })) {
    first ||= performance.now() - start
    rate = sampleRate
    pieces.push(pcm)
  }
  const pcm = Int16Array.from(pieces.flatMap((piece) => [...piece]))
  return { first, sound: { pcm, ms: (pcm.length / rate) * 1000 } }
}

/** flite's sample rate of 16,000 Hz is the one that the transcribers need. */
async function transcribe(sounds: readonly Sound[]) {
  const transcriber = moonshine()
  try {
    await transcriber.transcribe(sounds[0]?.pcm ?? new Int16Array(16_000), { signal: never })
    const pairs: [number, number][] = []
    for (const { pcm, ms } of sounds) {
      const { wallMs, cpuUs } = await measure(async () => {
        const text = await transcriber.transcribe(pcm, { signal: never })
        if (text === '') throw new Error('Moonshine transcribed nothing')
      })
      pairs.push([wallMs / ms, cpuUs / 1000 / ms])
    }
    return pairs
  } finally {
    await transcriber.close?.()
  }
}

async function detect(sounds: readonly Sound[]) {
  const activity = silero()
  try {
    await activity.ready?.()
    const detector = activity.open()
    const pairs: [number, number][] = []
    for (const { pcm } of sounds) {
      const frames = Math.floor(pcm.length / frameSamples)
      const { wallMs, cpuUs } = await measure(async () => {
        for (let at = 0; at < frames; at++)
          await detector.detect(pcm.slice(at * frameSamples, (at + 1) * frameSamples))
      })
      pairs.push([cpuUs / 1000 / frames, wallMs / frames])
    }
    return pairs
  } finally {
    await activity.close?.()
  }
}
