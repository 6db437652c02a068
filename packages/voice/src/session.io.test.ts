import { agent, MillraceError, millrace } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { call, msPerChar, startVoiceServer } from './call.test-kit.ts'
import { scriptedSpeech } from './testing.ts'
import { voice } from './voice.ts'

test('a client that lost access to the thread can neither switch voice on nor interrupt', async () => {
  const app = millrace({ agents: agent({ model: scriptedModel([]) }) })
  const speaking = voice({ speech: scriptedSpeech() })
  const sent: unknown[] = []
  const session = speaking.open(app.thread('t'), {
    send: (event) => sent.push(event),
    sendAudio() {},
    drained: async () => {},
    authorize() {
      throw new MillraceError({ op: 'test', code: 'auth', message: 'not any more' })
    },
  })
  await expect(session.handleCommand({ type: 'voice', speak: true })).rejects.toMatchObject({ code: 'auth' })
  const interruption = session.handleCommand({ type: 'voice_interrupt', turn: 1, position: 0 })
  await expect(interruption).rejects.toMatchObject({ code: 'auth' })
  expect(sent).toEqual([])
  session.end()
  await speaking.close()
  await app.close()
})

test('a new sample rate applies to later speech', async () => {
  const { url, thread } = await startVoiceServer({
    agents: agent({ model: scriptedModel(['Hello there.']) }),
  })
  await thread('t').create()
  const client = await call(url, 't')
  client.send({ type: 'voice', speak: true, sampleRate: 8000 })
  await expect
    .poll(() => client.eventsOf('voice').map(({ sampleRate }) => sampleRate))
    .toEqual([16_000, 8000])
  await thread('t').send('Hi')
  await expect.poll(() => client.eventsOf('voice_end')).toHaveLength(1)
  expect(client.eventsOf('voice_end')[0]?.samples).toBe('Hello there.'.length * msPerChar * 8)
})
