import { agent, textOf } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { eventsOf, untilIdle } from '../../../millrace/src/threads/threads.test-kit.ts'
import { call, sampleRate, startVoiceServer, textPartsOf, type VoiceServerOptions } from '../call.test-kit.ts'
import type { Listener, ListeningEvent } from '../listener.ts'

const long =
  'This is a rather long answer. It takes a while, so that a caller may well speak in between. The end.'

/** Slow enough that a busy machine can interrupt it. */
const msPerChar = 10

/** A listener whose events are emitted by the test. */
function scriptedListener() {
  let emit: (event: ListeningEvent) => void = () => {}
  let partial: string | Error = ''
  const received: Int16Array[] = []
  let isClosed = false
  const listener: Listener = {
    listen({ onEvent }) {
      emit = onEvent
      return {
        push: (pcm) => void received.push(pcm),
        async partialTranscript() {
          if (partial instanceof Error) throw partial
          return partial
        },
        close() {
          isClosed = true
        },
      }
    },
  }
  return {
    listener,
    received,
    isClosed: () => isClosed,
    /** The user has spoken for this long, with this partial transcript or error. */
    speech(ms: number, words: string | Error = '') {
      partial = words
      emit({ type: 'speech', atMs: ms, ms })
    },
    ends(text: string, ms = 500) {
      emit({ type: 'silence', atMs: ms, ms })
      emit({ type: 'transcript', text, ms })
    },
    emit: (event: ListeningEvent) => emit(event),
  }
}

async function calling(options: Omit<VoiceServerOptions, 'listener'>) {
  const mic = scriptedListener()
  const server = await startVoiceServer({ listener: mic.listener, script: { msPerChar }, ...options })
  const thread = server.thread('t')
  await thread.create()
  const client = await call(server.url, 't', { listen: true })
  const isPlaying = () =>
    expect.poll(() => client.position(1)).toBeGreaterThan(20 * msPerChar * (sampleRate / 1000))
  return { mic, server, thread, client, isPlaying }
}

describe('speech into the microphone', () => {
  test('becomes an input, whose answer is spoken and timed from the end of the question', async () => {
    const { mic, thread, client } = await calling({
      agents: agent({ model: scriptedModel(['It has shipped.']) }),
    })
    mic.speech(100)
    mic.ends('Where is my order?')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const [input] = (await thread.read()).filter(({ event }) => event.type === 'input')
    expect(client.eventsOf('voice_transcript')).toEqual([
      { type: 'voice_transcript', text: 'Where is my order?', final: true, seq: input?.seq },
    ])
    expect(client.eventsOf('voice_speech').map(({ speaking }) => speaking)).toEqual([true, false])
    expect(client.eventsOf('voice_sentence').map(({ text }) => text)).toEqual(['It has shipped.'])
    const { record } = client.eventsOf('voice_record')[0] ?? {}
    expect(record).toMatchObject({ since: 'speech', outcome: 'completed' })
    const { firstTokenMs = -1, firstSentenceMs = -1, firstAudioMs = -1, playbackMs = -1 } = record ?? {}
    const times = [0, firstTokenMs, firstSentenceMs, firstAudioMs, playbackMs]
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  test('reaches the listener unchanged', async () => {
    const { mic, client } = await calling({ agents: agent({ model: scriptedModel([]) }) })
    client.speak(Int16Array.of(1, -2, 3))
    await expect.poll(() => mic.received).toEqual([Int16Array.of(1, -2, 3)])
    await client.hangUp()
    await expect.poll(mic.isClosed).toBe(true)
  })

  test('is ignored if nothing was recognized', async () => {
    const { mic, thread, client } = await calling({ agents: agent({ model: scriptedModel([]) }) })
    mic.speech(100)
    mic.ends('  ')
    await expect.poll(() => client.eventsOf('voice_speech')).toHaveLength(2)
    expect((await thread.info()).head).toBe(0)
  })

  test('that cannot be transcribed is reported, and listening continues', async () => {
    const { mic, client, server } = await calling({ agents: agent({ model: scriptedModel(['Yes.']) }) })
    mic.emit({ type: 'failed', error: new Error('no model today') })
    mic.speech(100)
    mic.ends('Hello?')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_error')).toEqual([
      { type: 'voice_error', message: 'your speech could not be transcribed' },
    ])
    expect(server.errors).toMatchObject([{ message: 'no model today' }])
  })
})

describe('speech during an answer', () => {
  test('stops playback, keeps what was played and is answered', async () => {
    const model = scriptedModel([[{ text: long }, { hang: true }], 'Sorry.'])
    const { mic, thread, client, isPlaying } = await calling({ agents: agent({ model }) })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(200)
    mic.speech(320, 'No wait')
    await expect.poll(() => client.eventsOf('voice_silence')).toHaveLength(1)
    mic.ends('No, wait a moment.')
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('Sorry.')
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-end').map(({ outcome }) => outcome)).toEqual(['canceled', 'completed'])
    const [question, played = '', words] = model.requests[1]?.messages.map(textOf) ?? []
    expect([question, words]).toEqual(['Tell me.', 'No, wait a moment.'])
    expect(long.startsWith(played) && played.length < long.length && played.length > 0).toBe(true)
    expect(client.eventsOf('voice_transcript').map(({ text, final }) => [text, final])).toEqual([
      ['No wait', false],
      ['No, wait a moment.', true],
    ])
  })

  test('does not interrupt or pause if it is a back-channel phrase', async () => {
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, 'Uh-huh')
    mic.ends('Uh-huh.')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
    expect([...client.eventsOf('voice_pause'), ...client.eventsOf('voice_silence')]).toEqual([])
    expect(client.eventsOf('voice_transcript').at(-1)).toEqual({
      type: 'voice_transcript',
      text: 'Uh-huh.',
      final: true,
    })
    expect(eventsOf(await thread.read(), 'input')).toHaveLength(1)
  })

  test('without words pauses playback, which then resumes where it was', async () => {
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(1)
    const at = client.position(1)
    mic.ends('')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_resume')).toHaveLength(1)
    expect(client.position(1)).toBeGreaterThan(at)
    const [said] = (await thread.state()).messages.flatMap(textPartsOf)
    expect(said).toEqual({ type: 'text', text: long })
  })

  test('pauses playback, and again in the next answer after an interruption', async () => {
    const model = scriptedModel([[{ text: long }, { hang: true }], long])
    const { mic, thread, client, isPlaying } = await calling({ agents: agent({ model }) })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(1)
    mic.ends('Something else.')
    await expect.poll(() => client.position(2)).toBeGreaterThan(0)
    mic.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(2)
    mic.ends('')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
  })

  test('does not keep playback paused after the microphone is switched off', async () => {
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, '')
    await expect.poll(() => client.eventsOf('voice_pause')).toHaveLength(1)
    client.send({ type: 'voice', speak: true, sampleRate })
    await expect.poll(mic.isClosed).toBe(true)
    // Later events are ignored.
    mic.ends('Something else.')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
    expect(eventsOf(await thread.read(), 'input')).toHaveLength(1)
  })

  test('over the last words is an answer if playback has ended by then', async () => {
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model: scriptedModel([`${long} Shall I go on?`, 'Good.']) }),
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, 'Yes')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    mic.ends('Yes.')
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('Good.')
  })

  test('reports a failing listener, and the answer continues', async () => {
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, new Error('lost the model'))
    await expect.poll(() => client.eventsOf('voice_error')).toHaveLength(1)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
  })

  test('steers a run with onInterrupt continue', async () => {
    const model = scriptedModel([[{ text: long }, { pause: 400 }], 'I see.'])
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model }),
      onInterrupt: 'continue',
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(320, 'And in French')
    mic.ends('And in French?')
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-end').map(({ outcome }) => outcome)).toEqual(['completed'])
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('I see.')
    expect(eventsOf(entries, 'input').at(-1)).toMatchObject({ mode: 'steer' })
  })

  test('does not interrupt if barge-in is off', async () => {
    const { mic, thread, client, isPlaying } = await calling({
      agents: agent({ model: scriptedModel([long]) }),
      bargeIn: false,
    })
    await thread.send('Tell me.')
    await isPlaying()
    mic.speech(2000, 'No wait')
    mic.ends('No, wait.')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_record')[0]?.record.outcome).toBe('completed')
    expect(eventsOf(await thread.read(), 'input')).toHaveLength(1)
  })
})
