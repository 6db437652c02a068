import type { Model, ModelEvent, Thread } from 'millrace'
import { agent, MillraceError, textOf, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf, heldTool, textIn, untilIdle } from '../../../millrace/src/threads/threads.test-kit.ts'
import { type Call, call, msPerChar, sampleRate, startVoiceServer, textPartsOf } from '../call.test-kit.ts'

const before = 'I will look that up for you now. It may take a moment, since the list is long. '
const after =
  'Here it is: your order left the house on Monday. It should be with you tomorrow. Anything else?'

/** Slow enough that it is still speaking when a busy machine interrupts. */
const slowly = { msPerChar: 20 }

const nop = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'found' })

/** How many characters of the model's text were played, by the timing of the scripted voice. */
function charsPlayed(client: Call): number {
  const position = client.position(1)
  let chars = 0
  for (const sentence of client.eventsOf('voice_sentence')) {
    const { position: from, text, chars: length = 0, round = 1, start = 0 } = sentence
    if (position <= from) break
    const played = Math.floor(((position - from) / sampleRate) * (1000 / msPerChar))
    chars = (round === 1 ? 0 : before.length) + start + (played >= text.length ? length : played)
  }
  return chars
}

async function playedText(thread: Thread): Promise<string> {
  const { messages } = await thread.state()
  return messages
    .flatMap(textPartsOf)
    .map(({ text }) => text)
    .join('')
}

const wordsIn = (text: string) => text.split(/\s+/).filter(Boolean).length

describe('interrupted at 100 moments', () => {
  test('played and unplayed text add up to what was generated, exact to the word', async () => {
    const model = scriptedModel(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? after : [{ text: before }, { call: 'look' }]),
      { paceMs: 2, deltaChars: 6 },
    )
    const { url, thread } = await startVoiceServer({ agents: agent({ model, tools: [nop] }) })
    const lengthMs = (before.length + after.length) * msPerChar

    async function interruptAfter(ms: number, id: string) {
      const one = thread(id)
      await one.create()
      const client = await call(url, id)
      await one.send('Where is it?')
      // Wait for a run to interrupt.
      for await (const { event } of one.follow()) if (event.type === 'round-start') break
      await new Promise((resolve) => setTimeout(resolve, ms))
      client.interrupt()
      // The last playback event may come a moment after the run has ended.
      const playedWords = wordsIn((before + after).slice(0, charsPlayed(client)))
      await expect
        .poll(async () => Math.abs(wordsIn(await playedText(one)) - playedWords))
        .toBeLessThanOrEqual(1)
      const entries = await untilIdle(one)
      const answers = (await one.state()).messages.flatMap(textPartsOf)
      expect(answers.map(({ text, unplayed = '' }) => text + unplayed).join('')).toBe(textIn(entries))
      const played = await playedText(one)
      expect((before + after).startsWith(played)).toBe(true)
      await client.hangUp()
      return played.length
    }

    const moments = Array.from({ length: 100 }, () => Math.random() * lengthMs * 1.3)
    const lengths: number[] = []
    for (let at = 0; at < moments.length; at += 10)
      lengths.push(
        ...(await Promise.all(
          moments.slice(at, at + 10).map((ms, index) => interruptAfter(ms, `t${at + index}`)),
        )),
      )
    // The moments cover the time before the first word, the middle and the end.
    expect(new Set(lengths).size).toBeGreaterThan(10)
  })
})

describe('an interruption', () => {
  test('stops the run, and the next prompt has only what was played', async () => {
    const model = scriptedModel([[{ text: before }, { hang: true }], 'Sorry.'])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }), script: slowly })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(20 * slowly.msPerChar * (sampleRate / 1000))
    client.interrupt()
    const entries = await untilIdle(thread('t'))
    expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'canceled' }])
    await thread('t').send('No, the other one.')
    await untilIdle(thread('t'))
    const [, played = '', next] = model.requests[1]?.messages.map(textOf) ?? []
    expect(next).toBe('No, the other one.')
    expect(played.length).toBeGreaterThan(10)
    expect(played.length).toBeLessThan(before.length)
    expect(before.startsWith(played)).toBe(true)
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({ outcome: 'interrupted' })
  })

  test('can let the run continue without speaking it', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ text: before }, { call: 'look' }], after, 'The next answer.'])
    const server = await startVoiceServer({
      agents: agent({ model, tools: [look.tool] }),
      onInterrupt: 'continue',
      script: slowly,
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('Where is it?')
    await look.startedTimes(1)
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    look.runs[0]?.release()
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
    await expect
      .poll(async () => eventsOf(await thread.read(), 'playback').map(({ round }) => round))
      .toEqual([1, 2])
    expect(client.eventsOf('voice_sentence').every(({ text }) => !after.includes(text))).toBe(true)
    await thread.send('And now?')
    await untilIdle(thread)
    expect(model.requests[2]?.messages.map(textOf)).not.toContain(after)
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('The next answer.')
  })

  test('can be a stop from another client', async () => {
    const model = scriptedModel([[{ text: before + after }, { hang: true }], 'Good.'])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    await thread('t').stop()
    await expect.poll(() => client.eventsOf('voice_silence')).toHaveLength(1)
    await expect.poll(async () => eventsOf(await thread('t').read(), 'playback')).toHaveLength(1)
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(`${said?.text}${said?.unplayed}`).toBe(before + after)
  })

  test('uses the position that the client reports after the silence event, not an earlier one', async () => {
    const model = scriptedModel([[{ text: before + after }, { hang: true }]])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't', { neverReports: true })
    await thread('t').send('Where is it?')
    const samplesTo = (text: string) => text.length * msPerChar * (sampleRate / 1000)
    const [first = '', second = ''] = before.split(/(?<=\.) /)
    await expect.poll(() => client.frames.at(-1)?.position ?? 0).toBeGreaterThan(samplesTo(first))
    client.send({ type: 'voice_played', turn: 1, position: 1 })
    client.send({ type: 'ping' })
    await expect.poll(() => client.texts.some(({ type }) => type === 'pong')).toBe(true)
    await thread('t').stop()
    await expect.poll(() => client.eventsOf('voice_silence')).toHaveLength(1)
    client.send({ type: 'voice_played', turn: 1, position: samplesTo(first) + samplesTo(second.slice(0, 6)) })
    await expect.poll(() => playedText(thread('t'))).toBe('I will look that up for you now. It may')
  })

  test('in a turn that has ended on the server does not affect the next one', async () => {
    const model = scriptedModel(['A first answer of some length. And more of it.', before])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }), script: slowly })
    await thread('t').create()
    const client = await call(url, 't', { neverReports: true })
    await thread('t').send('one')
    await expect.poll(() => client.eventsOf('voice_end')).toHaveLength(1)
    const position = client.eventsOf('voice_end')[0]?.samples ?? 0
    client.send({ type: 'voice_played', turn: 1, position })
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    await thread('t').send('two')
    await expect
      .poll(() => client.frames.filter(({ turn }) => turn === 2).at(-1)?.position ?? 0)
      .toBeGreaterThan(0)
    client.send({ type: 'voice_interrupt', turn: 1, position })
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    const [, second] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(second).toEqual({ type: 'text', text: '', unplayed: before })
  })

  test('by a message works after the run has ended while its text is still playing', async () => {
    const model = scriptedModel([before + after, 'Good.'])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }), script: slowly })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await untilIdle(thread('t'))
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    await thread('t').send('Stop talking.', { mode: 'interrupt' })
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('Good.')
    const records = client.eventsOf('voice_record').map(({ record }) => record.outcome)
    expect(records[0]).toBe('interrupted')
  })

  test('of a run that continues marks each later round as unplayed before the next model call, and the last one if it is cut off', async () => {
    const look = heldTool('look')
    const model = scriptedModel([
      [{ text: before }, { call: 'look' }],
      [{ text: 'This is not played. ' }, { call: 'look' }],
      [{ text: 'Nor of this' }, { hang: true }],
    ])
    const server = await startVoiceServer({
      agents: agent({ model, tools: [look.tool] }),
      onInterrupt: 'continue',
      script: slowly,
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('Where is it?')
    await look.startedTimes(1)
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const rounds = async () => eventsOf(await thread.read(), 'playback').map(({ round }) => round)
    look.runs[0]?.release()
    await look.startedTimes(2)
    // While its tool is still running, so that the next prompt omits it.
    await expect.poll(rounds).toEqual([1, 2])
    look.runs[1]?.release()
    await expect.poll(async () => textIn(await thread.read())).toContain('Nor of this')
    expect(model.requests[2]?.messages.map(textOf)).not.toContain('This is not played. ')
    await thread.stop()
    await expect.poll(rounds).toEqual([1, 2, 3])
  })

  test('between two sentences of a round also silences the later ones', async () => {
    const more = Promise.withResolvers<void>()
    async function* stream(): AsyncGenerator<ModelEvent> {
      yield { type: 'text', text: 'First words. ' }
      await more.promise
      yield { type: 'text', text: 'Second words.' }
      yield { type: 'done', finish: 'stop' }
    }
    const { capabilities } = scriptedModel([])
    const model: Model = { id: 'slow', provider: 'test', capabilities, stream }
    const server = await startVoiceServer({ agents: agent({ model }), onInterrupt: 'continue' })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('Where is it?')
    await expect.poll(() => client.position(1)).toBe('First words.'.length * msPerChar * (sampleRate / 1000))
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    more.resolve()
    await untilIdle(thread)
    const [said] = (await thread.state()).messages.flatMap(textPartsOf)
    expect(said?.text.trim()).toBe('First words.')
    expect(said?.unplayed?.trim()).toBe('Second words.')
  })

  test('of a round that is retracted afterwards also applies to its replacement', async () => {
    const broken = Promise.withResolvers<void>()
    let tries = 0
    async function* stream(): AsyncGenerator<ModelEvent> {
      if (tries++ > 0) {
        yield { type: 'text', text: 'Other words.' }
        yield { type: 'done', finish: 'stop' }
        return
      }
      yield { type: 'text', text: before }
      await broken.promise
      throw new MillraceError({ op: 'model.stream', code: 'stream_error', message: 'broke off' })
    }
    const { capabilities } = scriptedModel([])
    const model: Model = { id: 'broken', provider: 'test', capabilities, stream }
    const server = await startVoiceServer({
      agents: agent({ model, retry: { baseMs: 1 } }),
      onInterrupt: 'continue',
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    broken.resolve()
    await untilIdle(thread)
    await expect
      .poll(async () => (await thread.state()).messages.flatMap(textPartsOf))
      .toEqual([{ type: 'text', text: '', unplayed: 'Other words.' }])
  })

  test('cancels the filler line', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ call: 'look' }], [{ pause: 500 }, { text: 'Good.' }]])
    const server = await startVoiceServer({
      agents: agent({ model, tools: [look.tool] }),
      filler: { text: 'One moment.', afterMs: 100 },
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('Where is it?')
    await look.startedTimes(1)
    await thread.stop()
    await thread.send('And now?')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_sentence').map(({ text }) => text)).toEqual(['Good.'])
  })

  test('of a filler line is recorded without text from the model', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ call: 'look' }]])
    const server = await startVoiceServer({
      agents: agent({ model, tools: [look.tool] }),
      filler: { text: 'One moment, please, it takes a while.', afterMs: 1 },
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const { record } = client.eventsOf('voice_record')[0] ?? {}
    expect(record).toMatchObject({ sentences: 1, words: 0, wordsPlayed: 0 })
    expect(record).not.toHaveProperty('firstSentenceMs')
  })

  test('before any speech leaves nothing played', async () => {
    const model = scriptedModel([[{ text: 'I am' }, { hang: true }]])
    const { url, thread } = await startVoiceServer({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await expect.poll(async () => textIn(await thread('t').read())).toBe('I am')
    client.interrupt()
    await untilIdle(thread('t'))
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(said).toEqual({ type: 'text', text: '', unplayed: 'I am' })
  })

  test('after a whole round was played, while its tool runs, keeps all of it', async () => {
    const look = heldTool('look')
    const words = 'One moment.'
    const model = scriptedModel([[{ text: words }, { call: 'look' }]])
    const { url, thread } = await startVoiceServer({ agents: agent({ model, tools: [look.tool] }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await look.startedTimes(1)
    await expect.poll(() => client.position(1)).toBe(words.length * msPerChar * (sampleRate / 1000))
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const entries = await untilIdle(thread('t'))
    expect(eventsOf(entries, 'playback')).toEqual([])
    expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'canceled' }])
  })

  test('after the last word was played changes nothing', async () => {
    const { url, thread } = await startVoiceServer({ agents: agent({ model: scriptedModel(['Done.']) }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const { head } = await thread('t').info()
    client.interrupt()
    client.send({ type: 'ping' })
    await expect.poll(() => client.texts.some(({ type }) => type === 'pong')).toBe(true)
    expect((await thread('t').info()).head).toBe(head)
  })
})
