import { agent, textOf } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { eventsOf, untilIdle } from '../../../millrace/src/threads/threads.test-kit.ts'
import { call, type DeskOptions, openDesk, sampleRate, textPartsOf } from '../call.test-kit.ts'
import type { HearingEvent, Listener } from '../listener.ts'

const long =
  'This is a rather long answer. It goes on for a while, so that somebody may well speak in between. The end.'

/** Slow enough that a busy machine gets to speak in between. */
const msPerChar = 10

/** An ear that hears what the test says it does. */
function scriptedListener() {
  let tell: (event: HearingEvent) => void = () => {}
  let soFar: string | Error = ''
  const heard: Int16Array[] = []
  let isClosed = false
  const listener: Listener = {
    listen({ onEvent }) {
      tell = onEvent
      return {
        hear: (pcm) => void heard.push(pcm),
        async soFar() {
          if (soFar instanceof Error) throw soFar
          return soFar
        },
        close() {
          isClosed = true
        },
      }
    },
  }
  return {
    listener,
    heard,
    isClosed: () => isClosed,
    /** Somebody has spoken for so long, and this can be made out, or this is what goes wrong. */
    speech(ms: number, words: string | Error = '') {
      soFar = words
      tell({ type: 'speech', atMs: ms, ms })
    },
    ends(text: string, ms = 500) {
      tell({ type: 'silence', atMs: ms, ms })
      tell({ type: 'transcript', text, ms })
    },
    tell: (event: HearingEvent) => tell(event),
  }
}

async function calling(options: Omit<DeskOptions, 'listener'>) {
  const ear = scriptedListener()
  const desk = await openDesk({ listener: ear.listener, script: { msPerChar }, ...options })
  const thread = desk.thread('t')
  await thread.create()
  const client = await call(desk.url, 't', { listen: true })
  const isHeard = () =>
    expect.poll(() => client.position(1)).toBeGreaterThan(20 * msPerChar * (sampleRate / 1000))
  return { ear, desk, thread, client, isHeard }
}

describe('what is said into the microphone', () => {
  test('becomes an input, whose answer is spoken and timed from the end of the question', async () => {
    const { ear, thread, client } = await calling({
      agents: agent({ model: scriptedModel(['It has shipped.']) }),
    })
    ear.speech(100)
    ear.ends('Where is my order?')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const [input] = (await thread.read()).filter(({ event }) => event.type === 'input')
    expect(client.eventsOf('voice_transcript')).toEqual([
      { type: 'voice_transcript', text: 'Where is my order?', final: true, seq: input?.seq },
    ])
    expect(client.eventsOf('voice_hearing').map(({ speech }) => speech)).toEqual([true, false])
    expect(client.eventsOf('voice_sentence').map(({ text }) => text)).toEqual(['It has shipped.'])
    const { record } = client.eventsOf('voice_record')[0] ?? {}
    expect(record).toMatchObject({ since: 'speech', outcome: 'completed' })
    const { firstTokenMs = -1, firstSentenceMs = -1, firstAudioMs = -1, playbackMs = -1 } = record ?? {}
    const times = [0, firstTokenMs, firstSentenceMs, firstAudioMs, playbackMs]
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  test('reaches the listener as it was sent', async () => {
    const { ear, client } = await calling({ agents: agent({ model: scriptedModel([]) }) })
    client.speak(Int16Array.of(1, -2, 3))
    await expect.poll(() => ear.heard).toEqual([Int16Array.of(1, -2, 3)])
    await client.hangUp()
    await expect.poll(ear.isClosed).toBe(true)
  })

  test('is nothing if nothing was understood', async () => {
    const { ear, thread, client } = await calling({ agents: agent({ model: scriptedModel([]) }) })
    ear.speech(100)
    ear.ends('  ')
    await expect.poll(() => client.eventsOf('voice_hearing')).toHaveLength(2)
    expect((await thread.info()).head).toBe(0)
  })

  test('that cannot be understood is told, and listening goes on', async () => {
    const { ear, client, desk } = await calling({ agents: agent({ model: scriptedModel(['Yes.']) }) })
    ear.tell({ type: 'failed', error: new Error('no ear today') })
    ear.speech(100)
    ear.ends('Hello?')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_error')).toEqual([
      { type: 'voice_error', message: 'what was said could not be understood' },
    ])
    expect(desk.errors).toMatchObject([{ message: 'no ear today' }])
  })
})

describe('somebody who speaks in between', () => {
  test('is let have the floor: it is quiet, what was heard is kept, and the new words are answered', async () => {
    const model = scriptedModel([[{ text: long }, { hang: true }], 'Sorry.'])
    const { ear, thread, client, isHeard } = await calling({ agents: agent({ model }) })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(200)
    ear.speech(320, 'No wait')
    await expect.poll(() => client.eventsOf('voice_hush')).toHaveLength(1)
    ear.ends('No, wait a moment.')
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('Sorry.')
    const told = await untilIdle(thread)
    expect(eventsOf(told, 'run-end').map(({ outcome }) => outcome)).toEqual(['cancelled', 'completed'])
    const [question, heard = '', words] = model.requests[1]?.messages.map(textOf) ?? []
    expect([question, words]).toEqual(['Tell me.', 'No, wait a moment.'])
    expect(long.startsWith(heard) && heard.length < long.length && heard.length > 0).toBe(true)
    expect(client.eventsOf('voice_transcript').map(({ text, final }) => [text, final])).toEqual([
      ['No wait', false],
      ['No, wait a moment.', true],
    ])
  })

  test('only to say that they listen does not interrupt, nor does it pause', async () => {
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, 'Uh-huh')
    ear.ends('Uh-huh.')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
    expect([...client.eventsOf('voice_pause'), ...client.eventsOf('voice_hush')]).toEqual([])
    expect(client.eventsOf('voice_transcript').at(-1)).toEqual({
      type: 'voice_transcript',
      text: 'Uh-huh.',
      final: true,
    })
    expect(eventsOf(await thread.read(), 'input')).toHaveLength(1)
  })

  test('and says nothing after all is a pause, after which it goes on where it was', async () => {
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(1)
    const at = client.position(1)
    ear.ends('')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_resume')).toHaveLength(1)
    expect(client.position(1)).toBeGreaterThan(at)
    const [said] = (await thread.state()).messages.flatMap(textPartsOf)
    expect(said).toEqual({ type: 'text', text: long })
  })

  test('is paused for, and again in the next answer when that one was interrupted', async () => {
    const model = scriptedModel([[{ text: long }, { hang: true }], long])
    const { ear, thread, client, isHeard } = await calling({ agents: agent({ model }) })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(1)
    ear.ends('Something else.')
    await expect.poll(() => client.position(2)).toBeGreaterThan(0)
    ear.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(2)
    ear.ends('')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
  })

  test('and then switches the microphone off is not waited for', async () => {
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(1)
    client.send({ type: 'voice', speak: true, sampleRate })
    await expect.poll(ear.isClosed).toBe(true)
    // What comes out of it after that is nobody's.
    ear.ends('Something else.')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
    expect(eventsOf(await thread.read(), 'input')).toHaveLength(1)
  })

  test('of the last words has answered, if they are over by then', async () => {
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model: scriptedModel([`${long} Shall I go on?`, 'Good.']) }),
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, 'Yes')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    ear.ends('Yes.')
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('Good.')
  })

  test('to a listener that fails is told so, and the answer goes on', async () => {
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, new Error('lost my ears'))
    await expect.poll(() => client.eventsOf('voice_error')).toHaveLength(1)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
  })

  test('steers a run that is to go on', async () => {
    const model = scriptedModel([[{ text: long }, { pause: 400 }], 'I see.'])
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model }),
      onInterrupt: 'continue',
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(320, 'And in French')
    ear.ends('And in French?')
    const told = await untilIdle(thread)
    expect(eventsOf(told, 'run-end').map(({ outcome }) => outcome)).toEqual(['completed'])
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('I see.')
    expect(eventsOf(told, 'input').at(-1)).toMatchObject({ mode: 'steer' })
  })

  test('is not heard where that was not wanted', async () => {
    const { ear, thread, client, isHeard } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
      bargeIn: false,
    })
    await thread.send('Tell me.')
    await isHeard()
    ear.speech(2000, 'No wait')
    ear.ends('No, wait.')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
    expect(eventsOf(await thread.read(), 'input')).toHaveLength(1)
  })
})
