import type { UIMessage as AiMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import type { Message, ThreadEvent } from '../protocol/index.ts'
import { call, ends, fold, input, round, roundEnds, starts, text } from './fold.test-kit.ts'
import { chunksOf, entriesOf, messageOf } from './ui-message-chunks.test-kit.ts'
import { uiMessages } from './ui-message-history.ts'
import { readAnswers, readPostedChat, readUIMessages } from './ui-messages.ts'

const posted = (...messages: object[]) => ({ id: 'c', messages, trigger: 'submit-message' })
const user = (...parts: object[]) => ({ id: 'm1', role: 'user', parts })
const assistant = (...parts: object[]) => ({ id: 'a1', role: 'assistant', parts })
const say = (text: string) => ({ type: 'text', text })
const step = { type: 'step-start' }
const toolPart = (state: string, more: object = {}) => ({
  type: 'dynamic-tool',
  toolName: 'look',
  toolCallId: 'call_1',
  state,
  input: { at: 1 },
  ...more,
})
const read = (...messages: object[]): readonly Message[] => readUIMessages(posted(...messages)).messages

describe('what useChat posts', () => {
  test('is read with its ids, its trigger and the tools of the client', () => {
    const body = {
      ...posted(user(say('Hi.'))),
      messageId: 'm1',
      tools: {
        draw: { description: 'Draws', parameters: { type: 'object' } },
        erase: { parameters: { type: 'object' }, type: 'frontend' },
      },
      system: 'Be brief.',
      callSettings: { maxTokens: 10, modelName: 'x' },
      anything: 'else',
    }
    const tools = [
      { name: 'draw', description: 'Draws', inputSchema: { type: 'object' } },
      { name: 'erase', description: 'The tool erase', inputSchema: { type: 'object' } },
    ]
    expect(readUIMessages(body)).toEqual({
      id: 'c',
      trigger: 'submit-message',
      messageId: 'm1',
      mode: undefined,
      messages: [{ role: 'user', content: 'Hi.' }],
      ids: ['m1'],
      tools,
      request: { tools, system: 'Be brief.', settings: { maxOutputTokens: 10 } },
    })
    expect(readUIMessages({ ...posted(), tools: {}, system: '', callSettings: undefined })).toMatchObject({
      tools: [],
      request: {},
    })
  })

  test('may be only the last message', () => {
    expect(readUIMessages({ id: 'c', message: user(say('Hi.')) })).toMatchObject({
      messages: [{ role: 'user', content: 'Hi.' }],
      trigger: 'submit-message',
    })
  })

  test.each<[unknown, string]>([
    [undefined, 'the body must be what useChat posts, { id, messages, … }, not undefined'],
    [{ messages: 'Hi.' }, "'messages' must be an array of UI messages, not a string"],
    [{ id: 7, messages: [] }, "'id' must be text, not a number"],
    [{ ...posted(), trigger: 'go' }, `'trigger' must be 'submit-message' or 'regenerate-message', not "go"`],
    [{ ...posted(), mode: 'go' }, `'mode' must be 'queue', 'steer' or 'interrupt', not "go"`],
    [posted('Hi.' as never), 'messages[0] must be a UI message, { id, role, parts }, not a string'],
    [
      posted({ role: 'tool', parts: [] }),
      `messages[0].role must be 'system', 'user' or 'assistant', not "tool"`,
    ],
    [
      posted({ role: 'user', content: 'Hi.' }),
      'messages[0].parts must be an array of parts (AI SDK 5 and later), not undefined',
    ],
    [posted({ ...user(), id: 1 }), 'messages[0].id must be text, not a number'],
    [
      posted(user({ type: 'data-x', data: 1 })),
      "the message 'm1' is empty: only its text and file parts are read",
    ],
    [
      posted(user({ type: 'file', mediaType: 'image/png', url: 'blob:http://localhost/1' })),
      'a file needs a url that starts with data:, https: or http:, not "blob:http://localhost/1". Send the content of the file as a data: URL',
    ],
    [
      posted(user({ type: 'file', mediaType: 'text/plain', url: 'data:text/plain,%' })),
      'a file needs a url that starts with data:, https: or http:, not "data:text/plain,%". Send the content of the file as a data: URL',
    ],
    [posted(user({ type: 'file', mediaType: 'image/png' })), /not undefined\. Send the content/ as never],
  ])('that cannot be used is rejected: %j', (body, message) => {
    expect(() => readUIMessages(body)).toThrow(message)
  })
})

describe('a user’s message', () => {
  test('keeps text, images and files', () => {
    expect(
      read(
        user(
          say('See:'),
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
          { type: 'file', mediaType: 'image', url: 'data:image/webp;base64,BBBB' },
          { type: 'file', mediaType: 'image/*', url: 'https://example.com/a.png' },
          {
            type: 'file',
            mediaType: 'application/pdf',
            url: 'data:application/pdf;base64,CCCC',
            filename: 'a.pdf',
          },
          { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
          { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;charset=utf-8,Hi%20%E2%82%AC' },
          { type: 'data-mood', data: 'good' },
          say(''),
        ),
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See:' },
          { type: 'image', data: 'AAAA', mediaType: 'image/png' },
          { type: 'image', data: 'BBBB', mediaType: 'image/webp' },
          { type: 'image', url: 'https://example.com/a.png' },
          { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'CCCC' },
          { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
          { type: 'file', mediaType: 'text/plain', data: btoa('Hi \u00e2\u0082\u00ac') },
        ],
      },
    ])
  })
})

describe('an answer', () => {
  test('is a message for each step, with the results of its calls', () => {
    expect(
      read(
        { id: 's', role: 'system', parts: [say('Be brief.')] },
        user(say('Hi.')),
        assistant(
          step,
          { type: 'reasoning', text: 'Hm.' },
          say('I look.'),
          toolPart('output-available', { output: { n: 1 } }),
          toolPart('output-error', { toolCallId: 'call_2', errorText: 'dark', input: '{"at' }),
          { type: 'source-url', sourceId: 's', url: 'https://example.com' },
          { type: 'steering-message', id: 'i', parts: [say('Left!')] },
          step,
          {
            ...toolPart('output-denied', { approval: { id: 'x', approved: false, reason: 'no' } }),
            type: 'tool-run',
          },
          toolPart('output-available', { output: 'x', providerExecuted: true }),
          say('Done.'),
        ),
      ),
    ).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi.' },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'text', text: 'I look.' },
          { type: 'tool-call', callId: 'call_1', name: 'look', input: { at: 1 } },
          { type: 'tool-call', callId: 'call_2', name: 'look', input: {} },
        ],
      },
      { role: 'tool', callId: 'call_1', name: 'look', content: [{ type: 'json', value: { n: 1 } }] },
      {
        role: 'tool',
        callId: 'call_2',
        name: 'look',
        content: [{ type: 'text', text: 'dark' }],
        isError: true,
      },
      { role: 'user', content: 'Left!' },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', callId: 'call_1', name: 'run', input: { at: 1 } },
          { type: 'text', text: 'Done.' },
        ],
      },
      {
        role: 'tool',
        callId: 'call_1',
        name: 'run',
        content: [{ type: 'text', text: 'the call was denied: no' }],
        isError: true,
      },
    ])
  })

  test.each(['input-available', 'approval-requested', 'approval-responded'])(
    'keeps a call in state %s without a result',
    (state) => {
      expect(read(assistant(toolPart(state)))).toMatchObject([{ content: [{ type: 'tool-call' }] }])
    },
  )

  test('leaves out a call whose input is not complete, and output that is preliminary', () => {
    expect(read(assistant(toolPart('input-streaming')))).toEqual([])
    expect(read(assistant(toolPart('output-available', { output: 1, preliminary: true })))).toHaveLength(1)
  })

  test('has the images of a result again, which were files of the message', async () => {
    const image = { type: 'image', data: 'AAAA', mediaType: 'image/png' } as const
    const output = [image, { type: 'text', text: 'A mill.' }, { ...image, data: 'BBBB' }] as const
    const result = { type: 'tool-result', callId: 'a', name: 'look', output, status: 'ok' } as const
    const entries = entriesOf([
      ...[input('Hi.'), starts({ inputs: [1] }), round(1), call('a'), roundEnds(1)],
      { ...result, isError: false, ms: 1, overlapMs: 0 },
      ends(),
    ])
    const message = (await messageOf(chunksOf(entries))) as AiMessage
    expect(read(message)).toMatchObject([{ role: 'assistant' }, { role: 'tool', content: output }])
  })
})

test('the answers of a client are its decisions and the results of calls', () => {
  const [message] = readPostedChat(
    posted(
      assistant(
        toolPart('approval-responded', { approval: { id: 'x', approved: true } }),
        toolPart('approval-responded', {
          toolCallId: 'call_2',
          approval: { id: 'y', approved: false, reason: 'no' },
        }),
        toolPart('approval-requested', { toolCallId: 'call_3', approval: { id: 'z' } }),
        toolPart('output-available', { toolCallId: 'call_4' }),
        toolPart('output-available', { toolCallId: 'call_5', output: 1, preliminary: true }),
        toolPart('output-error', { toolCallId: 'call_6', errorText: 'dark' }),
        { type: 'text', state: 'output-available', toolCallId: 'call_7', output: 'x' },
      ),
    ),
  ).posted
  const { decisions, results } = readAnswers(message as never)
  expect([...decisions]).toEqual([
    ['x', { approved: true }],
    ['y', { approved: false, reason: 'no' }],
  ])
  expect([...results]).toEqual([
    ['call_4', { output: null, isError: false }],
    ['call_6', { output: 'dark', isError: true }],
  ])
})

describe('a conversation as messages for useChat', () => {
  const result = (callId: string, more: object = {}): ThreadEvent => ({
    ...{ type: 'tool-result', callId, name: 'look', output: [{ type: 'text', text: 'seen' }] },
    ...{ status: 'ok', isError: false, ms: 1, overlapMs: 0 },
    ...(more as object),
  })
  const failed = { status: 'failed', isError: true }
  const image = { type: 'image', data: 'AAAA', mediaType: 'image/png' }
  const asks = (callId: string, wants?: 'result'): ThreadEvent => ({
    ...{ type: 'approval-request', callId, name: 'look', input: { id: 2 } },
    ...(wants ? { wants } : { reason: 'it costs' }),
  })
  const budgetQuestion: ThreadEvent = {
    ...{ type: 'approval-request', callId: 'budget_1', name: 'budget', input: { usd: 2 } },
    ...{ reason: 'spent', budget: { scope: 'run', kind: 'usd', limit: 2, spent: 2 } },
  }
  const search = { type: 'provider-tool', callId: 's', name: 'web_search' } as const

  test.each<[string, ThreadEvent[]]>([
    ['text and reasoning', [{ type: 'reasoning', text: 'Hm.' }, text('Yes.'), roundEnds(1), ends()]],
    ['calls', [call('a'), call('b'), roundEnds(1), result('a'), result('b', failed), ends()]],
    ['images', [call('a'), roundEnds(1), result('a', { output: [image] }), ends()]],
    [
      'a steering message',
      [
        ...[call('a'), input('Left!', 'steer'), roundEnds(1), result('a')],
        ...[round(2, [5]), text('Left.'), roundEnds(2), ends()],
      ],
    ],
    ['an open approval', [call('a'), asks('a'), roundEnds(1), ends('suspended')]],
    ['an open approval in a sub-agent', [call('a'), asks('a/x'), roundEnds(1), ends('suspended')]],
    ['a tool for the client', [call('a'), asks('a', 'result'), roundEnds(1), ends('suspended')]],
    [
      'invalid and unfinished calls',
      [
        { type: 'tool-call', callId: 'a', name: 'look', input: {}, problem: 'not JSON', raw: '{"id' },
        { type: 'tool-input-start', callId: 'b', name: 'look' },
        { type: 'tool-input', callId: 'b', delta: '{"id' },
        ...[roundEnds(1), result('a', { ...failed, status: 'rejected' }), ends()],
      ],
    ],
    [
      'tools of the provider',
      [
        { ...search, input: { query: 'mill' } },
        { ...search, output: [{ url: 'https://example.com', title: 'A mill' }] },
        { type: 'provider-tool', callId: 'e', name: 'code', input: 'x', output: 'no', isError: true },
        { type: 'provider-tool', callId: 'c', name: 'compaction' },
        ...[roundEnds(1), ends()],
      ],
    ],
    ['a budget that waits', [text('Well.'), roundEnds(1), budgetQuestion, ends('suspended')]],
    [
      'a retraction',
      [text('Wro'), { type: 'round-retract', round: 1, reason: 'cut' }, text('Right.'), roundEnds(1), ends()],
    ],
  ])('has what the stream has: %s', async (_, events) => {
    const entries = entriesOf([input('Hi.'), starts({ inputs: [1] }), round(1), ...events])
    const streamed = await messageOf(chunksOf(entries))
    const [asked, answer] = uiMessages(fold(entries))
    expect(asked).toEqual({ id: 'input-1', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] })
    expect(JSON.parse(JSON.stringify(answer))).toEqual(withoutIds(streamed))
    // The types fit those of the package.
    expect([asked, answer] satisfies (AiMessage | undefined)[]).toHaveLength(2)
  })

  test.each([
    [true, { state: 'output-available', input: { usd: 2 }, output: { usd: 1 } }],
    [false, { state: 'output-denied', approval: { id: 'budget_1', approved: false, reason: 'enough' } }],
  ])('has the answer to a question about a budget: %s', (approved, part) => {
    const answer = { approved, ...(approved ? { input: { usd: 1 } } : { reason: 'enough' }) }
    const events: ThreadEvent[] = [
      ...[input('Hi.'), starts({ inputs: [1] }), round(1), text('Well.'), roundEnds(1)],
      ...[budgetQuestion, ends('suspended')],
      { type: 'approval', callId: 'budget_1', ...answer },
      starts({ runId: 'run_2', resumes: 'run_1' }),
      ends(),
    ]
    const messages = uiMessages(fold(entriesOf(events)))
    expect(messages[1]?.parts[2]).toMatchObject({ toolName: 'budget', ...part })
    // Sent back, it is not a call of a tool.
    expect(read(...messages, user(say('Go on.')))[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Well.' }],
    })
  })

  test('has a denied call, a call in progress, and messages that wait', () => {
    const denied: ThreadEvent[] = [
      ...[
        input('Hi.'),
        starts({ inputs: [1] }),
        round(1),
        call('a'),
        asks('a'),
        roundEnds(1),
        ends('suspended'),
      ],
      { type: 'approval', callId: 'a', approved: false, reason: 'no' },
      starts({ runId: 'run_2', resumes: 'run_1' }),
      result('a', { ...failed, status: 'denied' }),
      ...[round(2), { type: 'tool-input-start', callId: 'b', name: 'look' } as const],
      { type: 'tool-input', callId: 'b', delta: '{"id' },
      input('And?'),
    ]
    expect(uiMessages(fold(entriesOf(denied)))).toMatchObject([
      { role: 'user' },
      {
        id: 'run_1',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { state: 'output-denied', approval: { id: 'a', approved: false, reason: 'no' } },
          { type: 'step-start' },
          { toolCallId: 'b', state: 'input-streaming', rawInput: '{"id' },
        ],
      },
      { id: 'input-14', role: 'user', parts: [{ type: 'text', text: 'And?' }] },
    ])
  })

  /** The ids of reasoning are only in the stream. */
  function withoutIds(message: AiMessage | undefined) {
    const parts = message?.parts.map((part) =>
      part.type === 'reasoning' ? { ...part, id: undefined } : part,
    )
    return JSON.parse(JSON.stringify({ ...message, parts }))
  }
})
