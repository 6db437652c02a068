import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { joined, quiet } from '../listening/listening.test-kit.ts'
import { listeningSampleRate } from '../listening/voice-activity.ts'
import { flite } from '../voices/flite.ts'
import { moonshine } from './moonshine.ts'
import { onnxFiles } from './packages.ts'
import { silero } from './silero.ts'
import { onnxThread } from './thread.ts'

const vad = silero()
const transcriber = moonshine()
const speech = flite()
const signal = new AbortController().signal
afterAll(async () => {
  await Promise.all([vad.close?.(), transcriber.close?.(), speech.close?.()])
})

async function spoken(text: string): Promise<Int16Array> {
  const parts: Int16Array[] = []
  for await (const { pcm } of speech.synthesize(text, { signal })) parts.push(pcm)
  return joined(...parts)
}

const threads = () => (process.report.getReport() as { workers: unknown[] }).workers.length
const inFrames = (sound: Int16Array) => sound.subarray(0, sound.length - (sound.length % 512))

test('each microphone has its own state, and its audio may come in any number of frames', async () => {
  const sound = inFrames(await spoken('Where is my order number forty two?'))
  const alone = await vad.open().detect(sound)
  const one = vad.open()
  const other = vad.open()
  const probabilities: number[] = []
  for (let at = 0; at < sound.length; at += 1024) {
    const [mine] = await Promise.all([one.detect(sound.subarray(at, at + 1024)), other.detect(quiet(64))])
    probabilities.push(...mine)
  }
  expect(probabilities).toEqual(alone)
  expect(Math.max(...alone)).toBeGreaterThan(0.9)
  expect(Math.max(...(await other.detect(quiet(320))))).toBeLessThan(0.1)
})

test('more than half a minute is transcribed in pieces', async () => {
  const sentences = {
    passport: 'How long does it take to get a new passport?',
    museum: 'What time does the museum close on Sunday?',
    coffee: 'I would like a cup of coffee with milk and no sugar.',
    doctor: 'The doctor will see you on Monday morning.',
    company: 'She works for a small company in the north of the country.',
    answer: 'I have been waiting for an answer since last week.',
    mother: 'Please remind me to call my mother this evening.',
    airport: 'The train to the airport leaves every twenty minutes.',
    children: 'The children are playing football in the park.',
    kitchen: 'Turn off the lights in the kitchen, please.',
  }
  const sounds = await Promise.all(Object.values(sentences).map(spoken))
  const long = joined(...sounds.flatMap((sound) => [sound, quiet(400)]))
  expect(long.length).toBeGreaterThan(28 * listeningSampleRate)
  const text = await transcriber.transcribe(long, { signal })
  expect(Object.keys(sentences).filter((word) => !text.includes(word)).length).toBeLessThanOrEqual(1)
})

test('finds no words in very short audio, silence and hum', async () => {
  const hum = Int16Array.from(
    { length: listeningSampleRate * 3 },
    (_, at) => 3000 * Math.sin((2 * Math.PI * 50 * at) / listeningSampleRate),
  )
  for (const sound of [new Int16Array(0), quiet(50), quiet(3000), hum])
    expect(await transcriber.transcribe(sound, { signal })).toBe('')
})

test('an aborted transcription is dropped', async () => {
  const sound = await spoken('She works for a small company in the north of the country.')
  const stop = new AbortController()
  const long = transcriber.transcribe(joined(sound, sound, sound, sound), { signal: stop.signal })
  stop.abort(new Error('never mind'))
  await expect(long).rejects.toThrow('never mind')
  await expect(transcriber.transcribe(sound, { signal: stop.signal })).rejects.toThrow('never mind')
  expect(await transcriber.transcribe(sound, { signal })).toMatch(/small company/)
})

test('several threads share the work', async () => {
  const sentences = ['How long does it take to get a new passport?', 'Can I pay for this with a credit card?']
  const sounds = await Promise.all(sentences.map(spoken))
  const two = moonshine({ threads: 2 })
  onTestFinished(async () => two.close?.())
  const before = threads()
  const texts = await Promise.all(sounds.map((sound) => two.transcribe(sound, { signal })))
  expect(texts).toEqual([expect.stringMatching(/passport/), expect.stringMatching(/credit card/)])
  expect(threads()).toBe(before + 2)
})

test('close rejects pending work, and the next use loads it again', async () => {
  const own = silero()
  const { detect } = own.open()
  expect(await detect(quiet(32))).toEqual([expect.any(Number)])
  const asked = detect(quiet(32))
  const closing = own.close?.()
  await expect(asked).rejects.toThrow('silero() failed: it was closed')
  await closing
  expect(await detect(quiet(32))).toEqual([expect.any(Number)])
  await own.close?.()
})

test('unreadable weights are reported, and not tried again for each frame', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-onnx-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'weights.onnx')
  writeFileSync(file, 'not a network')
  const thread = onnxThread('silero', { network: 'silero', files: [file] })
  const first = await thread.ready().catch((error) => error)
  expect(first).toMatchObject({
    code: 'internal',
    message: expect.stringMatching(/^silero\(\) failed: .*weights\.onnx/),
  })
  expect(await thread.ready().catch((error) => error)).toBe(first)
})

test('an invalid request fails on its own', async () => {
  const files = onnxFiles({ op: 'silero', needs: ['@ricky0123/vad-web'] })['@ricky0123/vad-web']
  const thread = onnxThread('silero', { network: 'silero', files })
  onTestFinished(thread.close)
  const question = { pcm: new Int16Array(64 + 512), state: new Float32Array(256) }
  const asked = [question, { ...question, state: new Float32Array(7) }, question].map((one) =>
    thread.run(one),
  )
  expect(await Promise.allSettled(asked)).toEqual([
    expect.objectContaining({ status: 'fulfilled' }),
    {
      status: 'rejected',
      reason: expect.objectContaining({ message: expect.stringMatching(/^silero\(\) failed: /) }),
    },
    expect.objectContaining({ status: 'fulfilled' }),
  ])
  expect(thread.waiting).toBe(0)
})

test('does not keep the process alive', async () => {
  const program = `
    const { silero } = await import(${JSON.stringify(new URL('./silero.ts', import.meta.url).href)})
    const { moonshine } = await import(${JSON.stringify(new URL('./moonshine.ts', import.meta.url).href)})
    const { detect } = silero().open()
    await detect(new Int16Array(512))
    await detect(new Int16Array(512))
    await moonshine().ready()
    process.stdout.write('used')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout).toBe('used')
})

test('rejects invalid options', () => {
  expect(() => moonshine({ threads: 0 })).toThrow(/'threads' must be a whole number of at least 1, not 0/)
  expect(() => moonshine({ thread: 2 } as never)).toThrow(/did you mean 'threads'/)
})
