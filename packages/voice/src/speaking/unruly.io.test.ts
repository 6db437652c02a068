import { agent } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { eventsOf, heldTool, textIn, untilIdle } from '../../../millrace/src/threads/threads.test-kit.ts'
import { call, sampleRate, startVoiceServer, textPartsOf } from '../call.test-kit.ts'
import { scriptedSpeech } from '../testing.ts'
import { voice } from '../voice.ts'

const before = 'I will look that up for you now. It may take a moment, since the list is long.'
/** The samples of the scripted voice for this many characters, at 20 ms each. */
const samplesOf = (chars: number) => (chars * 20 * sampleRate) / 1000
const slowly = { msPerChar: 20, chunkMs: 100 }

describe('the played position', () => {
  test('is where the client reports that it stopped', async () => {
    const model = scriptedModel([[{ text: before }, { hang: true }]])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }), script: slowly })
    await thread('t').create()
    const client = await call(url, 't', { neverReports: true })
    await thread('t').send('go')
    await expect.poll(() => client.frames.length).toBeGreaterThan(5)
    client.send({ type: 'voice_played', turn: 1, position: samplesOf(2) })
    client.send({ type: 'ping' })
    await expect.poll(() => client.texts.some(({ type }) => type === 'pong')).toBe(true)
    await thread('t').stop()
    await expect.poll(() => client.eventsOf('voice_silence')).toHaveLength(1)
    client.send({ type: 'voice_played', turn: 1, position: samplesOf('I will look that'.length) })
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(said?.text).toBe('I will look that')
  })

  test('excludes the part of a sentence that was not synthesized', async () => {
    const text = 'This is one long sentence that the voice takes its time over, word after word after word.'
    // Synthesis keeps pace with playback, so that all audio was played.
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel([text]) }),
      script: { msPerChar: 20, chunkMs: 40, paceMs: 40, words: false },
    })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await untilIdle(thread('t'))
    await expect.poll(() => client.position(1)).toBeGreaterThan(samplesOf(20))
    // As speech input does: the server interrupts and asks for the position.
    await thread('t').stop()
    await thread('t').send('stop that', { mode: 'interrupt' })
    await expect.poll(async () => eventsOf(await thread('t').read(), 'playback')).toHaveLength(1)
    const [played] = eventsOf(await thread('t').read(), 'playback')
    expect(played?.chars).toBeLessThan(text.length * 0.7)
  })

  test('of a turn is not taken from the previous turn', async () => {
    const answers = ['The first answer is quite a long one, is it not?', `${before} ${before}`]
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel(answers) }),
      script: slowly,
    })
    await thread('t').create()
    const client = await call(url, 't', { neverReports: true })
    await thread('t').send('one')
    await expect.poll(() => client.eventsOf('voice_end')).toHaveLength(1)
    const { samples = 0 } = client.eventsOf('voice_end')[0] ?? {}
    client.send({ type: 'voice_played', turn: 1, position: samples })
    await thread('t').send('two')
    await expect.poll(() => client.frames.filter(({ turn }) => turn === 2).length).toBeGreaterThan(8)
    client.send({ type: 'voice_interrupt', turn: 1, position: samples })
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    expect(client.eventsOf('voice_record')[1]?.record).toMatchObject({ turn: 2, wordsPlayed: 0 })
    expect((await thread('t').state()).messages.flatMap(textPartsOf).map(({ text }) => text)).toEqual([
      answers[0],
      '',
    ])
  })

  test('from before an approval is kept when the rest is interrupted', async () => {
    const look = heldTool('look', { approve: true })
    const model = scriptedModel([
      [{ text: before }, { call: 'look' }],
      [{ text: 'It is' }, { hang: true }],
    ])
    const { url, thread } = await startVoiceServer({ agents: agent({ model, tools: [look.tool] }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const [request] = eventsOf(await thread('t').read(), 'approval-request')
    await thread('t').approve(request?.callId ?? '', { approved: true })
    await look.startedTimes(1)
    look.runs[0]?.release()
    await expect.poll(async () => textIn(await thread('t').read())).toBe(`${before}It is`)
    client.send({ type: 'voice_interrupt', turn: 1, position: 0 })
    await untilIdle(thread('t'))
    const [first, second] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(first).toEqual({ type: 'text', text: before })
    expect(second).toEqual({ type: 'text', text: '', unplayed: 'It is' })
  })

  test('ends where the connection was lost, even if the run continues', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ text: before }, { call: 'look' }], 'It is in Lyon.', 'Hello again.'])
    const { url, thread } = await startVoiceServer({
      agents: agent({ model, tools: [look.tool] }),
      reconnectMs: 20,
    })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await look.startedTimes(1)
    await expect.poll(() => client.eventsOf('voice_sentence')).toHaveLength(2)
    await expect.poll(() => client.playing()).toBe(undefined)
    await client.hangUp()
    look.runs[0]?.release()
    await expect
      .poll(async () => (await thread('t').state()).messages.flatMap(textPartsOf))
      .toEqual([
        { type: 'text', text: before },
        { type: 'text', text: '', unplayed: 'It is in Lyon.' },
      ])
    // Later text is not played.
    await thread('t').send('And now?')
    await untilIdle(thread('t'))
    expect((await thread('t').state()).messages.flatMap(textPartsOf).at(-1)).toEqual({
      type: 'text',
      text: 'Hello again.',
    })
  })

  test('includes what was read before the voice was switched on', async () => {
    const model = scriptedModel([[{ text: `${before} And` }, { hang: true }]])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }) })
    await thread('t').send('go')
    await expect.poll(async () => textIn(await thread('t').read())).toBe(`${before} And`)
    const client = await call(url, 't')
    await expect
      .poll(async () => {
        client.send({ type: 'voice_interrupt', turn: 1, position: 0 })
        return eventsOf(await thread('t').read(), 'playback')
      })
      .not.toEqual([])
    await untilIdle(thread('t'))
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(said?.text).toBe(`${before} `)
  })
})

describe('an interruption', () => {
  test('stops a run that resumed after an approval, while its tool runs', async () => {
    const look = heldTool('look', { approve: true })
    const model = scriptedModel([[{ text: before }, { call: 'look' }], 'There.'])
    const { url, thread } = await startVoiceServer({ agents: agent({ model, tools: [look.tool] }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const [request] = eventsOf(await thread('t').read(), 'approval-request')
    await thread('t').approve(request?.callId ?? '', { approved: true })
    await look.startedTimes(1)
    client.send({ type: 'voice_interrupt', turn: 1, position: 0 })
    await expect.poll(async () => eventsOf(await thread('t').read(), 'stop')).toHaveLength(1)
    await untilIdle(thread('t'))
    expect(eventsOf(await thread('t').read(), 'run-end').at(-1)).toMatchObject({ outcome: 'canceled' })
  })
})

describe('a connection', () => {
  test('that is lost during the access check leaves no session behind', async () => {
    const model = scriptedModel(() => 'Hello.')
    const { thread } = await startVoiceServer({ agents: agent({ model }) })
    const speech = scriptedSpeech({ msPerChar: 1 })
    const own = voice({ speech })
    const allowed = Promise.withResolvers<void>()
    const outlet = { send() {}, sendAudio() {}, drained: async () => {}, authorize: () => allowed.promise }
    await thread('t').create()
    const session = own.open(thread('t'), outlet)
    const obeyed = session.handleCommand({ type: 'voice', speak: true })
    session.disconnected()
    allowed.resolve()
    await obeyed
    await thread('t').send('go')
    await untilIdle(thread('t'))
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(speech.texts).toEqual([])
    await own.close()
  })

  test('that resumes on a recreated thread with the same id works', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel(() => 'Hello.') }),
    })
    await thread('t').create()
    const client = await call(url, 't', { from: { seq: 500, round: 3, chars: 20 } })
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
  })

  test('ends with its thread', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel(() => 'Hello.') }),
    })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    await thread('t').delete()
    await expect.poll(() => client.closeCode()).toBe(4404)
  })

  test('may carry more audio frames than other frames, up to a limit', async () => {
    const received: number[] = []
    const session = {
      push: (pcm: Int16Array) => void received.push(pcm.length),
      partialTranscript: async () => '',
      close() {},
    }
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel([]) }),
      listener: { listen: () => session },
      app: { limits: { framesPerSecond: 5 } } as never,
    })
    await thread('t').create()
    const client = await call(url, 't', { listen: true })
    for (let at = 0; at < 30; at++) client.speak(new Int16Array(320))
    await expect.poll(() => received.length).toBe(30)
    expect(client.closeCode()).toBe(undefined)
    for (let at = 0; at < 60; at++) client.speak(new Int16Array(320))
    await expect.poll(() => client.closeCode()).toBe(1008)
  })
})
