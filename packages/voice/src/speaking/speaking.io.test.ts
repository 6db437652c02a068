import type { Model, ModelEvent, ThreadEvent, ThreadStore } from 'millrace'
import { agent, memoryStore, noUsage, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { TurnRecord } from '../../../millrace/src/protocol/index.ts'
import { eventsOf, heldTool, untilIdle, wordsOf } from '../../../millrace/src/threads/threads.test-kit.ts'
import { call, openDesk, textPartsOf } from '../call.test-kit.ts'
import { countWords } from './segment.ts'

const sentence = (number: number) => `Sentence ${number} is a short one. `
const ten = Array.from({ length: 10 }, (_, at) => sentence(at + 1)).join('')

/** A model that says each piece only when it is let. */
function gatedModel(pieces: readonly string[]) {
  const gates = pieces.map(() => Promise.withResolvers<void>())
  async function* stream(): AsyncGenerator<ModelEvent> {
    for (const [at, text] of pieces.entries()) {
      await gates[at]?.promise
      yield { type: 'text', text }
    }
    yield { type: 'done', finish: 'stop' }
  }
  const { capabilities } = scriptedModel([])
  const model: Model = { id: 'gated', provider: 'test', capabilities, stream }
  return { model, let: (at: number) => gates[at]?.resolve() }
}

const spokenBy = (client: { eventsOf: Awaited<ReturnType<typeof call>>['eventsOf'] }) =>
  client.eventsOf('voice_sentence').map(({ text }) => text)

describe('speaking', () => {
  test('the first audio leaves before the second sentence has been generated', async () => {
    const gated = gatedModel(ten.split(/(?<=\. )/))
    const { url, thread } = await openDesk({ agents: agent({ model: gated.model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    gated.let(0)
    await expect.poll(() => client.frames.length).toBeGreaterThan(0)
    expect(wordsOf(await thread('t').read())).toBe(sentence(1))
    for (let at = 1; at < 10; at++) gated.let(at)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client)).toEqual(Array.from({ length: 10 }, (_, at) => sentence(at + 1).trim()))
    const [end] = client.eventsOf('voice_end')
    expect(client.position(1)).toBe(end?.samples)
  })

  test('what is said before a slow tool is heard while the tool runs, a line fills the wait', async () => {
    const slow = heldTool('look')
    const model = scriptedModel([[{ text: 'Let me look that up' }, { call: 'look' }], 'It has shipped.'])
    const { url, thread } = await openDesk({
      agents: agent({ model, tools: [slow.tool] }),
      filler: { text: 'One moment, please.', afterMs: 30 },
    })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await slow.startedTimes(1)
    await expect.poll(() => spokenBy(client)).toEqual(['Let me look that up', 'One moment, please.'])
    expect(client.eventsOf('voice_sentence')[1]).not.toHaveProperty('round')
    slow.runs[0]?.release()
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client).at(-1)).toBe('It has shipped.')
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({
      outcome: 'completed',
      words: 8,
      wordsHeard: 8,
    })
  })

  test('a voice and two text clients follow the same run', async () => {
    const { url, thread } = await openDesk({ agents: agent({ model: scriptedModel([ten], { paceMs: 1 }) }) })
    const followed = thread('t')
    await followed.create()
    const client = await call(url, 't')
    const text = await call(url, 't', { speak: false })
    text.send({ type: 'resume', after: 0 })
    await followed.send('go')
    const own = await untilIdle(followed)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    await expect.poll(() => text.texts.some(({ type }) => type === 'stream_end')).toBe(true)
    expect(wordsOf(own)).toBe(ten)
    const entries = text.texts.filter(({ type }) => type === 'stream_chunk')
    expect(entries.map(({ event }) => (event as { text: string }).text).join('')).toBe(ten)
    expect(spokenBy(client)).toHaveLength(10)
    expect(text.frames).toEqual([])
  })

  test('turns are spoken one after the other, each to its end', async () => {
    const model = scriptedModel(({ messages }) => `Answer to ${JSON.stringify(messages.at(-1)?.content)}.`)
    const { url, thread } = await openDesk({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('one')
    await thread('t').send('two')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    expect(spokenBy(client)).toEqual(['Answer to "one".', 'Answer to "two".'])
    expect(client.frames.map(({ turn }) => turn)).toEqual(client.frames.map(({ turn }) => turn).sort())
    expect(client.frames.map(({ seq }) => seq)).toEqual(client.frames.map((_, at) => at))
  })

  test('whoever keeps records may fail at it: that is reported, and the next answer is spoken', async () => {
    const model = scriptedModel(['First.', 'Second.'])
    const failures: (() => void | Promise<void>)[] = [
      () => {
        throw new Error('the disk is full')
      },
      async () => {
        throw new Error('still full')
      },
    ]
    const desk = await openDesk({ agents: agent({ model }), onRecord: () => failures.shift()?.() })
    await desk.thread('t').create()
    const client = await call(desk.url, 't')
    await desk.thread('t').send('one')
    await desk.thread('t').send('two')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    expect(spokenBy(client)).toEqual(['First.', 'Second.'])
    await expect
      .poll(() => desk.errors)
      .toMatchObject([{ message: 'the disk is full' }, { message: 'still full' }])
  })

  test('a round that is retracted is said anew, and not kept', async () => {
    let tries = 0
    const model = scriptedModel(() =>
      tries++ === 0
        ? [{ text: 'Wrong words here. And' }, { error: { code: 'stream_error' } }]
        : 'Right words here.',
    )
    const { url, thread } = await openDesk({ agents: agent({ model, retry: { baseMs: 1 } }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client).at(-1)).toBe('Right words here.')
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({ words: 3, wordsHeard: 3 })
    expect(eventsOf(await thread('t').read(), 'heard')).toEqual([])
  })

  test('what was told before the voice was switched on is not said, and the sentence under way is', async () => {
    const gated = gatedModel(['Old words. New', ' words. ', 'Last words.'])
    const { url, thread } = await openDesk({ agents: agent({ model: gated.model }) })
    await thread('t').send('go')
    gated.let(0)
    await expect.poll(async () => wordsOf(await thread('t').read())).toBe('Old words. New')
    const client = await call(url, 't')
    gated.let(1)
    gated.let(2)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client)).toEqual(['New words.', 'Last words.'])
  })

  test('a voice that is switched on in the middle of a run reads that run, however old its thread is', async () => {
    const events: ThreadEvent[] = Array.from({ length: 1000 }, (_, run): ThreadEvent[] => [
      { type: 'input', mode: 'queue', message: { role: 'user', content: 'go' } },
      { type: 'run-start', version: 1, runId: `r${run}`, agent: 'agent', input: [], heard: [run * 6 + 1] },
      { type: 'round-start', round: 1, model: 'm' },
      { type: 'text', text: 'Old words.' },
      { type: 'round-end', round: 1, model: 'm', finish: 'stop' },
      { type: 'run-end', outcome: 'completed', usage: noUsage },
    ]).flat()
    const kept = memoryStore()
    await kept.create(
      { id: 't', agent: 'agent' },
      { entries: events.map((event, index) => ({ seq: index + 1, at: 0, event })) },
    )
    let entries = 0
    const store: ThreadStore = {
      ...kept,
      async read(...args) {
        const page = await kept.read(...args)
        entries += page.length
        return page
      },
    }
    const gated = gatedModel(['Shown before. New', ' words.'])
    const { url, thread } = await openDesk({ agents: agent({ model: gated.model }), app: { store } })
    await thread('t').send('go')
    gated.let(0)
    const shown = async () => wordsOf(await kept.read('t', { after: events.length, limit: 100 }))
    await expect.poll(shown).toBe('Shown before. New')
    entries = 0
    const client = await call(url, 't')
    await expect.poll(() => entries).toBeGreaterThan(0)
    gated.let(1)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client).at(-1)).toBe('New words.')
    expect(entries).toBeLessThan(500)
  })

  test('a client that comes back hears the rest, from the sentence that it names', async () => {
    const { url, thread } = await openDesk({
      agents: agent({ model: scriptedModel([ten]) }),
      script: { msPerChar: 12 },
      // Less than the rest takes: if it were still waited for, that would be on record at the end.
      comeBackMs: 2000,
    })
    await thread('t').create()
    const first = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => first.eventsOf('voice_sentence').length).toBeGreaterThan(2)
    const [begun] = first.eventsOf('voice')
    const [turn] = first.eventsOf('voice_turn')
    await first.hangUp()
    const place = {
      session: begun?.session ?? '',
      seq: turn?.seq ?? 0,
      round: 1,
      chars: sentence(1).length * 2,
    }
    const second = await call(url, 't', { from: place })
    await expect.poll(() => second.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(second)[0]).toBe(sentence(3).trim())
    expect(spokenBy(second).at(-1)).toBe(sentence(10).trim())
    expect(eventsOf(await thread('t').read(), 'heard')).toEqual([])
  })

  test('a client that comes back hears what was answered while it was away, from the first round on', async () => {
    const { url, thread } = await openDesk({
      agents: agent({ model: scriptedModel(['First answer.', 'Second answer.']) }),
    })
    await thread('t').create()
    const first = await call(url, 't')
    await thread('t').send('one')
    await expect.poll(() => first.eventsOf('voice_record')).toHaveLength(1)
    const [turn] = first.eventsOf('voice_turn')
    await first.hangUp()
    await thread('t').send('two')
    await untilIdle(thread('t'))
    const second = await call(url, 't', { from: { seq: turn?.seq ?? 0, round: 2, chars: 0 } })
    await expect.poll(() => second.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(second)).toEqual(['Second answer.'])
  })

  test('of an answer that has arrived whole before the connection was lost there is a record all the same', async () => {
    const { url, thread } = await openDesk({ agents: agent({ model: scriptedModel(['Only this.']) }) })
    await thread('t').create()
    const first = await call(url, 't', { isMute: true })
    await thread('t').send('go')
    await expect.poll(() => first.frames.length).toBeGreaterThan(0)
    await untilIdle(thread('t'))
    const [{ session = '' } = {}] = first.eventsOf('voice')
    const [{ seq = 0, run = '' } = {}] = first.eventsOf('voice_turn')
    await first.hangUp()
    const second = await call(url, 't', { from: { session, awaits: run, seq, round: 1, chars: 10 } })
    await expect
      .poll(() => second.eventsOf('voice_record'))
      .toMatchObject([{ record: { run, outcome: 'completed' } }])
    expect(second.frames).toEqual([])
  })

  test('of a caller who is gone for good, only what it had heard is kept', async () => {
    const { url, thread } = await openDesk({ agents: agent({ model: scriptedModel([ten]) }), comeBackMs: 20 })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    await client.hangUp()
    await expect.poll(async () => eventsOf(await thread('t').read(), 'heard')).toHaveLength(1)
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(`${said?.text}${said?.unheard}`).toBe(ten)
  })

  test('one who never said how far it was has heard nothing since it was gone', async () => {
    const desk = await openDesk({
      agents: agent({ model: scriptedModel([ten]) }),
      script: { msPerChar: 20 },
      comeBackMs: 2000,
    })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't', { isMute: true })
    await thread.send('go')
    await expect.poll(() => client.frames.length).toBeGreaterThan(0)
    await client.hangUp()
    await expect.poll(async () => eventsOf(await thread.read(), 'heard')).toHaveLength(1)
    const [said] = (await thread.state()).messages.flatMap(textPartsOf)
    expect(said?.text.length).toBeLessThan(2 * sentence(1).length)
  })

  test('one who says it will not come back for a while and does is given the whole answer again', async () => {
    const { url, thread } = await openDesk({ agents: agent({ model: scriptedModel([ten]) }), comeBackMs: 5 })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    const [turn] = client.eventsOf('voice_turn')
    await client.hangUp()
    await expect.poll(async () => eventsOf(await thread('t').read(), 'heard')).toHaveLength(1)
    const back = await call(url, 't', { from: { seq: turn?.seq ?? 0, round: 1, chars: 0 } })
    await expect.poll(() => back.eventsOf('voice_record')).toHaveLength(1)
    await expect
      .poll(async () => (await thread('t').state()).messages[1]?.content)
      .toEqual([{ type: 'text', text: ten }])
  })
})

describe('a voice that fails the text clients', () => {
  const slowTool = tool({ name: 'nop', description: 'Nothing', input: z.object({}), run: () => 'done' })

  test.each([
    ['hangs', { hang: () => 'deaf' as const }],
    ['throws', { fail: () => 'no voice today' }],
    ['is slower than speech', { delayMs: 200, paceMs: 200 }],
  ])('does not exist for them: it %s', async (_, script) => {
    const model = scriptedModel([[{ text: ten }, { call: 'nop' }], ten])
    const desk = await openDesk({ agents: agent({ model, tools: [slowTool] }), script, patienceMs: 50 })
    const thread = desk.thread('t')
    await thread.create()
    const client = await call(desk.url, 't')
    await thread.send('go')
    // If the run waited for the voice this would not come to an end.
    expect(wordsOf(await untilIdle(thread))).toBe(ten + ten)
    await expect.poll(() => desk.speech.said.length).toBeGreaterThan(0)
    await client.hangUp()
  })

  test('that is switched off is told of in a record, with all that had been generated', async () => {
    const records: TurnRecord[] = []
    const desk = await openDesk({
      agents: agent({ model: scriptedModel([ten]) }),
      // Long enough not to be heard to its end.
      script: { msPerChar: 50 },
      onRecord: (record) => records.push(record),
    })
    await desk.thread('t').create()
    const client = await call(desk.url, 't')
    await desk.thread('t').send('go')
    await untilIdle(desk.thread('t'))
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.send({ type: 'voice' })
    await expect.poll(() => records).toHaveLength(1)
    const [record] = records
    expect(record).toMatchObject({ outcome: 'interrupted', words: countWords(ten) })
    expect(record?.wordsHeard).toBeLessThan(countWords(ten))
    // What was not heard is taken as read.
    expect(eventsOf(await desk.thread('t').read(), 'heard')).toEqual([])
    await client.hangUp()
  })

  test('is told of each sentence that could not be said', async () => {
    const model = scriptedModel(['Good one. Bad one. Good again.'])
    const desk = await openDesk({
      agents: agent({ model }),
      script: { fail: (text) => (text.startsWith('Bad') ? 'not that' : undefined) },
    })
    await desk.thread('t').create()
    const client = await call(desk.url, 't')
    await desk.thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client)).toEqual(['Good one.', 'Good again.'])
    expect(client.eventsOf('voice_error')).toEqual([
      { type: 'voice_error', turn: 1, text: 'Bad one.', message: 'this could not be spoken' },
    ])
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({
      sentences: 3,
      failed: 1,
      words: 6,
      wordsHeard: 4,
    })
    expect(desk.errors).toMatchObject([{ message: 'not that' }])
  })
})
