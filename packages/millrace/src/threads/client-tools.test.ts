import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { ModelRequest, ToolChoice } from '../protocol/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool, toolContent } from '../tools/index.ts'
import { applyEntry, createView } from '../view/index.ts'
import { eventsOf, openStore, startApp, textIn, typesOf, untilIdle } from './threads.test-kit.ts'

const locate = (more: { approve?: boolean } = {}) =>
  tool({
    name: 'locate',
    description: 'Finds out where the user is',
    input: z.object({ precise: z.boolean() }),
    ...more,
  })

const clock = tool({ name: 'clock', description: 'The time', input: z.object({}), run: () => 'noon' })

const callLocate = { call: 'locate', id: 'call_1', input: { precise: true } } as const

/** Calls both tools, and then repeats what it got for the first one. */
function helper(more: { approve?: boolean } = {}) {
  const model = scriptedModel(({ messages }) => {
    const result = messages.findLast((one) => one.role === 'tool' && one.callId === 'call_1')
    if (result) return `It said ${JSON.stringify(result.content)}.`
    return [callLocate, { call: 'clock', id: 'call_2', input: {} }]
  })
  return agent({ name: 'helper', model, tools: [locate(more), clock] })
}

describe('a tool without run', () => {
  test('waits for a result from a client, while other tools of the round run', async () => {
    const app = startApp({ agents: helper() })
    const thread = app.thread()
    await thread.send('Where am I?')
    const asked = await untilIdle(thread)
    expect(eventsOf(asked, 'tool-result').map(({ name, status }) => [name, status])).toEqual([
      ['clock', 'ok'],
    ])
    expect(eventsOf(asked, 'run-end').at(-1)?.outcome).toBe('suspended')
    const { status, approvals, head } = await thread.state()
    expect(status).toBe('waiting')
    expect(approvals).toMatchObject([{ callId: 'call_1', wants: 'result', input: { precise: true } }])

    await thread.respond('call_1', { city: 'Bern' })
    const answered = await untilIdle(thread, head)
    expect(eventsOf(answered, 'tool-result')).toMatchObject([
      { callId: 'call_1', status: 'ok', output: [{ type: 'json', value: { city: 'Bern' } }] },
    ])
    expect(textIn(answered)).toContain('Bern')
  })

  test('keeps its round if the stream breaks: a client may have started to run it', async () => {
    const model = scriptedModel(({ messages }) => {
      if (messages.at(-1)?.role === 'tool') return 'Thank you.'
      return [{ text: 'Where? ' }, callLocate, { text: 'And ' }, { error: { code: 'stream_error' } }]
    })
    const app = startApp({ agents: agent({ name: 'helper', model, tools: [locate()] }) })
    const thread = app.thread()
    await thread.send('Where am I?')
    const asked = await untilIdle(thread)
    expect(typesOf(asked)).not.toContain('round-retract')
    expect(eventsOf(asked, 'run-end').at(-1)?.outcome).toBe('suspended')
    await thread.respond('call_1', 'Bern')
    const answered = await untilIdle(thread)
    expect(eventsOf(answered, 'tool-call')).toHaveLength(1)
    expect(textIn(answered)).toBe('Where? And Thank you.')
  })

  test('gets its result in another process after a crash, and a second result is ignored', async () => {
    const store = openStore()
    const first = startApp({ agents: helper(), store })
    await first.thread('t').send('Where am I?')
    await untilIdle(first.thread('t'))
    await first.close({ graceMs: 0 })

    const second = startApp({ agents: helper(), store })
    const thread = second.thread('t')
    const { head } = await thread.info()
    const [seq] = await Promise.all([thread.respond('call_1', 'Bern'), thread.respond('call_1', 'Basel')])
    const entries = await untilIdle(thread, head)
    expect(eventsOf(entries, 'approval')).toHaveLength(1)
    expect(eventsOf(entries, 'tool-result')).toHaveLength(1)
    expect(entries.find((entry) => entry.seq === seq)?.event.type).toBe('approval')
    expect(await thread.respond('call_1', 'Zug')).toBe(seq)
    expect(await thread.read({ after: entries.at(-1)?.seq })).toEqual([])
  })

  test('can report a failure, return images, and be denied', async () => {
    const outcomes = [
      [(id: string) => app.thread(id).respond('call_1', 'no signal', { isError: true }), 'failed'],
      [
        (id: string) =>
          app
            .thread(id)
            .respond('call_1', toolContent([{ type: 'image', url: 'https://example.com/map.png' }])),
        'ok',
      ],
      [(id: string) => app.thread(id).approve('call_1', { approved: false, reason: 'private' }), 'denied'],
    ] as const
    const app = startApp({ agents: helper() })
    for (const [respond, status] of outcomes) {
      const thread = app.thread()
      await thread.send('Where am I?')
      await untilIdle(thread)
      await respond(thread.id)
      expect(eventsOf(await untilIdle(thread), 'tool-result').at(-1)).toMatchObject({
        name: 'locate',
        status,
      })
    }
  })

  test('that needs approval asks first, and then for the result', async () => {
    const app = startApp({ agents: helper({ approve: true }) })
    const thread = app.thread()
    await thread.send('Where am I?')
    await untilIdle(thread)
    expect((await thread.state()).approvals).toMatchObject([{ callId: 'call_1' }])
    await expect(thread.respond('call_1', 'Bern')).rejects.toThrow(/waits for a decision, not for a result/)
    await thread.approve('call_1', { approved: true })
    await untilIdle(thread)
    expect((await thread.state()).approvals).toMatchObject([{ callId: 'call_1', wants: 'result' }])
    await thread.respond('call_1', 'Bern')
    expect(textIn(await untilIdle(thread))).toContain('Bern')
  })

  test('can be denied after it was approved', async () => {
    const app = startApp({ agents: helper({ approve: true }) })
    const thread = app.thread()
    await thread.send('Where am I?')
    await untilIdle(thread)
    await thread.approve('call_1', { approved: true })
    await untilIdle(thread)
    const denial = { approved: false, reason: 'private' }
    const seq = await thread.approve('call_1', denial)
    const entries = await untilIdle(thread)
    expect(eventsOf(entries, 'tool-result').at(-1)).toMatchObject({ status: 'denied' })
    expect(entries.find((entry) => entry.seq === seq)?.event).toMatchObject({ approved: false })
    expect(await thread.approve('call_1', denial)).toBe(seq)
  })

  test('is marked in the log and in the view from the start of its call', async () => {
    const app = startApp({ agents: helper() })
    const thread = app.thread()
    await thread.send('Where am I?')
    const entries = await untilIdle(thread)
    for (const type of ['tool-input-start', 'tool-call'] as const)
      expect(eventsOf(entries, type).map(({ name, wants }) => [name, wants])).toEqual([
        ['locate', 'result'],
        ['clock', undefined],
      ])
    const view = createView()
    for (const entry of entries) applyEntry(view, entry)
    expect(view.rows.flatMap((row) => (row.kind === 'call' ? [[row.name, row.wants]] : []))).toEqual([
      ['locate', 'result'],
      ['clock', undefined],
    ])
  })

  test('is marked too if its arguments were cut off', async () => {
    const model = scriptedModel([
      [{ call: 'locate', id: 'call_1', input: {}, cut: true }, { finish: 'length' }],
    ])
    const app = startApp({ agents: agent({ model, tools: [locate()], maxRounds: 1 }) })
    const thread = app.thread()
    await thread.send('Where am I?')
    expect(eventsOf(await untilIdle(thread), 'tool-call')).toMatchObject([
      { name: 'locate', wants: 'result', problem: expect.stringContaining('cut off') },
    ])
  })

  test('of a sub-agent gets its result through the call of the sub-agent', async () => {
    const sub = helper()
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : [{ call: 'sub', id: 'outer', input: { prompt: 'Where?' } }],
    )
    const main = agent({ name: 'main', model, tools: [sub.asTool({ name: 'sub', description: 'Asks' })] })
    const app = startApp({ agents: main })
    const thread = app.thread()
    await thread.send('Where am I?')
    await untilIdle(thread)
    const [request] = (await thread.state()).approvals
    expect(request).toMatchObject({ callId: 'outer/call_1', wants: 'result' })
    await thread.respond('outer/call_1', { city: 'Bern' })
    const [result] = eventsOf(await untilIdle(thread), 'tool-result').filter(({ name }) => name === 'sub')
    expect(JSON.stringify(result?.output)).toContain('Bern')
  })

  test('keeps its round when the model fails after a client may have run it', async () => {
    let calls = 0
    const model = scriptedModel(() =>
      calls++ === 0 ? [callLocate, { error: { code: 'stream_interrupted', retryable: true } }] : 'Done.',
    )
    const app = startApp({ agents: agent({ model, tools: [locate()], retry: { baseMs: 1 } }) })
    const thread = app.thread()
    await thread.send('Where am I?')
    const entries = await untilIdle(thread)
    expect(typesOf(entries)).not.toContain('round-retract')
    expect((await thread.state()).approvals).toMatchObject([{ wants: 'result' }])
  })

  test('that does not exist or is misused is rejected with what to do', async () => {
    const app = startApp({ agents: helper() })
    const thread = app.thread()
    await expect(thread.respond('call_1', 'x')).rejects.toThrow(/there is no thread/)
    await thread.send('Where am I?')
    await untilIdle(thread)
    await expect(thread.respond('call_9', 'x')).rejects.toThrow(
      "there is no call 'call_9' that wants a result",
    )
    await expect(thread.approve('call_1', { approved: true })).rejects.toThrow(
      /'call_1' waits for its result: respond with an output, or deny it/,
    )
    await expect(thread.respond('call_1', () => {})).rejects.toThrow()
    await expect(thread.respond('call_1', 'x', { isError: 'yes' as never })).rejects.toThrow(/isError/)
  })

  test('of a run outside of a thread gets its result when the run is resumed', async () => {
    const run = helper().stream('Where am I?')
    const { outcome, approvals } = await run.result
    expect([outcome, approvals[0]?.wants]).toEqual(['suspended', 'result'])
    expect(() => run.resume({ callId: 'call_1', approved: true })).toThrow(/waits for its result/)
    const resumed = run.resume({ callId: 'call_1', approved: true, output: { city: 'Bern' } })
    expect((await resumed.result).text).toContain('Bern')
  })
})

describe('what comes with a message', () => {
  const requests: ModelRequest[] = []
  function recorded(answer: string) {
    const model = scriptedModel((request) => {
      requests.push(request)
      return answer
    })
    return agent({ name: 'helper', model, tools: [clock], system: 'Be kind.', settings: { temperature: 1 } })
  }
  const request = {
    tools: [
      { name: 'clock', description: 'Another clock', inputSchema: { type: 'object' } },
      { name: 'draw', description: 'Draws', inputSchema: { type: 'object', properties: {} } },
    ],
    system: 'Answer in French.',
    settings: { maxOutputTokens: 50 },
    toolChoice: { name: 'draw' },
  } as const

  test('holds for the run that answers it, and not for the next one', async () => {
    requests.length = 0
    const app = startApp({ agents: recorded('Oui.') })
    const thread = app.thread()
    await thread.send('Draw a cat', { request })
    await untilIdle(thread)
    await thread.send('And now?')
    await untilIdle(thread)
    const [first, second] = requests
    expect(first?.tools.map(({ name, description }) => [name, description])).toEqual([
      ['clock', 'The time'],
      ['draw', 'Draws'],
    ])
    expect(first?.messages[0]).toEqual({ role: 'system', content: 'Be kind.\n\nAnswer in French.' })
    expect(first?.settings).toMatchObject({ temperature: 1, maxOutputTokens: 50 })
    expect(first?.toolChoice).toEqual({ name: 'draw' })
    expect(second?.tools.map(({ name }) => name)).toEqual(['clock'])
    expect(second?.messages[0]).toEqual({ role: 'system', content: 'Be kind.' })
  })

  test('survives a crash between the tool call and its result', async () => {
    const store = openStore()
    const drawing = () =>
      agent({
        name: 'helper',
        model: scriptedModel(({ messages, tools }) =>
          messages.at(-1)?.role === 'tool'
            ? `I have ${tools.map(({ name }) => name).join(' and ')}.`
            : [{ call: 'draw', id: 'call_1', input: {} }],
        ),
      })
    const first = startApp({ agents: drawing(), store })
    const tools = [{ name: 'draw', description: 'Draws', inputSchema: { type: 'object' } }]
    await first.thread('t').send('Draw a cat', { request: { tools } })
    await untilIdle(first.thread('t'))
    await first.close({ graceMs: 0 })
    const second = startApp({ agents: drawing(), store })
    await second.thread('t').respond('call_1', 'A cat.')
    expect(textIn(await untilIdle(second.thread('t')))).toBe('I have draw.')
  })

  test('sets the schema of the answer', async () => {
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const app = startApp({ agents: agent({ model: scriptedModel(() => '{"n":"one"}'), maxCorrections: 0 }) })
    const thread = app.thread()
    await thread.send('Count', { request: { output } })
    expect(eventsOf(await untilIdle(thread), 'run-end')).toMatchObject([
      { outcome: 'failed', error: { code: 'invalid_output' } },
    ])
  })

  test('comes with a steering message too, from the round that reads it', async () => {
    const held = Promise.withResolvers<void>()
    const seen: string[][] = []
    const wait = tool({
      name: 'wait',
      description: 'Waits',
      input: z.object({}),
      run: () => held.promise.then(() => 'done'),
    })
    const model = scriptedModel(({ messages, tools }) => {
      seen.push(tools.map(({ name }) => name))
      return messages.length === 1 ? [{ call: 'wait', id: 'call_1', input: {} }] : 'Done.'
    })
    const app = startApp({ agents: agent({ model, tools: [wait] }) })
    const thread = app.thread()
    await thread.send('Start')
    const tools = [{ name: 'draw', description: 'Draws', inputSchema: { type: 'object' } }]
    await thread.send('Draw as well', { mode: 'steer', request: { tools } })
    held.resolve()
    await untilIdle(thread)
    expect(seen.at(-1)).toEqual(['wait', 'draw'])
  })

  test('can have metadata, which the model does not see', async () => {
    requests.length = 0
    const app = startApp({ agents: recorded('Oui.') })
    const thread = app.thread()
    await thread.send('Hello', { request: { metadata: { order: 7 } } })
    expect(eventsOf(await untilIdle(thread), 'input')).toMatchObject([
      { request: { metadata: { order: 7 } } },
    ])
    expect(JSON.stringify(requests)).not.toContain('order')
  })

  test('is checked before anything is written', async () => {
    const app = startApp({ agents: recorded('Oui.') })
    const thread = app.thread()
    const wrong = [
      [{ tools: [{ name: 'a b', description: 'x', inputSchema: {} }] }, /letters, digits/],
      [{ tools: [{ name: 'a', description: '', inputSchema: {} }] }, /needs a description/],
      [{ tools: [{ name: 'a', description: 'x', inputSchema: { type: 'string' } }] }, /must be an object/],
      [{ tools: 'a' }, /request\.tools.*must be an array/],
      [{ toolChoice: { name: 'paint' } }, /'paint'/],
      [{ settings: { temperature: 'hot' } }, /temperature/],
      [{ system: '' }, /system/],
      [{ metadata: 'red' }, /metadata/],
      [{ color: 'red' }, /color/],
    ] as const
    for (const [request, message] of wrong)
      await expect(thread.send('Hello', { request: request as never })).rejects.toThrow(message)
    await expect(thread.info()).rejects.toThrow(/there is no thread/)
  })
})

describe('what comes with a result or a decision', () => {
  const spec = (name: string) => ({ name, description: name, inputSchema: { type: 'object' } })

  /** Calls the tools that it is forced to call, and records what each round gets. */
  function recording(more: { toolChoice?: ToolChoice } = {}) {
    const rounds: { tools: string[]; system: unknown; toolChoice: unknown }[] = []
    const erase = tool({
      name: 'erase',
      description: 'Erases',
      input: z.object({}),
      approve: true,
      run: () => 'erased',
    })
    const model = scriptedModel(({ messages, tools, toolChoice }) => {
      const [system] = messages
      rounds.push({
        tools: tools.map(({ name }) => name),
        system: system?.role === 'system' ? system.content : undefined,
        toolChoice,
      })
      const name = (toolChoice as { name?: string } | undefined)?.name
      return name ? [{ call: name, id: `call_${rounds.length}`, input: {} }] : 'Done.'
    })
    return { rounds, agent: agent({ name: 'helper', model, tools: [erase], ...more }) }
  }

  test('replaces the request of the run, in another process too, and only the first one counts', async () => {
    const store = openStore()
    const before = startApp({ agents: recording().agent, store })
    const request = { tools: [spec('draw')], system: 'Be quick.', toolChoice: { name: 'draw' } } as const
    await before.thread('t').send('Draw', { request })
    await untilIdle(before.thread('t'))
    await before.close({ graceMs: 0 })

    const { rounds, agent } = recording()
    const thread = startApp({ agents: agent, store }).thread('t')
    const { head } = await thread.info()
    const next = { tools: [spec('paint')], system: 'Be slow.', toolChoice: { name: 'erase' } } as const
    // The call is of a tool that only the first request declares.
    await thread.respond('call_1', 'A cat.', { request: next })
    await thread.respond('call_1', 'A dog.', { request: { system: 'Be late.' } })
    const entries = await untilIdle(thread, head)
    expect(eventsOf(entries, 'approval')).toMatchObject([{ request: next }])
    expect(eventsOf(entries, 'tool-result')).toMatchObject([{ callId: 'call_1', status: 'ok' }])
    expect(rounds).toEqual([{ tools: ['erase', 'paint'], system: 'Be slow.', toolChoice: { name: 'erase' } }])

    await thread.approve('call_1_2', { approved: true, request: { system: 'Be done.' } })
    await untilIdle(thread)
    // The forced choice does not hold after the round that it was for.
    expect(rounds.slice(1)).toEqual([{ tools: ['erase'], system: 'Be done.', toolChoice: undefined }])
  })

  test('a forced choice of the agent or of a request holds for one round', async () => {
    const { rounds, agent } = recording({ toolChoice: { name: 'erase' } })
    const thread = startApp({ agents: agent }).thread()
    await thread.send('Draw', { request: { tools: [spec('draw')], toolChoice: { name: 'draw' } } })
    await untilIdle(thread)
    // Without a choice of its own, that of the agent is for the first round, and that of the first
    // request is gone.
    await thread.respond('call_1', 'A cat.', { request: { tools: [spec('draw')] } })
    expect(textIn(await untilIdle(thread))).toBe('Done.')
    expect(rounds.map(({ toolChoice }) => toolChoice)).toEqual([{ name: 'draw' }, undefined])
  })

  test('is checked before anything is written', async () => {
    const thread = startApp({ agents: recording().agent }).thread()
    await thread.send('Draw', { request: { tools: [spec('draw')], toolChoice: { name: 'draw' } } })
    const { length } = await untilIdle(thread)
    const wrong = { toolChoice: { name: 'draw' } }
    await expect(thread.respond('call_1', 'A cat.', { request: wrong })).rejects.toThrow(/'draw'/)
    await expect(thread.approve('call_1', { approved: false, request: wrong })).rejects.toThrow(/'draw'/)
    expect(await untilIdle(thread)).toHaveLength(length)
  })
})
