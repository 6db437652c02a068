import { agent, textOf, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf } from '../../millrace/src/threads/threads.test-kit.ts'
import { call, sampleRate, startVoiceServer } from './call.test-kit.ts'
import { listener as openListener } from './listening/vad-listener.ts'
import { flite } from './voices/flite.ts'

/** The caller's own. */
const speech = flite()
const listener = openListener()

afterAll(async () => {
  await speech.close?.()
  await listener.close?.()
})

/** flite's audio at 16 kHz, with trailing silence that ends the utterance. */
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

/** The transcript by Moonshine. */
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
    hearing.push(pcm)
    hearing.push(new Int16Array(sampleRate))
  })
}

const plain = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ]/g, '')
    .trim()

test('transcribes a spoken question, calls a tool and speaks an intelligible answer', async () => {
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
  const server = await startVoiceServer({
    agents: agent({ model, tools: [findOrder] }),
    speech: flite(),
    listener: openListener(),
  })
  await server.thread('t').create()
  const client = await call(server.url, 't', { listen: true })
  const question = await sound('Please tell me how much the second ticket costs.')
  for (let at = 0; at < question.length; at += sampleRate / 5)
    client.speak(question.slice(at, at + sampleRate / 5))

  await expect.poll(() => client.eventsOf('voice_end')).toHaveLength(1)
  expect(asked.map(plain)).toEqual(['please tell me how much the second ticket costs'])
  const inputs = eventsOf(await server.thread('t').read(), 'input')
  expect(inputs.map(({ message }) => plain(textOf(message)))).toEqual(asked.map(plain))
  const answer = Int16Array.from(client.frames.flatMap(({ pcm }) => [...pcm]))
  expect(plain(await understood(answer))).toBe('your order was shipped on monday')
  await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
  expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({
    since: 'speech',
    wordsPlayed: 6,
    failed: 0,
  })
  expect(server.errors).toEqual([])
})

test('speech interrupts the agent, and the thread keeps what was played', async () => {
  const long =
    'The first thing to know is that the house was built of stone. The second is that no one lives there. The third is a secret.'
  const model = scriptedModel([[{ text: long }, { hang: true }], 'All right.'])
  const server = await startVoiceServer({
    agents: agent({ model }),
    speech: flite(),
    listener: openListener(),
  })
  await server.thread('t').create()
  const client = await call(server.url, 't', { listen: true })
  await server.thread('t').send('Tell me.')
  await expect.poll(() => client.position(1)).toBeGreaterThan(sampleRate)
  const words = await sound('Stop, that is not what I asked for.')
  for (let at = 0; at < words.length; at += sampleRate / 5) client.speak(words.slice(at, at + sampleRate / 5))

  await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('All right.')
  const [, heard = '', said = ''] = model.requests[1]?.messages.map(textOf) ?? []
  expect(long.startsWith(heard) && heard.length < long.length).toBe(true)
  expect(plain(said)).toMatch(/^stop that is not what i ask/)
})
