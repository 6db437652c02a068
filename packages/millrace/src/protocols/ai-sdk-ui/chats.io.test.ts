import type { UIMessage } from 'ai'
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../../agent/index.ts'
import { textOf } from '../../protocol/index.ts'
import { scriptedModel } from '../../testing/index.ts'
import { heldTool } from '../../threads/threads.test-kit.ts'
import { tool } from '../../tools/index.ts'
import { asker, delegator, storyteller, until } from '../protocols.test-kit.ts'
import { conversation, plain, serveChats, textIn, transports } from './ai-sdk-ui.test-kit.ts'

/** An agent that repeats what it is asked, with the number of its request. */
function parrot() {
  let count = 0
  const model = scriptedModel(({ messages }) => `${++count}: ${textOf(messages.at(-1) as never)}`)
  return agent({ name: 'parrot', model })
}

describe.each(transports)('a chat of the AI SDK over %s', (over) => {
  test('streams reasoning, text and two tools that run at the same time', async () => {
    const look = heldTool('look')
    const listen = heldTool('listen')
    const model = scriptedModel([
      [{ reasoning: 'Both.' }, { text: 'One moment.' }, { call: 'look' }, { call: 'listen' }],
      [{ text: 'Quiet.' }, { usage: { inputTokens: 10, outputTokens: 5 } }],
    ])
    const { chat, threadOf } = await serveChats(agent({ model, tools: [look.tool, listen.tool] }))
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'What is there?' })
    await look.startedTimes(1)
    await listen.startedTimes(1)
    await until(() => one.messages[1]?.parts.length === 5)
    expect(plain(one.messages[1]?.parts)).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Both.', state: 'done' },
      { type: 'text', text: 'One moment.', state: 'done' },
      { type: 'dynamic-tool', toolName: 'look', state: 'input-available', input: {} },
      { type: 'dynamic-tool', toolName: 'listen', state: 'input-available', input: {} },
    ])
    listen.runs[0]?.release('a mill')
    await until(
      () => one.messages[1]?.parts.some((part) => 'output' in part && part.output === 'a mill') ?? false,
    )
    look.runs[0]?.release({ stars: 3 })
    await sent
    expect(one.status).toBe('ready')
    const [user, answer] = plain(one.messages)
    expect(answer?.parts.slice(3)).toMatchObject([
      { toolName: 'look', state: 'output-available', output: { stars: 3 } },
      { toolName: 'listen', state: 'output-available', output: 'a mill' },
      { type: 'step-start' },
      { type: 'text', text: 'Quiet.', state: 'done' },
    ])
    expect(answer?.metadata).toMatchObject({ usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } })
    // A message has the id that the client gave it, and the answer has the id of its run.
    const thread = await threadOf('c')
    expect(await thread.inputOf(user?.id ?? '')).toBe(1)
    expect(answer?.id).toBe((await thread.state()).run?.id)
  })

  test('continues the conversation that the thread has', async () => {
    const { chat, threadOf } = await serveChats(parrot())
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'one' })
    await one.sendMessage({ text: 'two' })
    expect(conversation(one.messages)).toEqual([
      'user: one',
      'assistant: 1: one',
      'user: two',
      'assistant: 2: two',
    ])
    const { messages } = await (await threadOf('c')).state()
    expect(messages.map(textOf)).toEqual(['one', '1: one', 'two', '2: two'])
  })

  test.each([
    [true, 'output-available', 'It is cut.'],
    [false, 'output-denied', 'It is cut.'],
  ])('asks for approval, and continues the same message when it is %s', async (approved, state, text) => {
    const { chat } = await serveChats(asker())
    const one = chat({ over, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await one.sendMessage({ text: 'Cut it.' })
    expect(one.messages[1]?.parts[1]).toMatchObject({
      state: 'approval-requested',
      approval: { id: 'call_1' },
    })
    await one.addToolApprovalResponse({ id: 'call_1', approved, reason: 'because' })
    await until(() => one.status === 'ready' && textIn(one.messages[1]) !== '')
    expect(one.messages).toHaveLength(2)
    expect(plain(one.messages[1]?.parts)).toMatchObject([
      { type: 'step-start' },
      { type: 'dynamic-tool', state, approval: { id: 'call_1', approved } },
      { type: 'step-start' },
      { type: 'text', text },
    ])
  })

  test('asks for approval inside a sub-agent', async () => {
    const { chat } = await serveChats(delegator())
    const one = chat({ over, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
    await one.sendMessage({ text: 'Cut it.' })
    expect(one.messages[1]?.parts[1]).toMatchObject({
      toolName: 'asker',
      state: 'approval-requested',
      approval: { id: 'call_1/call_1', descriptor: { toolName: 'cut_rope', input: { where: 'here' } } },
    })
    await one.addToolApprovalResponse({ id: 'call_1/call_1', approved: true })
    await until(() => one.status === 'ready' && textIn(one.messages[1]) === 'It was done.')
    expect(plain(one.messages[1]?.parts[1])).toMatchObject({
      state: 'output-available',
      output: 'It is cut.',
    })
    expect(one.messages).toHaveLength(2)
  })

  test.each([
    ['of the agent', [tool({ name: 'locate', description: 'Locates', input: z.object({}) })], {}],
    [
      'that the client brings, as assistant-ui does',
      [],
      { tools: { locate: { description: 'Locates', parameters: { type: 'object', properties: {} } } } },
    ],
  ])('runs a tool %s in the client', async (_, tools, body) => {
    const clock = tool({ name: 'clock', description: 'Time', input: z.object({}), run: () => 'noon' })
    const model = scriptedModel(({ messages, tools }) =>
      messages.at(-1)?.role === 'tool'
        ? messages.flatMap((one) => (one.role === 'tool' ? [JSON.stringify(one.content)] : [])).join()
        : tools.length === 2
          ? [{ call: 'locate' }, { call: 'clock' }]
          : 'no tools',
    )
    const { chat } = await serveChats(agent({ model, tools: [clock, ...tools] }))
    const calls: string[] = []
    const one = chat({
      over,
      body,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall({ toolCall: { toolName, toolCallId } }) {
        calls.push(toolName)
        if (toolName === 'locate')
          void one.addToolOutput({ tool: toolName, toolCallId, output: { city: 'Bern' } })
      },
    })
    await one.sendMessage({ text: 'Where am I?' })
    await until(() => one.status === 'ready' && textIn(one.messages[1]) !== '')
    expect(textIn(one.messages[1])).toContain('Bern')
    expect(textIn(one.messages[1])).toContain('noon')
    expect(calls.sort()).toEqual(['clock', 'locate'])
    expect(one.messages).toHaveLength(2)
    expect(plain(one.messages[1]?.parts[1])).toMatchObject({
      state: 'output-available',
      output: { city: 'Bern' },
    })
  })

  test('passes on the failure of a tool in the client', async () => {
    const locate = tool({ name: 'locate', description: 'Locates', input: z.object({}) })
    const model = scriptedModel(({ messages }) => {
      const last = messages.at(-1)
      return last?.role === 'tool' ? `${last.isError} ${JSON.stringify(last.content)}` : [{ call: 'locate' }]
    })
    const { chat } = await serveChats(agent({ model, tools: [locate] }))
    const one = chat({ over, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls })
    await one.sendMessage({ text: 'Where am I?' })
    await one.addToolOutput({
      tool: 'locate',
      toolCallId: 'call_1',
      state: 'output-error',
      errorText: 'no signal',
    })
    await until(() => one.status === 'ready' && textIn(one.messages[1]) !== '')
    expect(textIn(one.messages[1])).toMatch(/^true .*no signal/)
  })

  test('regenerates answers', async () => {
    const { chat, threadOf } = await serveChats(parrot())
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'one' })
    await one.sendMessage({ text: 'two' })
    await one.regenerate()
    expect(conversation(one.messages).slice(2)).toEqual(['user: two', 'assistant: 3: two'])
    await one.regenerate()
    expect(conversation(one.messages).slice(2)).toEqual(['user: two', 'assistant: 4: two'])
    await one.regenerate({ messageId: one.messages[1]?.id ?? '' })
    expect(conversation(one.messages)).toEqual(['user: one', 'assistant: 5: one'])
    const { messages } = await (await threadOf('c')).state()
    expect(messages.map(textOf)).toEqual(['one', '5: one'])
  })

  test('replaces a message that is edited, more than once', async () => {
    const { chat, threadOf } = await serveChats(parrot())
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'one' })
    await one.sendMessage({ text: 'two' })
    const messageId = one.messages[0]?.id ?? ''
    await one.sendMessage({ text: 'uno', messageId })
    expect(conversation(one.messages)).toEqual(['user: uno', 'assistant: 3: uno'])
    await one.sendMessage({ text: 'eins', messageId })
    await one.regenerate()
    expect(conversation(one.messages)).toEqual(['user: eins', 'assistant: 5: eins'])
    const { messages } = await (await threadOf('c')).state()
    expect(messages.map(textOf)).toEqual(['eins', '5: eins'])
  })

  test('sends images', async () => {
    const model = scriptedModel(({ messages }) => JSON.stringify(messages.at(-1)?.content))
    const { chat } = await serveChats(agent({ model }))
    const one = chat({ over })
    const url = 'data:image/png;base64,iVBORw0KGgo='
    await one.sendMessage({ text: 'What is it?', files: [{ type: 'file', mediaType: 'image/png', url }] })
    expect(JSON.parse(textIn(one.messages[1]))).toEqual([
      { type: 'image', data: 'iVBORw0KGgo=', mediaType: 'image/png' },
      { type: 'text', text: 'What is it?' },
    ])
  })

  test('sends messages of several megabytes', async () => {
    const { chat } = await serveChats(agent({ model: scriptedModel(() => 'Long.') }))
    const long = chat({ over })
    const text = 'x'.repeat(3 * 1024 * 1024)
    await long.sendMessage({ text })
    expect(conversation(long.messages)).toEqual([`user: ${text}`, 'assistant: Long.'])
  })

  test('shows the error of a run', async () => {
    const model = scriptedModel(() => [{ text: 'Well, ' }, { error: 'the model is broken' }])
    const { chat } = await serveChats(agent({ model }))
    const errors: string[] = []
    const one = chat({ over, onError: ({ message }) => errors.push(message) })
    await one.sendMessage({ text: 'Hi.' })
    expect(one.status).toBe('error')
    expect(errors).toEqual(['the model is broken'])
  })

  test('shows a message from another client that steers the run', async () => {
    const look = heldTool('look')
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [{ call: 'look' }] : `read ${textOf(messages.at(-1) as never)}`,
    )
    const { chat, threadOf } = await serveChats(agent({ model, tools: [look.tool] }))
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'Look.' })
    await look.startedTimes(1)
    await (await threadOf('c')).send('Left!', { mode: 'steer' })
    look.runs[0]?.release()
    await sent
    expect(plain(one.messages[1]?.parts.slice(2))).toMatchObject([
      { type: 'steering-message', parts: [{ type: 'text', text: 'Left!' }] },
      { type: 'step-start' },
      { type: 'text', text: 'read Left!' },
    ])
  })

  test('steers the run with a message whose mode says so', async () => {
    const look = heldTool('look')
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? [{ call: 'look' }] : `read ${textOf(messages.at(-1) as never)}`,
    )
    const { chat, threadOf } = await serveChats(agent({ model, tools: [look.tool] }))
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'Look.' })
    await look.startedTimes(1)
    const steering = chat({ id: 'c', over }).sendMessage({ text: 'Left!' }, { body: { mode: 'steer' } })
    const thread = await threadOf('c')
    await until(async () => (await thread.state()).queued.length === 1)
    look.runs[0]?.release()
    await Promise.all([sent, steering])
    expect(textIn(one.messages[1])).toBe('read Left!')
    expect((await thread.state()).messages).toHaveLength(5)
  })

  test('answers a second message after the first, each in a message of its own', async () => {
    const look = heldTool('look')
    const model = scriptedModel(({ messages }) =>
      messages.length === 1
        ? [{ call: 'look' }]
        : `read ${textOf(messages.findLast(({ role }) => role === 'user') as never)}`,
    )
    const { chat, threadOf } = await serveChats(agent({ model, tools: [look.tool] }))
    const one = chat({ id: 'c', over })
    const first = one.sendMessage({ text: 'Look.' })
    await look.startedTimes(1)
    await until(() => one.messages.length === 2)
    const second = one.sendMessage({ text: 'Two.' })
    const thread = await threadOf('c')
    await until(async () => (await thread.state()).queued.length === 1)
    look.runs[0]?.release()
    await Promise.all([first, second])
    expect(conversation(one.messages)).toEqual([
      'user: Look.',
      'assistant: read Look.',
      'user: Two.',
      'assistant: read Two.',
    ])
  })

  test('cancels what waits for approval when the user writes something else', async () => {
    const { chat, threadOf } = await serveChats(asker())
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'Cut it.' })
    await one.sendMessage({ text: 'Never mind.' })
    const thread = await threadOf('c')
    expect((await thread.state()).messages.some(({ role }) => role === 'tool')).toBe(true)
    expect(one.messages).toHaveLength(4)
    expect(one.status).toBe('ready')
  })

  test('sends a decision along with the next message', async () => {
    const { chat, threadOf } = await serveChats(asker())
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'Cut it.' })
    await one.addToolApprovalResponse({ id: 'call_1', approved: true })
    await one.sendMessage({ text: 'And thanks.' })
    const { messages } = await (await threadOf('c')).state()
    expect(messages.map(textOf).slice(0, 5)).toEqual(['Cut it.', '', 'cut here', 'It is cut.', 'And thanks.'])
  })

  test('sends a message again that is no longer part of the conversation', async () => {
    const { chat, threadOf } = await serveChats(parrot())
    const one = chat({ id: 'c', over })
    await one.sendMessage({ text: 'one' })
    const thread = await threadOf('c')
    await thread.rewind(1)
    await one.regenerate()
    expect(conversation(one.messages)).toEqual(['user: one', 'assistant: 2: one'])
    await thread.rewind((await thread.inputOf(`${one.messages[0]?.id}~2`)) as number)
    await one.sendMessage({ text: 'uno', messageId: one.messages[0]?.id ?? '' })
    expect((await thread.state()).messages.map(textOf)).toEqual(['uno', '3: uno'])
  })

  test('is followed by two tabs, which get the same message', async () => {
    const { chat } = await serveChats(
      storyteller('Once upon a time there was a mill. '.repeat(20), { paceMs: 2 }),
    )
    const one = chat({ id: 'c', over })
    const sent = one.sendMessage({ text: 'Tell me.' })
    await until(() => textIn(one.messages[1]) !== '')
    const other = chat({ id: 'c', over, messages: one.messages.slice(0, 1) as UIMessage[] })
    await Promise.all([sent, other.resumeStream()])
    expect(plain(other.messages)).toEqual(plain(one.messages))
    expect(textIn(one.messages[1])).toHaveLength(700)
  })
})
