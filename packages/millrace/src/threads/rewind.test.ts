import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { Entry, Message } from '../protocol/index.ts'
import { textOf } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { applyEntry, createView } from '../view/index.ts'
import type { Thread } from './index.ts'
import { eventsOf, heldTool, openStore, startApp, typesOf, untilIdle } from './threads.test-kit.ts'

/** An agent that numbers its answers, and repeats the last message. */
function numbering() {
  const prompts: (readonly Message[])[] = []
  const model = scriptedModel(({ messages }) => {
    prompts.push(messages)
    const last = messages.findLast(({ role }) => role === 'user') as Message
    return `${prompts.length}: ${textOf(last)}`
  })
  return { prompts, agent: agent({ name: 'helper', model }) }
}

const texts = (messages: readonly Message[]) => messages.map(textOf)

async function conversation(thread: Thread): Promise<string[]> {
  return texts((await thread.state()).messages)
}

/** What a user interface shows, with the number of versions before each row. */
function shown(entries: readonly Entry[]): string[] {
  const view = createView()
  for (const entry of entries) applyEntry(view, entry)
  let before = ''
  return view.rows.flatMap((row) => {
    const versions = view.versions.get(before)
    before = row.key
    if (row.kind !== 'input' && row.kind !== 'text') return []
    const text = row.kind === 'input' ? textOf(row.message) : row.text.pieces.join('')
    return [versions ? `${text} (${versions.current + 1}/${versions.list.length})` : text]
  })
}

async function chat(thread: Thread, ...messages: string[]) {
  for (const message of messages) {
    await thread.send(message)
    await untilIdle(thread)
  }
}

const numbersOf = (entries: readonly Entry[], type: string) =>
  entries.flatMap(({ seq, event }) => (event.type === type ? [seq] : []))

describe('rewinding', () => {
  test('to before a run answers its message again', async () => {
    const { agent, prompts } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await chat(thread, 'one', 'two')
    const [, run = 0] = numbersOf(await thread.read(), 'run-start')
    const seq = await thread.rewind(run)
    const entries: Entry[] = []
    for await (const entry of thread.follow({ after: seq - 1, until: seq })) entries.push(entry)
    expect(typesOf(entries).slice(0, 2)).toEqual(['rewind', 'run-start'])
    expect(eventsOf(entries, 'run-start')[0]?.inputs).toEqual([seq])
    expect(texts(prompts.at(-1) ?? [])).toEqual(['one', '1: one', 'two'])
    expect(await conversation(thread)).toEqual(['one', '1: one', 'two', '3: two'])
    expect(shown(await thread.read())).toEqual(['one', '1: one', 'two', '3: two (2/2)'])
  })

  test('to before a message replaces the message and what followed it', async () => {
    const { agent, prompts } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await chat(thread, 'one', 'two', 'three')
    const [, second = 0] = numbersOf(await thread.read(), 'input')
    await thread.rewind(second)
    expect((await thread.state()).status).toBe('idle')
    expect(await conversation(thread)).toEqual(['one', '1: one'])
    await chat(thread, 'deux')
    expect(texts(prompts.at(-1) ?? [])).toEqual(['one', '1: one', 'deux'])
    expect(await conversation(thread)).toEqual(['one', '1: one', 'deux', '4: deux'])
    expect(shown(await thread.read())).toEqual(['one', '1: one', 'deux (2/2)', '4: deux'])
  })

  test('to before a rewind restores what it replaced, back and forth', async () => {
    const { agent, prompts } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await chat(thread, 'one')
    const [run = 0] = numbersOf(await thread.read(), 'run-start')
    const first = await thread.rewind(run)
    await untilIdle(thread)
    const second = await thread.rewind(first)
    expect(await conversation(thread)).toEqual(['one', '1: one'])
    expect(shown(await thread.read())).toEqual(['one', '1: one (1/2)'])
    await chat(thread, 'two')
    expect(texts(prompts.at(-1) ?? [])).toEqual(['one', '1: one', 'two'])
    const third = await thread.rewind(second)
    expect(await conversation(thread)).toEqual(['one', '2: one'])
    expect(shown(await thread.read())).toEqual(['one', '2: one (2/2)'])
    await thread.rewind(third)
    expect(await conversation(thread)).toEqual(['one', '1: one', 'two', '3: two'])
    expect(shown(await thread.read())).toEqual(['one', '1: one (1/2)', 'two', '3: two'])
  })

  test('keeps versions inside of versions apart', async () => {
    const { agent } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await chat(thread, 'one', 'two')
    const [run = 0, inner = 0] = numbersOf(await thread.read(), 'run-start')
    const replacedTwo = await thread.rewind(inner)
    await untilIdle(thread)
    const replacedOne = await thread.rewind(run)
    await untilIdle(thread)
    expect(await conversation(thread)).toEqual(['one', '4: one'])
    // A version of a version is reached through the version that it is in.
    await expect(thread.rewind(replacedTwo)).rejects.toThrow(
      `entry ${replacedTwo} is part of a version that was replaced: restore it first, with rewind(${replacedOne})`,
    )
    await thread.rewind(replacedOne)
    expect(await conversation(thread)).toEqual(['one', '1: one', 'two', '3: two'])
    await thread.rewind(replacedTwo)
    expect(await conversation(thread)).toEqual(['one', '1: one', 'two', '2: two'])
    expect(shown(await thread.read())).toEqual(['one', '1: one (1/2)', 'two', '2: two (1/2)'])
  })

  test('cancels a run in progress, which adds nothing to the conversation', async () => {
    const held = heldTool('wait')
    const model = scriptedModel(({ messages }) =>
      messages.some((one) => textOf(one) === 'one')
        ? [{ text: 'Hm.' }, { call: 'wait', input: {} }]
        : 'Done.',
    )
    const thread = startApp({ agents: agent({ model, tools: [held.tool] }) }).thread()
    const input = await thread.send('one')
    await held.startedTimes(1)
    await thread.rewind(input)
    await thread.send('uno')
    const entries = await untilIdle(thread)
    expect(held.runs[0]?.signal.aborted).toBe(true)
    expect(eventsOf(entries, 'run-end').map(({ outcome }) => outcome)).toEqual(['canceled', 'completed'])
    expect(await conversation(thread)).toEqual(['uno', 'Done.'])
    expect(shown(entries)).toEqual(['uno (2/2)', 'Done.'])
  })

  test('cancels a run that waits for approval', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays',
      input: z.object({}),
      approve: true,
      run: () => 'paid',
    })
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 && textOf(messages[0] as Message) === 'pay'
        ? [{ call: 'pay', input: {} }]
        : 'Done.',
    )
    const thread = startApp({ agents: agent({ model, tools: [pay] }) }).thread()
    const input = await thread.send('pay')
    await untilIdle(thread)
    await thread.rewind(input)
    await thread.send('never mind')
    await untilIdle(thread)
    expect((await thread.state()).approvals).toEqual([])
    expect(await conversation(thread)).toEqual(['never mind', 'Done.'])
  })

  test('drops messages that wait, and a run that starts later does not read them', async () => {
    const held = heldTool('wait')
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'user' && textOf(messages.at(-1) as Message) === 'one'
        ? [{ call: 'wait', input: {} }]
        : `read ${texts(messages).join(',')}`,
    )
    const app = startApp({ agents: agent({ model, tools: [held.tool] }) })
    const thread = app.thread('t', { caller: 'ann' })
    const first = await thread.send('one')
    await held.startedTimes(1)
    await thread.send('two')
    await thread.rewind(first)
    await thread.send('three')
    await untilIdle(thread)
    expect(await conversation(thread)).toEqual(['three', 'read three'])
    expect((await app.usage('ann')).waiting.used).toBe(0)
  })

  test('to before a steering message keeps the part of the run before it', async () => {
    const held = heldTool('wait')
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [{ call: 'wait', input: {} }] : `read ${texts(messages).join(',')}`,
    )
    const thread = startApp({ agents: agent({ model, tools: [held.tool] }) }).thread()
    await thread.send('one')
    await held.startedTimes(1)
    const steering = await thread.send('left', { mode: 'steer' })
    held.runs[0]?.release('waited')
    await untilIdle(thread)
    await thread.rewind(steering)
    await thread.send('right')
    await untilIdle(thread)
    expect(await conversation(thread)).toEqual(['one', '', 'waited', 'right', 'read one,,waited,right'])
  })

  test('goes back to before a summary, and the model reads the old messages again', async () => {
    const prompts: string[][] = []
    const model = scriptedModel(({ messages }) => {
      prompts.push(texts(messages))
      return [{ text: `${prompts.length}` }, { usage: { inputTokens: messages.length * 100 } }]
    })
    const compact = ({ messages }: { messages: readonly Message[] }) => ({
      keep: Math.min(2, messages.length),
      summary: 'Summary.',
    })
    const store = openStore()
    const helper = agent({ name: 'helper', model, maxContextTokens: 500, compact })
    const thread = startApp({ agents: helper, store }).thread('t')
    await chat(thread, 'a', 'b', 'c', 'd', 'e')
    expect(prompts.flat().join()).toContain('Summary.')
    const [, second = 0] = numbersOf(await thread.read(), 'input')
    await thread.rewind(second)
    await chat(thread, 'B')
    expect(prompts.at(-1)).toEqual(['a', '1', 'B'])
    // Another process reads the same.
    const other = startApp({ agents: helper, store }).thread('t')
    expect(await conversation(other)).toEqual(['a', '1', 'B', `${prompts.length}`])
  })

  test('is the same after a restart, from a snapshot too', async () => {
    const store = openStore()
    const { agent } = numbering()
    const first = startApp({ agents: agent, store })
    // Enough for a snapshot.
    const long = 'x'.repeat(200_000)
    await chat(first.thread('t'), long, 'two', long, 'four')
    const [, second = 0] = numbersOf(await first.thread('t').read(), 'input')
    await first.thread('t').rewind(second)
    await chat(first.thread('t'), 'deux', long)
    const before = await conversation(first.thread('t'))
    await first.close()
    const again = startApp({ agents: agent, store }).thread('t')
    expect(await conversation(again)).toEqual(before)
    expect(before.slice(2, 4)).toEqual(['deux', '5: deux'])
    // The last messages of a long thread, as a client reads them.
    const page = await again.state({ bytes: 1000 })
    expect(page.earlier?.messages).toBe(before.length - page.messages.length)
    const earlier = await again.state({ bytes: 500_000, before: 4 })
    expect(texts(earlier.messages)).toEqual(before.slice(0, 4))
    await chat(again, 'last')
    expect((await conversation(again)).slice(0, before.length)).toEqual(before)
  })

  test('with a key happens once', async () => {
    const { agent } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await chat(thread, 'one')
    const [run = 0] = numbersOf(await thread.read(), 'run-start')
    const seq = await thread.rewind(run, { key: 'again' })
    await untilIdle(thread)
    expect(await thread.rewind(run, { key: 'again' })).toBe(seq)
    expect(await conversation(thread)).toEqual(['one', '2: one'])
  })

  test('answers again with what came with the message', async () => {
    const seen: string[][] = []
    const model = scriptedModel(({ tools }) => {
      seen.push(tools.map(({ name }) => name))
      return 'Done.'
    })
    const thread = startApp({ agents: agent({ model }) }).thread()
    const tools = [{ name: 'draw', description: 'Draws', inputSchema: { type: 'object' } }]
    await thread.send('one', { request: { tools } })
    await untilIdle(thread)
    const [run = 0] = numbersOf(await thread.read(), 'run-start')
    await thread.rewind(run)
    await untilIdle(thread)
    expect(seen).toEqual([['draw'], ['draw']])
  })

  test('starts no run if nothing is left to answer when it starts', async () => {
    const { agent, prompts } = numbering()
    const started = Promise.withResolvers<void>()
    const ready = Promise.withResolvers<void>()
    const app = startApp({
      agents: agent,
      context: () => {
        started.resolve()
        return ready.promise
      },
    })
    const thread = app.thread()
    const first = await thread.send('one')
    await started.promise
    await thread.rewind(first)
    ready.resolve()
    await chat(thread, 'two')
    expect(prompts.map(texts)).toEqual([['two']])
  })

  test('carries what holds for the run that answers again', async () => {
    const seen: string[][] = []
    const model = scriptedModel(({ tools }) => {
      seen.push(tools.map(({ name }) => name))
      return 'Done.'
    })
    const thread = startApp({ agents: agent({ model }) }).thread()
    await chat(thread, 'one')
    const [run = 0] = numbersOf(await thread.read(), 'run-start')
    const tools = [{ name: 'draw', description: 'Draws', inputSchema: { type: 'object' } }]
    await thread.rewind(run, { request: { tools } })
    await untilIdle(thread)
    expect(seen).toEqual([[], ['draw']])
  })

  test('to anything else is rejected, and nothing is written', async () => {
    const { agent } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await chat(thread, 'one')
    const { head } = await thread.info()
    const [run] = numbersOf(await thread.read(), 'run-start')
    for (const before of [0, 3, head, 99, 1.5, 'x' as never])
      await expect(thread.rewind(before)).rejects.toThrow(
        `from 1 to ${head}, such as ${run} to answer again, not ${before}`,
      )
    expect((await thread.info()).head).toBe(head)
  })
})

describe('a thread that begins with a history', () => {
  const call = { type: 'tool-call', callId: 'call_1', name: 'look', input: { at: 'x' } } as const
  const history: Message[] = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'one' },
    {
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'Hm.' }, { type: 'text', text: 'I look.' }, call],
    },
    { role: 'tool', callId: 'call_1', name: 'look', content: [{ type: 'text', text: 'found' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Found.' }] },
  ]

  test('has its messages, and the model reads them with the next one', async () => {
    const { agent, prompts } = numbering()
    const app = startApp({ agents: agent })
    const thread = app.thread()
    expect(await thread.create({ messages: history })).toMatchObject({ title: 'one', status: 'queued' })
    await untilIdle(thread)
    expect(await thread.state()).toMatchObject({ messages: history, status: 'idle' })
    expect(prompts).toEqual([])
    expect(shown(await thread.read())).toEqual(['one', 'I look.', 'Found.'])
    await chat(thread, 'two')
    expect(prompts[0]).toEqual([...history, { role: 'user', content: 'two' }])
  })

  test.each([
    ['a user message', 2],
    ['tool results', 4],
  ])('that ends with %s is answered', async (_, count) => {
    const { agent, prompts } = numbering()
    const thread = startApp({ agents: agent }).thread()
    const tools = [{ name: 'draw', description: 'Draws', inputSchema: { type: 'object' } }]
    await thread.create({ messages: history.slice(0, count), request: { tools } })
    const entries = await untilIdle(thread)
    expect(prompts).toEqual([history.slice(0, count)])
    expect(await conversation(thread)).toEqual([...texts(history.slice(0, count)), '1: one'])
    expect(JSON.stringify(entries)).not.toContain('repairs')
  })

  test('that ends with two user messages has one answer, to both', async () => {
    const { agent, prompts } = numbering()
    const thread = startApp({ agents: agent }).thread()
    const messages: Message[] = [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
    ]
    await thread.create({ messages })
    await untilIdle(thread)
    expect(prompts).toEqual([messages])
    expect(await conversation(thread)).toEqual(['one', 'two', '1: two'])
  })

  test('knows the keys of its messages, and can be rewound', async () => {
    const { agent } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await thread.create({ messages: history, keys: [undefined, 'm1'] })
    await untilIdle(thread)
    const seq = (await thread.inputOf('m1')) as number
    expect(await thread.send('one', { key: 'm1' })).toBe(seq)
    await thread.rewind(seq)
    await chat(thread, 'uno')
    expect(await conversation(thread)).toEqual(['Be brief.', 'uno', '1: uno'])
  })

  test('is created once, and rejects messages that cannot be used', async () => {
    const { agent } = numbering()
    const thread = startApp({ agents: agent }).thread()
    await expect(thread.create({ messages: [{ role: 'user', content: '' }] })).rejects.toThrow(/empty/)
    await expect(thread.create({ messages: 'one' as never })).rejects.toThrow(/must be an array/)
    await expect(thread.info()).rejects.toThrow(/there is no thread/)
    await thread.create({ messages: history })
    await thread.create({ messages: [] })
    await untilIdle(thread)
    expect((await thread.state()).messages).toEqual(history)
    await expect(thread.create({ messages: history, failIfExists: true })).rejects.toThrow(/already exists/)
  })
})
