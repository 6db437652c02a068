import { agent, MillraceError, millrace } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { call, msPerChar, openDesk } from './call.test-kit.ts'
import { scriptedSpeech } from './testing.ts'
import { voice } from './voice.ts'

test('whoever may not see the thread any more neither turns it on nor interrupts it', async () => {
  const app = millrace({ agents: agent({ model: scriptedModel([]) }) })
  const speaking = voice({ speech: scriptedSpeech() })
  const told: unknown[] = []
  const session = speaking.open(app.thread('t'), {
    tell: (event) => told.push(event),
    audio() {},
    room: async () => {},
    allow() {
      throw new MillraceError({ op: 'test', code: 'auth', message: 'not any more' })
    },
  })
  await expect(session.obey({ type: 'voice', speak: true })).rejects.toMatchObject({ code: 'auth' })
  const interruption = session.obey({ type: 'voice_interrupt', turn: 1, position: 0 })
  await expect(interruption).rejects.toMatchObject({ code: 'auth' })
  expect(told).toEqual([])
  session.end()
  await speaking.close()
  await app.close()
})

test('another rate that is asked for is that of what is said from then on', async () => {
  const { url, thread } = await openDesk({ agents: agent({ model: scriptedModel(['Hello there.']) }) })
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
