import type { Model, ModelEvent, Thread } from 'millrace'
import { agent, MillraceError, textOf, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventsOf, heldTool, untilIdle, wordsOf } from '../../../millrace/src/threads/threads.test-kit.ts'
import { type Call, call, msPerChar, openDesk, sampleRate, textPartsOf } from '../call.test-kit.ts'

const before = 'I will look that up for you now. It may take a moment, since the list is long. '
const after =
  'Here it is: your order left the house on Monday. It should be with you tomorrow. Anything else?'

/** So that it is still at it when a busy machine gets to the interruption. */
const slowly = { msPerChar: 20 }

const nop = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'found' })

/** How many characters of the model's words came out of the loudspeaker, by the times that the scripted voice keeps. */
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

async function heardIn(thread: Thread): Promise<string> {
  const { messages } = await thread.state()
  return messages
    .flatMap(textPartsOf)
    .map(({ text }) => text)
    .join('')
}

const wordsIn = (text: string) => text.split(/\s+/).filter(Boolean).length

describe('interrupted at 100 moments', () => {
  test('heard and unheard are what was generated, and heard is what was played, to the word', async () => {
    const model = scriptedModel(
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? after : [{ text: before }, { call: 'look' }]),
      { paceMs: 2, deltaChars: 6 },
    )
    const { url, thread } = await openDesk({ agents: agent({ model, tools: [nop] }) })
    const lengthMs = (before.length + after.length) * msPerChar

    async function interruptAfter(ms: number, id: string) {
      const one = thread(id)
      await one.create()
      const client = await call(url, id)
      await one.send('Where is it?')
      // Before there is a run, there is nothing to interrupt.
      for await (const { event } of one.follow()) if (event.type === 'round-start') break
      await new Promise((resolve) => setTimeout(resolve, ms))
      client.interrupt()
      // The last word on it may come a moment after the run has ended.
      const played = wordsIn((before + after).slice(0, charsPlayed(client)))
      await expect.poll(async () => Math.abs(wordsIn(await heardIn(one)) - played)).toBeLessThanOrEqual(1)
      const entries = await untilIdle(one)
      const answers = (await one.state()).messages.flatMap(textPartsOf)
      expect(answers.map(({ text, unheard = '' }) => text + unheard).join('')).toBe(wordsOf(entries))
      const heard = await heardIn(one)
      expect((before + after).startsWith(heard)).toBe(true)
      await client.hangUp()
      return heard.length
    }

    const moments = Array.from({ length: 100 }, () => Math.random() * lengthMs * 1.3)
    const lengths: number[] = []
    for (let at = 0; at < moments.length; at += 10)
      lengths.push(
        ...(await Promise.all(
          moments.slice(at, at + 10).map((ms, index) => interruptAfter(ms, `t${at + index}`)),
        )),
      )
    // They were moments indeed: before the first word, in the middle and at the end.
    expect(new Set(lengths).size).toBeGreaterThan(10)
  })
})

describe('an interruption', () => {
  test('ends the run, and the next prompt has what was heard alone', async () => {
    const model = scriptedModel([[{ text: before }, { hang: true }], 'Sorry.'])
    const { url, thread } = await openDesk({ agents: agent({ model }), script: slowly })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(20 * slowly.msPerChar * (sampleRate / 1000))
    client.interrupt()
    const told = await untilIdle(thread('t'))
    expect(eventsOf(told, 'run-end')).toMatchObject([{ outcome: 'cancelled' }])
    await thread('t').send('No, the other one.')
    await untilIdle(thread('t'))
    const [, heard = '', next] = model.requests[1]?.messages.map(textOf) ?? []
    expect(next).toBe('No, the other one.')
    expect(heard.length).toBeGreaterThan(10)
    expect(heard.length).toBeLessThan(before.length)
    expect(before.startsWith(heard)).toBe(true)
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({ outcome: 'interrupted' })
  })

  test('may leave the run to go on, whose words nobody hears', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ text: before }, { call: 'look' }], after, 'The next answer.'])
    const desk = await openDesk({
      agents: agent({ model, tools: [look.tool] }),
      onInterrupt: 'continue',
      script: slowly,
    })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('Where is it?')
    await look.startedTimes(1)
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    look.runs[0]?.release()
    const told = await untilIdle(thread)
    expect(eventsOf(told, 'run-end')).toMatchObject([{ outcome: 'completed' }])
    await expect
      .poll(async () => eventsOf(await thread.read(), 'heard').map(({ round }) => round))
      .toEqual([1, 2])
    expect(client.eventsOf('voice_sentence').every(({ text }) => !after.includes(text))).toBe(true)
    await thread.send('And now?')
    await untilIdle(thread)
    expect(model.requests[2]?.messages.map(textOf)).not.toContain(after)
    await expect.poll(() => client.eventsOf('voice_sentence').at(-1)?.text).toBe('The next answer.')
  })

  test('is also what somebody else does by text: a stop', async () => {
    const model = scriptedModel([[{ text: before + after }, { hang: true }], 'Good.'])
    const { url, thread } = await openDesk({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    await thread('t').stop()
    await expect.poll(() => client.eventsOf('voice_hush')).toHaveLength(1)
    await expect.poll(async () => eventsOf(await thread('t').read(), 'heard')).toHaveLength(1)
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(`${said?.text}${said?.unheard}`).toBe(before + after)
  })

  test('leaves what the client says it has played when it is told to be quiet, not what it said before', async () => {
    const model = scriptedModel([[{ text: before + after }, { hang: true }]])
    const { url, thread } = await openDesk({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't', { isMute: true })
    await thread('t').send('Where is it?')
    const samplesTo = (text: string) => text.length * msPerChar * (sampleRate / 1000)
    const [first = '', second = ''] = before.split(/(?<=\.) /)
    await expect.poll(() => client.frames.at(-1)?.position ?? 0).toBeGreaterThan(samplesTo(first))
    client.send({ type: 'voice_played', turn: 1, position: 1 })
    client.send({ type: 'ping' })
    await expect.poll(() => client.texts.some(({ type }) => type === 'pong')).toBe(true)
    await thread('t').stop()
    await expect.poll(() => client.eventsOf('voice_hush')).toHaveLength(1)
    client.send({ type: 'voice_played', turn: 1, position: samplesTo(first) + samplesTo(second.slice(0, 6)) })
    await expect.poll(() => heardIn(thread('t'))).toBe('I will look that up for you now. It may')
  })

  test('in a turn that is over for the server says nothing of the next one', async () => {
    const model = scriptedModel(['A first answer of some length. And more of it.', before])
    const { url, thread } = await openDesk({ agents: agent({ model }), script: slowly })
    await thread('t').create()
    const client = await call(url, 't', { isMute: true })
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
    expect(second).toEqual({ type: 'text', text: '', unheard: before })
  })

  test('by a message is one too when the run is over and its words are still being spoken', async () => {
    const model = scriptedModel([before + after, 'Good.'])
    const { url, thread } = await openDesk({ agents: agent({ model }), script: slowly })
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

  test('of a run that goes on leaves out each later round before the next is asked for, and the last if it is cut off', async () => {
    const look = heldTool('look')
    const model = scriptedModel([
      [{ text: before }, { call: 'look' }],
      [{ text: 'Of this nobody hears. ' }, { call: 'look' }],
      [{ text: 'Nor of this' }, { hang: true }],
    ])
    const desk = await openDesk({
      agents: agent({ model, tools: [look.tool] }),
      onInterrupt: 'continue',
      script: slowly,
    })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('Where is it?')
    await look.startedTimes(1)
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const rounds = async () => eventsOf(await thread.read(), 'heard').map(({ round }) => round)
    look.runs[0]?.release()
    await look.startedTimes(2)
    // While its tool still runs, so that the next prompt has nothing of it.
    await expect.poll(rounds).toEqual([1, 2])
    look.runs[1]?.release()
    await expect.poll(async () => wordsOf(await thread.read())).toContain('Nor of this')
    expect(model.requests[2]?.messages.map(textOf)).not.toContain('Of this nobody hears. ')
    await thread.stop()
    await expect.poll(rounds).toEqual([1, 2, 3])
  })

  test('between two sentences of a round holds for those that are still to come', async () => {
    const more = Promise.withResolvers<void>()
    async function* stream(): AsyncGenerator<ModelEvent> {
      yield { type: 'text', text: 'First words. ' }
      await more.promise
      yield { type: 'text', text: 'Second words.' }
      yield { type: 'done', finish: 'stop' }
    }
    const { capabilities } = scriptedModel([])
    const model: Model = { id: 'slow', provider: 'test', capabilities, stream }
    const desk = await openDesk({ agents: agent({ model }), onInterrupt: 'continue' })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('Where is it?')
    await expect.poll(() => client.position(1)).toBe('First words.'.length * msPerChar * (sampleRate / 1000))
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    more.resolve()
    await untilIdle(thread)
    const [said] = (await thread.state()).messages.flatMap(textPartsOf)
    expect(said?.text.trim()).toBe('First words.')
    expect(said?.unheard?.trim()).toBe('Second words.')
  })

  test('of a round that is retracted afterwards holds for what is written in its place', async () => {
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
    const desk = await openDesk({ agents: agent({ model, retry: { baseMs: 1 } }), onInterrupt: 'continue' })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    broken.resolve()
    await untilIdle(thread)
    await expect
      .poll(async () => (await thread.state()).messages.flatMap(textPartsOf))
      .toEqual([{ type: 'text', text: '', unheard: 'Other words.' }])
  })

  test('leaves no line for a tool that nobody waits for any more', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ call: 'look' }], [{ pause: 500 }, { text: 'Good.' }]])
    const desk = await openDesk({
      agents: agent({ model, tools: [look.tool] }),
      filler: { text: 'One moment.', afterMs: 100 },
    })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('Where is it?')
    await look.startedTimes(1)
    await thread.stop()
    await thread.send('And now?')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(client.eventsOf('voice_sentence').map(({ text }) => text)).toEqual(['Good.'])
  })

  test('of a line that fills the wait is on record without a sentence of the model', async () => {
    const look = heldTool('look')
    const model = scriptedModel([[{ call: 'look' }]])
    const desk = await openDesk({
      agents: agent({ model, tools: [look.tool] }),
      filler: { text: 'One moment, please, it takes a while.', afterMs: 1 },
    })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('Where is it?')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const { record } = client.eventsOf('voice_record')[0] ?? {}
    expect(record).toMatchObject({ sentences: 1, words: 0, wordsHeard: 0 })
    expect(record).not.toHaveProperty('firstSentenceMs')
  })

  test('before anything was said leaves nothing heard', async () => {
    const model = scriptedModel([[{ text: 'I am' }, { hang: true }]])
    const { url, thread } = await openDesk({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await expect.poll(async () => wordsOf(await thread('t').read())).toBe('I am')
    client.interrupt()
    await untilIdle(thread('t'))
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(said).toEqual({ type: 'text', text: '', unheard: 'I am' })
  })

  test('after all words of a round were heard, while its tool runs, takes none of them away', async () => {
    const look = heldTool('look')
    const words = 'One moment.'
    const model = scriptedModel([[{ text: words }, { call: 'look' }]])
    const { url, thread } = await openDesk({ agents: agent({ model, tools: [look.tool] }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('Where is it?')
    await look.startedTimes(1)
    await expect.poll(() => client.position(1)).toBe(words.length * msPerChar * (sampleRate / 1000))
    client.interrupt()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    const told = await untilIdle(thread('t'))
    expect(eventsOf(told, 'heard')).toEqual([])
    expect(eventsOf(told, 'run-end')).toMatchObject([{ outcome: 'cancelled' }])
  })

  test('after the last word was heard changes nothing', async () => {
    const { url, thread } = await openDesk({ agents: agent({ model: scriptedModel(['Done.']) }) })
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
