import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../agent/index.ts'
import type { JsonObject, ModelRequest } from '../../protocol/index.ts'
import { textOf, toolContent } from '../../protocol/index.ts'
import { byToken } from '../../server/server.test-kit.ts'
import { scriptedModel } from '../../testing/index.ts'
import type { Thread } from '../../threads/index.ts'
import { untilIdle } from '../../threads/threads.test-kit.ts'
import { tool } from '../../tools/index.ts'
import {
  asker,
  delegator,
  muser,
  picker,
  ruled,
  spender,
  story,
  storyteller,
  until,
} from '../protocols.test-kit.ts'
import { conversation, eventsIn, expectValid, serveAgUi } from './ag-ui.test-kit.ts'

function parrot(requests: ModelRequest[] = []) {
  const model = scriptedModel((request) => {
    requests.push(request)
    return `${requests.length}: ${textOf(request.messages.at(-1) as never)}`
  })
  return agent({ name: 'parrot', model })
}

const texts = async (thread: Thread) => (await thread.state()).messages.map(textOf)

/** The answer of a client to all that it was asked. */
const resume = (interrupts: Record<string, unknown>[] = [], payload: unknown = { approved: true }) => ({
  resume: interrupts.map(({ id }) => ({ interruptId: String(id), status: 'resolved' as const, payload })),
})

describe('a run', () => {
  test('has the text and the reasoning of the answer, and what it used', async () => {
    const usage = { inputTokens: 9, outputTokens: 4, cacheReadTokens: 8 }
    const model = scriptedModel([[{ reasoning: 'Hm.' }, { text: 'Hello.' }, { usage }], 'Bye.'])
    const { client } = await serveAgUi(agent({ name: 'helper', model }))
    const { agent: http, say } = client()
    const { types, last, events } = await say('Hi.')
    expectValid(events)
    expect(types).toEqual([
      'RUN_STARTED',
      'REASONING_START',
      'REASONING_MESSAGE_START',
      'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END',
      'REASONING_END',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(last).toMatchObject({ threadId: http.threadId, outcome: { type: 'success' } })
    expect(last.usage).toEqual([
      {
        ...{ model: expect.any(String), inputTokens: 9, outputTokens: 4, totalTokens: 13 },
        ...{ reasoningTokens: 0, cachedInputTokens: 8, cacheWriteInputTokens: 0 },
      },
    ])
    await say('And?')
    expect(conversation(http)).toEqual([
      'user: Hi.',
      'reasoning: Hm.',
      'assistant: Hello.',
      'user: And?',
      'assistant: Bye.',
    ])
  })

  test('has the progress of tools, and images in results as parts', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws',
      input: z.object({}),
      run(_, { progress }) {
        progress({ done: 1 })
        return toolContent([
          { type: 'text', text: 'a mill' },
          { type: 'image', data: 'aGk=', mediaType: 'image/png' },
        ])
      },
    })
    const model = scriptedModel([[{ call: 'draw', id: 'call_1' }], 'Drawn.'])
    const { client } = await serveAgUi(agent({ name: 'painter', model, tools: [draw] }))
    const { of } = await client().say('Draw.')
    expect(of('CUSTOM')).toMatchObject([
      { name: 'tool-progress', value: { toolCallId: 'call_1', progress: { done: 1 } } },
    ])
    expect(of('TOOL_CALL_RESULT')).toMatchObject([
      {
        content: [
          { type: 'text', text: 'a mill' },
          { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } },
        ],
      },
    ])
  })

  test('that fails ends with the error, and the next message is answered', async () => {
    const error = { message: 'the model is broken' }
    const model = scriptedModel([[{ text: 'I wi' }, { error }], 'Now I can.'])
    const { client } = await serveAgUi(agent({ name: 'helper', model, retry: { attempts: 1 } }))
    const { agent: http, say } = client()
    const { last } = await say('Hi.')
    expect(last).toMatchObject({ type: 'RUN_ERROR', code: 'llm_error' })
    expect(last.message).toContain('the model is broken')
    await say('Again.')
    expect(conversation(http).at(-1)).toBe('assistant: Now I can.')
  })

  test('that reaches the limit of rounds says so', async () => {
    const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })
    const model = scriptedModel(() => [{ call: 'look' }])
    const { client } = await serveAgUi(agent({ name: 'looker', model, tools: [look], maxRounds: 1 }))
    const { last } = await client().say('Look.')
    expect(last).toMatchObject({ outcome: { type: 'success' }, metadata: { outcome: 'max-rounds' } })
  })

  test('reads images and files of the user', async () => {
    const requests: ModelRequest[] = []
    const { client } = await serveAgUi(parrot(requests))
    const image = { type: 'data', value: 'aGk=', mimeType: 'image/png' }
    await client().say([
      { type: 'text', text: 'Look.' },
      { type: 'image', source: image },
      { type: 'image', source: { type: 'url', value: 'https://a.example/b.png' } },
      {
        type: 'document',
        source: { ...image, mimeType: 'application/pdf' },
        metadata: { filename: 'a.pdf' },
      },
    ])
    expect(requests[0]?.messages.at(-1)?.content).toEqual([
      { type: 'text', text: 'Look.' },
      { type: 'image', data: 'aGk=', mediaType: 'image/png' },
      { type: 'image', url: 'https://a.example/b.png' },
      { type: 'file', data: 'aGk=', mediaType: 'application/pdf', name: 'a.pdf' },
    ])
  })

  test('gets text of the client for the model only if the server allows it', async () => {
    const requests: ModelRequest[] = []
    const context = [{ description: 'The page', value: 'Orders' }]
    const initialMessages = [{ id: 's1', role: 'system', content: 'Be brief.' } as const]
    const strict = await serveAgUi(parrot(requests))
    await strict.client({ initialMessages }).say('Hi.', { context })
    expect(JSON.stringify(requests[0])).not.toMatch(/brief|Orders/)
    const open = await serveAgUi(parrot(requests), { clientOptions: ['system'] })
    await open.client({ initialMessages }).say('Hi.', { context })
    expect(requests[1]?.messages[0]).toEqual({ role: 'system', content: 'Be brief.\n\nThe page: Orders' })
    expect(requests[1]?.messages).toHaveLength(2)
  })
})

describe('interrupts', () => {
  test('ask for approval, and the next run continues after the decision', async () => {
    const { client, threadOf } = await serveAgUi(asker())
    const { agent: http, say, run } = client()
    const { outcome, events } = await say('Cut it.')
    expectValid(events)
    expect(outcome).toMatchObject({
      type: 'interrupt',
      interrupts: [
        {
          id: 'call_1',
          reason: 'tool_call',
          toolCallId: 'call_1',
          responseSchema: { required: ['approved'] },
          metadata: { toolName: 'cut_rope', input: { where: 'here' } },
        },
      ],
    })
    const { types } = await run(resume(outcome?.interrupts))
    expect(types).toEqual([
      'RUN_STARTED',
      'TOOL_CALL_RESULT',
      'TEXT_MESSAGE_START',
      ...types.filter((type) => type === 'TEXT_MESSAGE_CONTENT'),
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    expect(conversation(http)).toEqual([
      'user: Cut it.',
      'assistant:  cut_rope({"where":"here"})',
      'tool: cut here',
      'assistant: It is cut.',
    ])
    expect(http.pendingInterrupts).toEqual([])
    expect((await (await threadOf(http)).info()).status).toBe('idle')
  })

  test.each([
    ['denied', { status: 'resolved', payload: { approved: false, reason: 'it is mine' } }, /it is mine/],
    ['a bare false', { status: 'resolved', payload: false }, /denied/i],
    ['canceled', { status: 'cancelled' }, /the user canceled/],
  ] as const)('%s: the call never runs', async (_, answer, result) => {
    const { client } = await serveAgUi(asker())
    const { agent: http, say, run } = client()
    await say('Cut it.')
    await run({ resume: [{ interruptId: 'call_1', ...answer }] })
    expect(conversation(http)[2]).toMatch(result)
    expect(conversation(http)[2]).not.toContain('cut here')
  })

  test('can change the arguments', async () => {
    const { client } = await serveAgUi(asker())
    const { agent: http, say, run } = client()
    const { outcome } = await say('Cut it.')
    const wrong = run(resume(outcome?.interrupts, { approved: true, editedArgs: { where: 5 } }))
    await expect(wrong).rejects.toThrow('HTTP 400')
    await run(resume(outcome?.interrupts, { approved: true, editedArgs: { where: 'there' } }))
    expect(conversation(http)[2]).toBe('tool: cut there')
  })

  test('offer to remember the decision', async () => {
    const { client } = await serveAgUi(ruled())
    const { say, run } = client()
    const { outcome } = await say('Tie it.')
    const [interrupt] = outcome?.interrupts ?? []
    expect(interrupt?.responseSchema).toMatchObject({ properties: { remember: { enum: ['thread'] } } })
    await run(resume([interrupt ?? {}], { approved: true, remember: 'thread' }))
    expect((await say('Tie it again.')).outcome).toEqual({ type: 'success' })
  })

  test('of a sub-agent name it, and the tool call that it wants to make', async () => {
    const { client } = await serveAgUi(delegator())
    const { agent: http, say, run } = client()
    const { outcome, of, events } = await say('Have it cut.')
    expectValid(events)
    const [started] = of('SUBAGENT_STARTED')
    expect(started).toMatchObject({ name: 'asker', parentToolCallId: 'call_1' })
    const { subagentRunId } = started as unknown as { subagentRunId: string }
    expect(outcome?.interrupts).toMatchObject([{ toolCallId: 'call_1/call_1', subagentRunId }])
    expect(of('TOOL_CALL_START')).toMatchObject([
      { toolCallId: 'call_1' },
      { toolCallId: 'call_1/call_1', subagentRunId },
    ])
    expect(of('SUBAGENT_FINISHED')).toMatchObject([
      { outcome: { type: 'suspended', interruptIds: ['call_1/call_1'] } },
    ])
    const resumed = await run(resume(outcome?.interrupts))
    expect(resumed.of('SUBAGENT_FINISHED')).toMatchObject([{ subagentRunId, outcome: { type: 'success' } }])
    const own = http.messages.filter((message) => message.subagentRunId === undefined)
    expect(conversation({ messages: own }).at(-1)).toBe('assistant: It was done.')
    expect(conversation(http)).toContain('tool: cut here')
  })

  test('ask to raise a limit', async () => {
    const { client } = await serveAgUi(spender())
    const { say, run } = client()
    const { outcome } = await say('Look.')
    const [interrupt] = outcome?.interrupts ?? []
    expect(interrupt).toMatchObject({ reason: 'millrace:budget', message: expect.stringContaining('round') })
    expect(interrupt).not.toHaveProperty('toolCallId')
    expect((await run(resume([interrupt ?? {}]))).outcome).toEqual({ type: 'success' })
  })

  test('that were decided elsewhere, or before, show what followed', async () => {
    const { client, threadOf } = await serveAgUi(asker())
    const { agent: http, say, run } = client()
    const { outcome } = await say('Cut it.')
    const thread = await threadOf(http)
    await thread.approve('call_1', { approved: true })
    await untilIdle(thread)
    const { types } = await run(resume(outcome?.interrupts, { approved: false }))
    expect(types).toContain('TOOL_CALL_RESULT')
    expect(conversation(http).slice(2)).toEqual(['tool: cut here', 'assistant: It is cut.'])
  })

  test('are answered together with a new message, which the run reads', async () => {
    const { client, threadOf } = await serveAgUi(asker())
    const { agent: http, say } = client()
    const { outcome } = await say('Cut it.')
    await say('And hurry.', resume(outcome?.interrupts))
    expect(conversation(http).slice(0, 4)).toEqual([
      'user: Cut it.',
      'assistant:  cut_rope({"where":"here"})',
      'tool: cut here',
      'user: And hurry.',
    ])
    expect(
      (await (await threadOf(http)).read()).filter(
        ({ event }) => event.type === 'run-start' && !event.resumes,
      ),
    ).toHaveLength(1)
  })
})

describe('tools of the client', () => {
  test('run there, and the result comes with the next run', async () => {
    const { client } = await serveAgUi(picker())
    const { agent: http, say, run } = client()
    const { last } = await say('Which color?')
    expect(last).toMatchObject({ type: 'RUN_FINISHED' })
    expect(last).not.toHaveProperty('outcome')
    http.addMessage({ id: 'r1', role: 'tool', toolCallId: 'call_1', content: 'blue' })
    await run()
    expect(conversation(http)).toEqual([
      'user: Which color?',
      'assistant:  pick_color({"of":"sky"})',
      'tool: blue',
      'assistant: It is [{"type":"text","text":"blue"}].',
    ])
    // The result is part of the history now.
    expect((await say('Thanks.')).types).not.toContain('RUN_ERROR')
  })

  test('may fail', async () => {
    const { client } = await serveAgUi(picker())
    const { agent: http, say, run } = client()
    await say('Which color?')
    http.addMessage({ id: 'r1', role: 'tool', toolCallId: 'call_1', content: '', error: 'no picker' })
    await run()
    expect(conversation(http).at(-1)).toContain('no picker')
  })

  test('may come from the client, unless the server forbids it', async () => {
    const model = () =>
      scriptedModel(({ messages, tools }) =>
        messages.at(-1)?.role === 'tool'
          ? 'Bern.'
          : tools.length > 0
            ? [{ call: 'locate', id: 'c1' }]
            : 'No tools.',
      )
    const tools = [{ name: 'locate', description: 'Where the user is', parameters: { type: 'object' } }]
    const { client } = await serveAgUi(agent({ name: 'guide', model: model() }))
    const { agent: http, say, run } = client()
    await say('Where am I?', { tools })
    http.addMessage({ id: 'r1', role: 'tool', toolCallId: 'c1', content: 'Bern' })
    await run({ tools })
    expect(conversation(http).at(-1)).toBe('assistant: Bern.')
    const strict = await serveAgUi(agent({ name: 'guide', model: model() }), { clientOptions: [] })
    const other = strict.client()
    await other.say('Where am I?', { tools })
    expect(conversation(other.agent).at(-1)).toBe('assistant: No tools.')
  })
})

describe('state', () => {
  const planner = () => {
    const plan = tool({
      name: 'plan',
      description: 'Adds a step',
      input: z.object({ step: z.string() }),
      run({ step }, { metadata, updateMetadata }) {
        const { steps = [] } = (metadata().state ?? {}) as { steps?: string[] }
        updateMetadata({ state: { steps: [...steps, step], draft: null } })
        return 'added'
      },
    })
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'Planned.' : [{ call: 'plan', input: { step: 'cut' } }],
    )
    return agent({ name: 'planner', model, tools: [plan] })
  }

  test('of the client is the field state of the metadata, and changes of tools arrive as patches', async () => {
    const { client, threadOf } = await serveAgUi(planner())
    const { agent: http, say } = client({ initialState: { steps: ['measure'], draft: true } })
    const { of } = await say('Plan.')
    expect(of('STATE_SNAPSHOT')).toMatchObject([{ snapshot: { steps: ['measure'], draft: true } }])
    expect(of('STATE_DELTA').map(({ delta }) => delta)).toEqual([
      [
        { op: 'add', path: '/steps', value: ['measure', 'cut'] },
        { op: 'remove', path: '/draft' },
      ],
    ])
    expect(http.state).toEqual({ steps: ['measure', 'cut'] })
    http.setState({ steps: [], goal: 'a boat' })
    await say('Plan again.')
    expect(http.state).toEqual({ steps: ['cut'], goal: 'a boat' })
    expect((await (await threadOf(http)).info()).metadata).toEqual({ state: http.state })
  })

  test('is not lost by a client that has just started, or only looks', async () => {
    const { client, threadOf } = await serveAgUi(planner())
    const { agent: first, say } = client()
    await say('Plan.')
    const { threadId, messages: initialMessages } = first
    const second = client({ threadId, initialMessages })
    await second.say('Plan.')
    expect(second.agent.state).toEqual({ steps: ['cut', 'cut'] })
    const stale = client({ threadId, initialState: { steps: ['old'] } })
    await stale.run()
    expect(stale.agent.state).toEqual({ steps: ['cut', 'cut'] })
    expect((await (await threadOf(first)).info()).metadata).toEqual({
      state: first.state && stale.agent.state,
    })
  })

  test('that is too large is rejected before the message is sent', async () => {
    const { client, app } = await serveAgUi(planner())
    const { agent: http, say } = client()
    await say('Plan.')
    http.setState({ text: 'long '.repeat(4000) })
    await expect(say('Plan.')).rejects.toThrow(/HTTP 400.*16384 bytes/)
    const { threads } = await app.threads()
    expect(await texts(app.thread(threads[0]?.id))).toHaveLength(4)
  })
})

describe('the conversation', () => {
  test('belongs to the user, and to the agent', async () => {
    const { client, app, url } = await serveAgUi(parrot(), { auth: byToken })
    const as = (user: string) => ({ threadId: 'chat-1', headers: { authorization: `Bearer ${user}` } })
    await client(as('ann')).say('one')
    await client(as('bob')).say('two')
    const { threads } = await app.threads()
    expect(threads.map(({ user }) => user).sort()).toEqual(['ann', 'bob'])
    await expect(client({ threadId: 'chat-1' }).say('three')).rejects.toThrow(/HTTP 401.*RUN_ERROR/)
    await expect(client({ ...as('ann'), url: `${url}/ag-ui/other` }).say('four')).rejects.toThrow(
      /HTTP 404.*there is no agent 'other'/,
    )
  })

  test('can be a thread of another client, which is sent when a client opens it', async () => {
    const { client, app } = await serveAgUi(parrot())
    await app.thread('shared', { agent: 'parrot' }).send('one')
    await untilIdle(app.thread('shared'))
    const { agent: http, run, say } = client({ threadId: 'shared' })
    const { types, events } = await run()
    expectValid(events)
    expect(types).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    await say('two')
    expect(conversation(http)).toEqual(['user: one', 'assistant: 1: one', 'user: two', 'assistant: 2: two'])
    // It knows all messages, so nothing is taken for an edit.
    expect(await texts(app.thread('shared'))).toHaveLength(4)
  })

  test('that has not started is empty', async () => {
    const { client, app } = await serveAgUi(parrot())
    const { types } = await client().run()
    expect(types).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
    expect((await app.threads()).threads).toEqual([])
  })

  test('that the server does not know starts with the history of the client', async () => {
    const requests: ModelRequest[] = []
    const { client } = await serveAgUi(parrot(requests))
    const toolCalls = [
      { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } },
    ] as const
    const { agent: http, say } = client({
      initialMessages: [
        { id: 'u1', role: 'user', content: 'one' },
        { id: 'r1', role: 'reasoning', content: 'Hm.' },
        { id: 'a1', role: 'assistant', content: 'I look.', toolCalls: [...toolCalls] },
        { id: 't1', role: 'tool', toolCallId: 'c1', content: 'seen' },
        { id: 'i1', role: 'assistant', content: 'inside', subagentRunId: 's1' },
      ],
    })
    await say('two')
    expect(requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    expect(conversation(http).at(-1)).toBe('assistant: 1: two')
    const unknown = client({ initialMessages: [{ id: 'a1', role: 'assistant', content: 'Hello.' }] })
    await expect(unknown.run()).rejects.toThrow(/HTTP 404.*send a new message/)
  })

  test('is answered once when the same request is sent again', async () => {
    const requests: ModelRequest[] = []
    const { address, app } = await serveAgUi(parrot(requests))
    const body = {
      ...{ threadId: 't', runId: 'r', protocolVersion: '1.0' },
      messages: [{ id: 'u1', role: 'user', content: 'Hi.' }],
    }
    const both = await Promise.all([post(address, body), post(address, body)])
    const [first = [], second = []] = await Promise.all(both.map(eventsIn))
    const textIn = (events: JsonObject[]) =>
      events.flatMap(({ delta }) => (typeof delta === 'string' ? [delta] : [])).join('')
    expect(textIn(second)).toBe(textIn(first))
    expect(second.at(-1)).toEqual(first.at(-1))
    expect(requests).toHaveLength(1)
    // A client that has removed the answer wants another one.
    const regenerated = await eventsIn(await post(address, { ...body, runId: 'r2' }))
    expect(textIn(regenerated)).toBe('2: Hi.')
    expect(textIn(await eventsIn(await post(address, { ...body, runId: 'r2' })))).toBe('2: Hi.')
    const { threads } = await app.threads()
    expect(await texts(app.thread(threads[0]?.id))).toEqual(['Hi.', '2: Hi.'])
  })

  test.each([
    ['the same id', 'u2'],
    ['another id', 'u9'],
  ])('loses a message that was edited under %s, and what followed it', async (_, id) => {
    const { client, threadOf } = await serveAgUi(parrot())
    const { agent: http, say } = client()
    for (const [index, text] of ['one', 'two', 'three'].entries()) await say(text, { id: `u${index + 1}` })
    http.setMessages(http.messages.slice(0, 2))
    await say('zwei', { id })
    expect(await texts(await threadOf(http))).toEqual(['one', '1: one', 'zwei', '4: zwei'])
    http.setMessages(http.messages.slice(0, 2))
    await say('deux', { id: `${id}${id === 'u2' ? '' : '0'}` })
    expect(await texts(await threadOf(http))).toEqual(['one', '1: one', 'deux', '5: deux'])
    expect(conversation(http)).toEqual(['user: one', 'assistant: 1: one', 'user: deux', 'assistant: 5: deux'])
  })

  test('keeps messages that a client does not know', async () => {
    const { client, threadOf } = await serveAgUi(parrot())
    const { agent: http, say } = client()
    await say('one')
    const thread = await threadOf(http)
    await thread.send('from the page')
    await untilIdle(thread)
    await say('two')
    expect(await texts(thread)).toEqual([
      'one',
      '1: one',
      'from the page',
      '2: from the page',
      'two',
      '3: two',
    ])
    const fresh = client({ threadId: http.threadId })
    await fresh.say('three')
    expect(await texts(thread)).toHaveLength(8)
  })

  test('loses nothing when two clients write at the same time', async () => {
    const model = scriptedModel(({ messages }) => [{ text: `To ${messages.length}.` }, { pause: 30 }])
    const { client, threadOf } = await serveAgUi(agent({ name: 'slow', model }))
    const { agent: http, say } = client()
    await say('one')
    const { threadId, messages: initialMessages } = http
    const other = client({ threadId, initialMessages })
    const thread = await threadOf(http)
    const first = say('two')
    await until(async () => (await thread.info()).status === 'running')
    await Promise.all([first, other.say('three')])
    expect(await texts(thread)).toEqual(['one', 'To 1.', 'two', 'To 3.', 'three', 'To 5.'])
  })

  test('is edited as a whole or not at all', async () => {
    const { client, threadOf } = await serveAgUi(parrot())
    const { agent: http, say } = client()
    await say('one', { id: 'u1' })
    http.setMessages([])
    http.setState({ text: 'long '.repeat(4000) })
    await expect(say('uno', { id: 'u1' })).rejects.toThrow('HTTP 400')
    expect(await texts(await threadOf(http))).toEqual(['one', '1: one'])
  })

  test('of another agent is rejected', async () => {
    const { client, url, threadOf } = await serveAgUi(parrot(), { more: { asker: asker() } })
    const { agent: http, say } = client()
    await say('one')
    const { id } = await threadOf(http)
    await expect(client({ threadId: id, url: `${url}/ag-ui/asker` }).run()).rejects.toThrow(
      /HTTP 400.*belongs to the agent 'parrot', not to 'asker'/,
    )
  })
})

describe('a connection', () => {
  test('that is closed stops the run', async () => {
    const { client, threadOf } = await serveAgUi(muser(), { ui: { graceMs: 0 } })
    const { agent: http, say } = client()
    const onEvent = ({ event }: { event: { type: string } }) => {
      if (event.type === 'TEXT_MESSAGE_CONTENT') http.abortRun()
    }
    await say('Hi.', {}, { onEvent }).catch(() => {})
    const thread = await threadOf(http)
    await until(async () => (await thread.info()).status === 'idle')
    expect((await thread.info()).outcome).toBe('canceled')
  })

  test('that is closed does not stop the run if the server says so', async () => {
    const { client, threadOf } = await serveAgUi(storyteller(story, { paceMs: 2 }), {
      ui: { onDisconnect: 'continue' },
    })
    const { agent: http, say, run } = client()
    const onEvent = ({ event }: { event: { type: string } }) => {
      if (event.type === 'TEXT_MESSAGE_CONTENT') http.abortRun()
    }
    await say('Hi.', {}, { onEvent }).catch(() => {})
    await untilIdle(await threadOf(http))
    await run()
    expect(conversation(http)).toEqual(['user: Hi.', `assistant: ${story}`])
  })

  test('that is opened while a run is in progress gets all of it', async () => {
    const { client, threadOf } = await serveAgUi(storyteller(story, { paceMs: 5 }))
    const first = client()
    let second: ReturnType<typeof client> | undefined
    let attached: ReturnType<typeof first.run> | undefined
    await first.say(
      'Hi.',
      {},
      {
        onTextMessageContentEvent() {
          second ??= client({ threadId: first.agent.threadId })
          attached ??= second.run()
        },
      },
    )
    const { types, events } = (await attached) as Awaited<typeof attached> & object
    expectValid(events)
    expect(types.slice(0, 3)).toEqual(['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'TEXT_MESSAGE_START'])
    expect(conversation(second?.agent as never)).toEqual(conversation(first.agent))
    expect(second?.agent.messages).toEqual(first.agent.messages)
    expect((await (await threadOf(first.agent)).info()).outcome).toBe('completed')
  })

  test('that sends a message while a run is in progress queues it, or steers the run', async () => {
    const wait = tool({
      name: 'wait',
      description: 'Waits until something is sent',
      input: z.object({}),
      run: () => until(() => sent),
    })
    let sent = false
    const model = scriptedModel(({ messages }) => {
      if (messages.filter(({ role }) => role === 'user').length === 1 && messages.at(-1)?.role === 'user')
        return [{ call: 'wait' }]
      return messages.map((message) => (message.role === 'user' ? textOf(message) : '')).join('')
    })
    for (const mode of ['queue', 'steer']) {
      sent = false
      const { client, threadOf } = await serveAgUi(agent({ name: 'waiter', model, tools: [wait] }))
      const first = client()
      const answered = first.say('one')
      const thread = await threadOf(first.agent)
      await until(async () => (await thread.info().catch(() => undefined))?.status === 'running')
      const second = client({ threadId: first.agent.threadId })
      const { agent: http } = second
      http.setMessages([...first.agent.messages])
      const more = second.say(' two', { forwardedProps: { mode } })
      await until(
        async () => (await thread.read()).filter(({ event }) => event.type === 'input').length === 2,
      )
      sent = true
      await Promise.all([answered, more])
      expect(conversation(first.agent).at(-1)).toBe(
        mode === 'steer' ? 'assistant: one two' : 'assistant: one',
      )
      expect(conversation(first.agent).includes('user:  two')).toBe(mode === 'steer')
      expect(conversation(http).includes('assistant: one two')).toBe(mode === 'queue')
    }
  })
})

describe('a bad request is rejected:', () => {
  const good = { threadId: 't', runId: 'r', messages: [{ id: 'u1', role: 'user', content: 'Hi.' }] }
  test.each([
    [[], 'the body must be a RunAgentInput, { threadId, runId, messages, … }, not an array'],
    [{ ...good, threadId: '' }, "'threadId' must be text, not empty"],
    [{ ...good, messages: undefined }, "'messages' must be an array, not undefined"],
    [{ ...good, messages: ['Hi.'] }, "'messages[0]' must be an object, not a string"],
    [
      { ...good, messages: [{ role: 'user', content: 'Hi.' }] },
      "'messages[0].id' must be text, not undefined",
    ],
    [
      { ...good, messages: [{ id: 'x', role: 'robot' }] },
      `'messages[0].role' must be one of developer, system, user, assistant, tool, activity, reasoning, not "robot"`,
    ],
    [
      { ...good, messages: [{ id: 'x', role: 'tool' }] },
      "'messages[0].toolCallId' must be text, not undefined",
    ],
    [
      { ...good, messages: [{ id: 'x', role: 'user', content: '' }] },
      "the message 'x' is empty: its 'content' must be text or a list of parts",
    ],
    [
      { ...good, messages: [{ id: 'x', role: 'user', content: [{ type: 'hologram' }] }] },
      'a part of a message must be text, image, audio, video or document',
    ],
    [
      {
        ...good,
        messages: [
          { id: 'x', role: 'user', content: [{ type: 'image', source: { type: 'file', value: 'file_1' } }] },
        ],
      },
      "the source of a part must be { type: 'url', value } or { type: 'data', value, mimeType }",
    ],
    [{ ...good, tools: [{}] }, "'tools[0].name' must be text, not undefined"],
    [{ ...good, resume: [{}] }, "'resume[0].interruptId' must be text, not undefined"],
    [
      { ...good, resume: [{ interruptId: 'c', status: 'maybe' }] },
      `'resume[0].status' must be 'resolved' or 'cancelled', not "maybe"`,
    ],
    [
      { ...good, resume: [{ interruptId: 'c', status: 'resolved', payload: 'yes' }] },
      "'resume[0].payload' must be { approved: true } or { approved: false }",
    ],
    [
      {
        ...good,
        resume: [{ interruptId: 'c', status: 'resolved', payload: { approved: true, editedArgs: '{}' } }],
      },
      "'resume[0].payload.editedArgs' must be an object, not a string",
    ],
    [
      {
        ...good,
        resume: [{ interruptId: 'c', status: 'resolved', payload: { approved: true, remember: true } }],
      },
      "'resume[0].payload.remember' must be 'thread' or 'always', not a boolean",
    ],
  ])('%j', async (body, message) => {
    const { address, app } = await serveAgUi(parrot())
    const response = await post(address, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ type: 'RUN_ERROR', code: 'invalid_input', message })
    expect((await app.threads()).threads).toEqual([])
  })

  test('an answer to something that was never asked', async () => {
    const { client } = await serveAgUi(parrot())
    const { say, run } = client()
    await say('Hi.')
    await expect(run(resume([{ id: 'call_9' }]))).rejects.toThrow(
      /HTTP 400.*nothing waits for the interrupt 'call_9'/,
    )
  })
})

describe('clients before 1.0', () => {
  test('get text, approvals and sub-agents', async () => {
    const { oldClient } = await serveAgUi(delegator())
    const { agent: http, say, run } = oldClient()
    const { outcome, of } = await say('Have it cut.')
    expect(of('RUN_STARTED')[0]).not.toHaveProperty('protocolVersion')
    await run(resume(outcome?.interrupts))
    expect(conversation(http).at(-1)).toBe('assistant: It was done.')
  })

  test('get the text of results with images', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws',
      input: z.object({}),
      run: () => toolContent([{ type: 'image', data: 'aGk=', mediaType: 'image/png' }]),
    })
    const model = scriptedModel([[{ call: 'draw' }], 'Drawn.'])
    const { oldClient } = await serveAgUi(agent({ name: 'painter', model, tools: [draw] }))
    expect((await oldClient().say('Draw.')).of('TOOL_CALL_RESULT')).toMatchObject([{ content: '[image]' }])
  })

  test('get a canceled run as an error, since they reject another outcome', async () => {
    const { oldClient, client, threadOf } = await serveAgUi(muser())
    for (const [{ agent: http, say }, end] of [
      [oldClient(), { type: 'RUN_ERROR', code: 'canceled', message: 'enough' }],
      [client(), { type: 'RUN_FINISHED', outcome: { type: 'cancelled' } }],
    ] as const) {
      const onTextMessageContentEvent = () => void threadOf(http).then((thread) => thread.stop('enough'))
      const { last } = await say('Hi.', {}, { onTextMessageContentEvent })
      expect(last).toMatchObject(end)
    }
  })
})

function post(address: string, body: unknown): Promise<Response> {
  return fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}
