import { agent, textOf, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf } from '../../millrace/src/threads/threads.test-kit.ts'
import { call, openDesk, sampleRate } from './call.test-kit.ts'
import { listener as openListener } from './listening/vad-listener.ts'
import { flite } from './voices/flite.ts'

/** The caller's own. */
const speech = flite()
const listener = openListener()

afterAll(async () => {
  await speech.close?.()
  await listener.close?.()
})

/** What flite says, at 16 kHz, with the silence behind it that tells that somebody is done. */
async function sound(text: string): Promise<Int16Array> {
  const pieces: Int16Array[] = [new Int16Array(sampleRate / 2)]
  const { signal } = new AbortController()
  for await (const { pcm, sampleRate: rate } of speech.synthesize(text, { signal })) {
    expect(rate).toBe(sampleRate)
    pieces.push(pcm)
  }
  pieces.push(new Int16Array(sampleRate))
  const whole = new Int16Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** What Moonshine makes of it. */
function understood(pcm: Int16Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const hearing = listener.listen({
      sampleRate,
      onEvent(event) {
        if (event.type === 'failed') reject(event.error)
        if (event.type !== 'transcript') return
        hearing.close()
        resolve(event.text)
      },
    })
    hearing.hear(pcm)
    hearing.hear(new Int16Array(sampleRate))
  })
}

const plain = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ]/g, '')
    .trim()

test('a spoken question is heard, a tool answers it, and the answer can be understood', async () => {
  const asked: string[] = []
  const findOrder = tool({
    name: 'find_order',
    description: 'Finds an order',
    input: z.object({ question: z.string() }),
    run({ question }) {
      asked.push(question)
      return 'shipped on Monday'
    },
  })
  const model = scriptedModel(({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return `Your order was ${textOf(last)}.`
    return [{ call: 'find_order', input: { question: last ? textOf(last) : '' } }]
  })
  const desk = await openDesk({
    agents: agent({ model, tools: [findOrder] }),
    speech: flite(),
    listener: openListener(),
  })
  await desk.thread('t').create()
  const client = await call(desk.url, 't', { listen: true })
  const question = await sound('Please tell me how much the second ticket costs.')
  for (let at = 0; at < question.length; at += sampleRate / 5)
    client.speak(question.slice(at, at + sampleRate / 5))

  await expect.poll(() => client.eventsOf('voice_end')).toHaveLength(1)
  expect(asked.map(plain)).toEqual(['please tell me how much the second ticket costs'])
  const inputs = eventsOf(await desk.thread('t').read(), 'input')
  expect(inputs.map(({ message }) => plain(textOf(message)))).toEqual(asked.map(plain))
  const answer = Int16Array.from(client.frames.flatMap(({ pcm }) => [...pcm]))
  expect(plain(await understood(answer))).toBe('your order was shipped on monday')
  await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
  expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({
    since: 'speech',
    wordsHeard: 6,
    failed: 0,
  })
  expect(desk.errors).toEqual([])
})

test('what is said into it while it speaks interrupts it, and it remembers what was heard', async () => {
  const long =
    'The first thing to know is that the house was built of stone. The second is that nobody lives there. The third is a secret.'
  const model = scriptedModel([[{ text: long }, { hang: true }], 'All right.'])
  const desk = await openDesk({ agents: agent({ model }), speech: flite(), listener: openListener() })
  await desk.thread('t').create()
  const client = await call(desk.url, 't', { listen: true })
  await desk.thread('t').send('Tell me.')
  await expect.poll(() => client.position(1)).toBeGreaterThan(sampleRate)
  const words = await sound('Stop, that is not what I asked for.')
  for (let at = 0; at < words.length; at += sampleRate / 5) client.speak(words.slice(at, at + sampleRate / 5))

  await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('All right.')
  const [, heard = '', said = ''] = model.requests[1]?.messages.map(textOf) ?? []
  expect(long.startsWith(heard) && heard.length < long.length).toBe(true)
  expect(plain(said)).toMatch(/^stop that is not what i ask/)
})
