import { agent } from 'millrace'
import { serve } from 'millrace/server'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { writeAudioFrame } from '../../millrace/src/protocol/index.ts'
import { call, sampleRate, startVoiceServer } from './call.test-kit.ts'
import { voice } from './voice.ts'

const agents = agent({ model: scriptedModel(() => 'One sentence. Another one.') })
const speech = { synthesize: async function* () {} }

async function opened() {
  const server = await startVoiceServer({ agents })
  await server.thread('t').create()
  return { ...server, client: await call(server.url, 't') }
}

describe('a client gets an error', () => {
  test.each([
    [{ type: 'voice', speak: 'yes' }, "the field 'speak' must be true or false"],
    [{ type: 'voice', sampleRate: 100 }, "the field 'sampleRate' must be a whole number of at least 8000"],
    [{ type: 'voice', from: { seq: 1 } }, "the field 'round' is missing"],
    [{ type: 'voice', from: 'here' }, "the field 'from' must be an object"],
    [{ type: 'voice', loud: true }, "'loud'"],
    [{ type: 'voice', listen: true }, 'this server cannot listen'],
    [{ type: 'voice_played', turn: 1 }, "the field 'position' is missing"],
    [
      { type: 'voice_interrupt', turn: 0, position: 0 },
      "the field 'turn' must be a whole number of at least 1",
    ],
  ])('for the invalid frame %j', async (frame, message) => {
    const { client } = await opened()
    client.send({ ...frame, id: 7 })
    await expect
      .poll(() => client.texts.find(({ type }) => type === 'error'))
      .toMatchObject({
        id: 7,
        code: 'invalid_input',
        message: expect.stringContaining(message),
      })
  })

  test('for unexpected audio', async () => {
    const { client } = await opened()
    client.speak(Int16Array.of(1))
    client.sendBytes(Uint8Array.of(1, 2, 3))
    client.sendBytes(writeAudioFrame({ kind: 'speech', turn: 1, seq: 0, position: 0, pcm: Int16Array.of(1) }))
    const errors = () => client.texts.filter(({ type }) => type === 'error').map(({ message }) => message)
    await expect
      .poll(errors)
      .toEqual([
        expect.stringContaining("listening is off: send { type: 'voice', listen: true } first"),
        expect.stringContaining('a header of 16 bytes, but this one has only 3 bytes'),
        expect.stringContaining('kind 2'),
      ])
  })

  test('from a server without a voice', async () => {
    const app = serve({ agents, flushMs: 0 })
    const { url } = await app.listen()
    await app.thread('t').create()
    await expect(call(url, 't')).rejects.toThrow('this server has no voice')
    expect(await (await app.fetch(new Request('http://localhost/voice'))).json()).toEqual({
      speak: false,
      listen: false,
    })
    await app.close()
  })
})

describe('a voice', () => {
  test('can be switched off and on over the same socket, and is silent in between', async () => {
    const { client, thread } = await opened()
    await thread('t').send('one')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const { length } = client.frames
    client.send({ type: 'voice' })
    await expect.poll(() => client.eventsOf('voice').at(-1)?.speak).toBe(false)
    await thread('t').send('two')
    for await (const _ of thread('t').follow({ until: 'idle' }));
    client.send({ type: 'voice', speak: true, sampleRate })
    await expect.poll(() => client.eventsOf('voice')).toHaveLength(3)
    expect(client.frames).toHaveLength(length)
    await thread('t').send('three')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    expect(client.eventsOf('voice_sentence')).toHaveLength(4)
    // Numbers continue, since a report about the first turn may still arrive.
    expect(client.eventsOf('voice_turn').map(({ turn }) => turn)).toEqual([1, 2])
    expect(client.frames.map(({ seq }) => seq)).toEqual(client.frames.map((_, at) => at))
  })

  test('is announced by the server', async () => {
    const deaf = voice({ speech })
    const hearing = voice({
      speech,
      listener: { listen: () => ({ push() {}, partialTranscript: async () => '', close() {} }) },
    })
    for (const [one, listen] of [
      [deaf, false],
      [hearing, true],
    ] as const) {
      const app = serve({ agents, voice: one })
      const answer = await app.fetch(new Request('http://localhost/voice'))
      expect(await answer.json()).toEqual({ speak: true, listen })
      await app.close()
    }
  })

  test('is validated before the server starts', () => {
    expect(() => serve({ agents, voice: { speech } as never })).toThrow(/voice\(\) from @millrace\/voice/)
    expect(() => serve({ agents, voice: true as never })).toThrow(/voice\(\) from @millrace\/voice/)
  })

  test.each([
    [{}, /speech.*flite\(\)/],
    [{ speech: {} }, /speech.*synthesize/],
    [{ speech, listener: {} }, /listener.*listen\(\)/],
    [{ speech, lookAhead: { sentences: 0 } }, /'lookAhead\.sentences'/],
    [{ speech, filler: {} }, /'filler\.text'/],
    [{ speech, onInterrupt: 'maybe' }, /onInterrupt.*'cancel' or 'continue'/],
    [{ speech, sentences: { minChars: -1 } }, /minChars/],
    [{ speech, bargeIn: { afterMs: 0 } }, /afterMs/],
    [{ speech, loud: true }, /loud/],
    [undefined, /takes an object of options/],
  ])('rejects the options %j', (options, message) => {
    expect(() => voice(options as never)).toThrow(message)
  })
})
