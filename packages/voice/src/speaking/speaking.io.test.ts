import type { Model, ModelEvent, ThreadEvent, ThreadStore } from 'millrace'
import { agent, memoryStore, noUsage, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { TurnRecord } from '../../../millrace/src/protocol/index.ts'
import { eventsOf, heldTool, textIn, untilIdle } from '../../../millrace/src/threads/threads.test-kit.ts'
import { call, startVoiceServer, textPartsOf } from '../call.test-kit.ts'
import { countWords } from './segment.ts'

const sentence = (number: number) => `Sentence ${number} is a short one. `
const ten = Array.from({ length: 10 }, (_, at) => sentence(at + 1)).join('')

/** A model that generates each piece only when the test allows it. */
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
  test('sends the first audio before the second sentence was generated', async () => {
    const gated = gatedModel(ten.split(/(?<=\. )/))
    const { url, thread } = await startVoiceServer({ agents: agent({ model: gated.model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    gated.let(0)
    await expect.poll(() => client.frames.length).toBeGreaterThan(0)
    expect(textIn(await thread('t').read())).toBe(sentence(1))
    for (let at = 1; at < 10; at++) gated.let(at)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client)).toEqual(Array.from({ length: 10 }, (_, at) => sentence(at + 1).trim()))
    const [end] = client.eventsOf('voice_end')
    expect(client.position(1)).toBe(end?.samples)
  })

  test('speaks the text before a slow tool while the tool runs, then a filler line', async () => {
    const slow = heldTool('look')
    const model = scriptedModel([[{ text: 'Let me look that up' }, { call: 'look' }], 'It has shipped.'])
    const { url, thread } = await startVoiceServer({
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
      wordsPlayed: 8,
    })
  })

  test('a voice client and two text clients follow the same run', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel([ten], { paceMs: 1 }) }),
    })
    const followed = thread('t')
    await followed.create()
    const client = await call(url, 't')
    const text = await call(url, 't', { speak: false })
    text.send({ type: 'resume', after: 0 })
    await followed.send('go')
    const own = await untilIdle(followed)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    await expect.poll(() => text.texts.some(({ type }) => type === 'stream_end')).toBe(true)
    expect(textIn(own)).toBe(ten)
    const entries = text.texts.filter(({ type }) => type === 'stream_chunk')
    expect(entries.map(({ event }) => (event as { text: string }).text).join('')).toBe(ten)
    expect(spokenBy(client)).toHaveLength(10)
    expect(text.frames).toEqual([])
  })

  test('speaks turns one after the other, each to its end', async () => {
    const model = scriptedModel(({ messages }) => `Answer to ${JSON.stringify(messages.at(-1)?.content)}.`)
    const { url, thread } = await startVoiceServer({ agents: agent({ model }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('one')
    await thread('t').send('two')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    expect(spokenBy(client)).toEqual(['Answer to "one".', 'Answer to "two".'])
    expect(client.frames.map(({ turn }) => turn)).toEqual(client.frames.map(({ turn }) => turn).sort())
    expect(client.frames.map(({ seq }) => seq)).toEqual(client.frames.map((_, at) => at))
  })

  test('reports an exception from onRecord, and speaks the next answer', async () => {
    const model = scriptedModel(['First.', 'Second.'])
    const failures: (() => void | Promise<void>)[] = [
      () => {
        throw new Error('the disk is full')
      },
      async () => {
        throw new Error('still full')
      },
    ]
    const server = await startVoiceServer({ agents: agent({ model }), onRecord: () => failures.shift()?.() })
    await server.thread('t').create()
    const client = await call(server.url, 't')
    await server.thread('t').send('one')
    await server.thread('t').send('two')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(2)
    expect(spokenBy(client)).toEqual(['First.', 'Second.'])
    await expect
      .poll(() => server.errors)
      .toMatchObject([{ message: 'the disk is full' }, { message: 'still full' }])
  })

  test('speaks a retracted round again, without keeping it', async () => {
    let tries = 0
    const model = scriptedModel(() =>
      tries++ === 0
        ? [{ text: 'Wrong words here. And' }, { error: { code: 'stream_error' } }]
        : 'Right words here.',
    )
    const { url, thread } = await startVoiceServer({ agents: agent({ model, retry: { baseMs: 1 } }) })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client).at(-1)).toBe('Right words here.')
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({ words: 3, wordsPlayed: 3 })
    expect(eventsOf(await thread('t').read(), 'playback')).toEqual([])
  })

  test('skips text from before the voice was switched on, except for the current sentence', async () => {
    const gated = gatedModel(['Old words. New', ' words. ', 'Last words.'])
    const { url, thread } = await startVoiceServer({ agents: agent({ model: gated.model }) })
    await thread('t').send('go')
    gated.let(0)
    await expect.poll(async () => textIn(await thread('t').read())).toBe('Old words. New')
    const client = await call(url, 't')
    gated.let(1)
    gated.let(2)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client)).toEqual(['New words.', 'Last words.'])
  })

  test('a voice that is switched on during a run reads only that run, however long the thread is', async () => {
    const events: ThreadEvent[] = Array.from({ length: 1000 }, (_, run): ThreadEvent[] => [
      { type: 'input', mode: 'queue', message: { role: 'user', content: 'go' } },
      { type: 'run-start', version: 2, runId: `r${run}`, agent: 'agent', input: [], inputs: [run * 6 + 1] },
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
    const { url, thread } = await startVoiceServer({ agents: agent({ model: gated.model }), app: { store } })
    await thread('t').send('go')
    gated.let(0)
    const shown = async () => textIn(await kept.read('t', { after: events.length, limit: 100 }))
    await expect.poll(shown).toBe('Shown before. New')
    entries = 0
    const client = await call(url, 't')
    await expect.poll(() => entries).toBeGreaterThan(0)
    gated.let(1)
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client).at(-1)).toBe('New words.')
    expect(entries).toBeLessThan(500)
  })

  test('a client that reconnects gets the rest, from the position it reports', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel([ten]) }),
      script: { msPerChar: 12 },
      // Shorter than the rest takes: if the old session were still waiting, there would be a record
      // of it at the end.
      reconnectMs: 2000,
    })
    await thread('t').create()
    const first = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => first.eventsOf('voice_sentence').length).toBeGreaterThan(2)
    const [opened] = first.eventsOf('voice')
    const [turn] = first.eventsOf('voice_turn')
    await first.hangUp()
    const place = {
      session: opened?.session ?? '',
      seq: turn?.seq ?? 0,
      round: 1,
      chars: sentence(1).length * 2,
    }
    const second = await call(url, 't', { from: place })
    await expect.poll(() => second.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(second)[0]).toBe(sentence(3).trim())
    expect(spokenBy(second).at(-1)).toBe(sentence(10).trim())
    expect(eventsOf(await thread('t').read(), 'playback')).toEqual([])
  })

  test('a client that reconnects gets what was answered while it was away, from the first round', async () => {
    const { url, thread } = await startVoiceServer({
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

  test('sends the record of an answer that had arrived completely before the disconnect', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel(['Only this.']) }),
    })
    await thread('t').create()
    const first = await call(url, 't', { neverReports: true })
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

  test('keeps only what was played for a client that does not reconnect', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel([ten]) }),
      reconnectMs: 20,
    })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    await client.hangUp()
    await expect.poll(async () => eventsOf(await thread('t').read(), 'playback')).toHaveLength(1)
    const [said] = (await thread('t').state()).messages.flatMap(textPartsOf)
    expect(`${said?.text}${said?.unplayed}`).toBe(ten)
  })

  test('a client that never reported has played nothing after it disconnected', async () => {
    const server = await startVoiceServer({
      agents: agent({ model: scriptedModel([ten]) }),
      script: { msPerChar: 20 },
      reconnectMs: 2000,
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't', { neverReports: true })
    await thread.send('go')
    await expect.poll(() => client.frames.length).toBeGreaterThan(0)
    await client.hangUp()
    await expect.poll(async () => eventsOf(await thread.read(), 'playback')).toHaveLength(1)
    const [said] = (await thread.state()).messages.flatMap(textPartsOf)
    expect(said?.text.length).toBeLessThan(2 * sentence(1).length)
  })

  test('a client that reconnects after the timeout gets the whole answer again', async () => {
    const { url, thread } = await startVoiceServer({
      agents: agent({ model: scriptedModel([ten]) }),
      reconnectMs: 5,
    })
    await thread('t').create()
    const client = await call(url, 't')
    await thread('t').send('go')
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    const [turn] = client.eventsOf('voice_turn')
    await client.hangUp()
    await expect.poll(async () => eventsOf(await thread('t').read(), 'playback')).toHaveLength(1)
    const back = await call(url, 't', { from: { seq: turn?.seq ?? 0, round: 1, chars: 0 } })
    await expect.poll(() => back.eventsOf('voice_record')).toHaveLength(1)
    await expect
      .poll(async () => (await thread('t').state()).messages[1]?.content)
      .toEqual([{ type: 'text', text: ten }])
  })
})

describe('a failing voice', () => {
  const slowTool = tool({ name: 'nop', description: 'Nothing', input: z.object({}), run: () => 'done' })

  test.each([
    ['hangs', { hang: () => 'ignore-abort' as const }],
    ['throws', { fail: () => 'no voice today' }],
    ['is slower than real time', { delayMs: 200, paceMs: 200 }],
  ])('does not affect text clients if it %s', async (_, script) => {
    const model = scriptedModel([[{ text: ten }, { call: 'nop' }], ten])
    const server = await startVoiceServer({
      agents: agent({ model, tools: [slowTool] }),
      script,
      speechTimeoutMs: 50,
    })
    const thread = server.thread('t')
    await thread.create()
    const client = await call(server.url, 't')
    await thread.send('go')
    // If the run waited for the voice, this would never end.
    expect(textIn(await untilIdle(thread))).toBe(ten + ten)
    await expect.poll(() => server.speech.texts.length).toBeGreaterThan(0)
    await client.hangUp()
  })

  test('that is switched off is recorded, with everything that was generated', async () => {
    const records: TurnRecord[] = []
    const server = await startVoiceServer({
      agents: agent({ model: scriptedModel([ten]) }),
      // Too long to be played to its end.
      script: { msPerChar: 50 },
      onRecord: (record) => records.push(record),
    })
    await server.thread('t').create()
    const client = await call(server.url, 't')
    await server.thread('t').send('go')
    await untilIdle(server.thread('t'))
    await expect.poll(() => client.position(1)).toBeGreaterThan(0)
    client.send({ type: 'voice' })
    await expect.poll(() => records).toHaveLength(1)
    const [record] = records
    expect(record).toMatchObject({ outcome: 'interrupted', words: countWords(ten) })
    expect(record?.wordsPlayed).toBeLessThan(countWords(ten))
    // What was not played counts as read.
    expect(eventsOf(await server.thread('t').read(), 'playback')).toEqual([])
    await client.hangUp()
  })

  test('reports each sentence that could not be spoken', async () => {
    const model = scriptedModel(['Good one. Bad one. Good again.'])
    const server = await startVoiceServer({
      agents: agent({ model }),
      script: { fail: (text) => (text.startsWith('Bad') ? 'not that' : undefined) },
    })
    await server.thread('t').create()
    const client = await call(server.url, 't')
    await server.thread('t').send('go')
    await expect.poll(() => client.eventsOf('voice_record')).toHaveLength(1)
    expect(spokenBy(client)).toEqual(['Good one.', 'Good again.'])
    expect(client.eventsOf('voice_error')).toEqual([
      { type: 'voice_error', turn: 1, text: 'Bad one.', message: 'this sentence could not be spoken' },
    ])
    expect(client.eventsOf('voice_record')[0]?.record).toMatchObject({
      sentences: 3,
      failed: 1,
      words: 6,
      wordsPlayed: 4,
    })
    expect(server.errors).toMatchObject([{ message: 'not that' }])
  })
})
