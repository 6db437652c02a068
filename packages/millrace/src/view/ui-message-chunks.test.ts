import { describe, expect, test } from 'vitest'
import type { RunEvent, ThreadEvent } from '../protocol/index.ts'
import { call, ends, input, round, roundEnds, starts, text } from './fold.test-kit.ts'
import { chunksOf, entriesOf, messageOf } from './ui-message-chunks.test-kit.ts'
import { sseOfChunks } from './ui-message-chunks.ts'
import { toolOutput } from './ui-message-parts.ts'

const usage = {
  usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7, reasoningTokens: 0, cachedInputTokens: 0 },
}

const said = (...events: ThreadEvent[]) => [input('Hi.'), starts({ inputs: [1] }), round(1), ...events]
const result = (
  callId: string,
  more: Partial<Extract<ThreadEvent, { type: 'tool-result' }>> = {},
): RunEvent => ({
  type: 'tool-result',
  callId,
  name: 'look',
  output: [{ type: 'text', text: 'seen' }],
  status: 'ok',
  isError: false,
  ms: 1,
  overlapMs: 0,
  ...more,
})
const asks = (callId: string, more: { wants?: 'result'; reason?: string } = {}): ThreadEvent => ({
  type: 'approval-request',
  callId,
  name: 'look',
  input: { id: 2 },
  ...more,
})
const decides = (callId: string, approved: boolean): ThreadEvent => ({ type: 'approval', callId, approved })
const inside = (event: RunEvent, callId = 'a'): ThreadEvent => ({ type: 'tool-progress', callId, event })

const messageFrom = (...events: ThreadEvent[]) => messageOf(chunksOf(entriesOf(events)))
const partsFrom = async (...events: ThreadEvent[]) => (await messageFrom(...events))?.parts
const typesFrom = (...events: ThreadEvent[]) => chunksOf(entriesOf(events)).map(({ type }) => type)

describe('an answer as one message of the AI SDK', () => {
  test('has the id of its run, text, reasoning, steps, and its usage at the end', async () => {
    const events = said(
      { type: 'reasoning', text: 'Hm' },
      { type: 'reasoning', text: '.' },
      text('Hel'),
      text('lo'),
      roundEnds(1),
      ends(),
    )
    expect(chunksOf(entriesOf(events))).toEqual([
      { type: 'start', messageId: 'run_1' },
      { type: 'start-step' },
      { type: 'reasoning-start', id: '4' },
      { type: 'reasoning-delta', id: '4', delta: 'Hm' },
      { type: 'reasoning-delta', id: '4', delta: '.' },
      { type: 'reasoning-end', id: '4' },
      { type: 'text-start', id: '6' },
      { type: 'text-delta', id: '6', delta: 'Hel' },
      { type: 'text-delta', id: '6', delta: 'lo' },
      { type: 'text-end', id: '6' },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'stop', messageMetadata: usage },
    ])
    expect(await messageFrom(...events)).toMatchObject({ id: 'run_1', role: 'assistant', metadata: usage })
  })

  test('streams the input of tools, and their outputs in any order', async () => {
    const events = said(
      { type: 'tool-input-start', callId: 'a', name: 'look' },
      { type: 'tool-input', callId: 'a', delta: '{"id"' },
      { type: 'tool-input', callId: 'a', delta: ':1}' },
      call('a'),
      call('b'),
      { type: 'tool-start', callId: 'a', name: 'look', attempt: 1 },
      roundEnds(1),
      result('b', { output: [{ type: 'json', value: { n: 1 } }] }),
      result('a'),
      round(2),
      text('Done.'),
      roundEnds(2),
      ends(),
    )
    expect(chunksOf(entriesOf(events)).slice(2, 6)).toEqual([
      { type: 'tool-input-start', toolCallId: 'a', toolName: 'look', dynamic: true },
      { type: 'tool-input-delta', toolCallId: 'a', inputTextDelta: '{"id"' },
      { type: 'tool-input-delta', toolCallId: 'a', inputTextDelta: ':1}' },
      { type: 'tool-input-available', toolCallId: 'a', toolName: 'look', dynamic: true, input: { id: 1 } },
    ])
    expect(await partsFrom(...events)).toMatchObject([
      { type: 'step-start' },
      { type: 'dynamic-tool', toolCallId: 'a', state: 'output-available', input: { id: 1 }, output: 'seen' },
      { type: 'dynamic-tool', toolCallId: 'b', state: 'output-available', output: { n: 1 } },
      { type: 'step-start' },
      { type: 'text', text: 'Done.', state: 'done' },
    ])
  })

  test('has an error for a call that fails, is invalid, or is never finished', async () => {
    const failed = { status: 'failed', isError: true } as const
    const parts = await partsFrom(
      ...said(
        call('a'),
        { type: 'tool-call', callId: 'b', name: 'look', input: {}, problem: 'not JSON', raw: '{"id' },
        { type: 'tool-input-start', callId: 'c', name: 'look' },
        { type: 'tool-input', callId: 'c', delta: '{"id":' },
        roundEnds(1),
        result('a', { ...failed, output: [{ type: 'text', text: 'no light' }] }),
        result('b', { ...failed, status: 'rejected' }),
        ends(),
      ),
    )
    expect(parts).toMatchObject([
      { type: 'step-start' },
      { toolCallId: 'a', state: 'output-error', errorText: 'no light', input: { id: 1 } },
      { toolCallId: 'b', state: 'output-error', errorText: 'not JSON', input: '{"id' },
      { toolCallId: 'c', state: 'output-error', errorText: 'The model never finished the arguments.' },
    ])
  })

  test('shows progress as preliminary output, until the result replaces it', async () => {
    const before = said(
      call('a'),
      { type: 'tool-progress', callId: 'a', data: { percent: 10 } },
      { type: 'tool-progress', callId: 'a', data: { percent: 50 } },
    )
    const [, part] = (await partsFrom(...before)) ?? []
    expect(part).toMatchObject({ state: 'output-available', preliminary: true, output: { percent: 50 } })
    const [, ended] = (await partsFrom(...before, roundEnds(1), result('a'), ends())) ?? []
    expect(ended).toMatchObject({ state: 'output-available', output: 'seen' })
    expect(ended).not.toHaveProperty('preliminary')
  })

  test('shows printed output as far as it has come', () => {
    const print = (output: string): ThreadEvent => ({ type: 'tool-progress', callId: 'a', data: { output } })
    expect(chunksOf(entriesOf(said(call('a'), print('one\n'), print('two\n')))).at(-3)).toMatchObject({
      preliminary: true,
      output: 'one\ntwo\n',
    })
  })

  test('says nothing of how a call is shown', () => {
    const display: ThreadEvent = { type: 'tool-progress', callId: 'a', data: { display: { title: 'x' } } }
    const before = said(call('a'))
    expect(chunksOf(entriesOf([...before, display]))).toEqual(chunksOf(entriesOf(before)))
  })

  test('starts a step again after a retraction, and keeps the steps before it', async () => {
    const parts = await partsFrom(
      ...said(
        text('First.'),
        call('a'),
        roundEnds(1),
        result('a'),
        round(2),
        { type: 'reasoning', text: 'Hm' },
        text('Wro'),
        { type: 'tool-input-start', callId: 'b', name: 'look' },
        { type: 'round-retract', round: 2, reason: 'cut off' },
        text('Right.'),
        roundEnds(2),
        ends(),
      ),
    )
    expect(parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'First.' },
      { toolCallId: 'a' },
      { type: 'step-start' },
      { type: 'text', text: 'Right.' },
    ])
    expect(parts).toHaveLength(5)
  })

  test('has the sources of a round again that was retracted', async () => {
    const found = [{ url: 'https://example.com/a' }]
    const search = { type: 'provider-tool', callId: 's', name: 'web_search', output: found } as const
    const retract = { type: 'round-retract', round: 1, reason: 'cut off' } as const
    const parts = await partsFrom(...said(search, retract, search, text('Yes.'), roundEnds(1), ends()))
    expect(parts?.map(({ type }) => type)).toEqual(['step-start', 'dynamic-tool', 'source-url', 'text'])
  })

  test('has an error for a call that was being written when the run ended', async () => {
    const parts = await partsFrom(
      ...said({ type: 'tool-input-start', callId: 'a', name: 'look' }, ends('canceled')),
    )
    expect(parts?.[1]).toMatchObject({ toolCallId: 'a', state: 'output-error' })
  })

  test('is the same after a process died, whose round is retracted and started again', async () => {
    const parts = await partsFrom(
      ...said(text('Wro')),
      starts({ runId: 'run_2', resumes: 'run_1' }),
      { type: 'round-retract', round: 1, reason: 'the process died' },
      round(1),
      text('Right.'),
      roundEnds(1),
      ends(),
    )
    expect(parts).toMatchObject([{ type: 'step-start' }, { type: 'text', text: 'Right.' }])
    expect(parts).toHaveLength(2)
  })

  test('has a steering message before the step that reads it', async () => {
    const parts = await partsFrom(
      ...said(
        call('a'),
        input('Left!', 'steer'),
        roundEnds(1),
        result('a'),
        round(2, [5]),
        text('Left.'),
        roundEnds(2),
        ends(),
      ),
    )
    expect(parts?.slice(2)).toMatchObject([
      { type: 'steering-message', id: 'input-5', parts: [{ type: 'text', text: 'Left!' }] },
      { type: 'step-start' },
      { type: 'text', text: 'Left.' },
    ])
  })

  test('has the tools, sources and files of the provider', async () => {
    const search = { type: 'provider-tool', callId: 's', name: 'web_search' } as const
    const found = [
      { type: 'web_search_result', url: 'https://example.com/a', title: 'A' },
      { type: 'web_search_result', url: 'https://example.com/a', title: 'A' },
      { url: 'javascript:alert(1)' },
    ]
    const parts = await partsFrom(
      ...said(
        search,
        { ...search, input: { query: 'mill' } },
        { ...search, output: found },
        { type: 'provider-tool', callId: 'i', name: 'image_generation', output: 'iVBORw0KGgoAAAA' },
        { type: 'provider-tool', callId: 'e', name: 'code', input: 'x', output: 'no', isError: true },
        { type: 'provider-tool', callId: 'c', name: 'compaction' },
        roundEnds(1),
        ends(),
      ),
    )
    expect(parts).toMatchObject([
      { type: 'step-start' },
      { toolCallId: 's', providerExecuted: true, state: 'output-available', input: { query: 'mill' } },
      { type: 'source-url', sourceId: 'https://example.com/a', url: 'https://example.com/a', title: 'A' },
      { toolCallId: 'i', providerExecuted: true, state: 'output-available', output: null },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgoAAAA' },
      { toolCallId: 'e', providerExecuted: true, state: 'output-error', errorText: '"no"' },
      { toolCallId: 'c', providerExecuted: true, state: 'output-available', output: null },
    ])
    expect(parts).toHaveLength(7)
  })

  test('has the images of a result as files, and their data only there', async () => {
    const image = { type: 'image', data: 'AAAA', mediaType: 'image/png' } as const
    const linked = { type: 'image', url: 'https://example.com/b.png' } as const
    const output = [{ type: 'text', text: 'Two.' }, image, linked] as const
    const parts = await partsFrom(...said(call('a'), roundEnds(1), result('a', { output }), ends()))
    expect(parts?.slice(1)).toMatchObject([
      { output: [{ type: 'text', text: 'Two.' }, { type: 'image', mediaType: 'image/png' }, linked] },
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' },
      { type: 'file', mediaType: 'image', url: 'https://example.com/b.png' },
    ])
    expect(toolOutput('a', [])).toEqual({ output: null, files: [] })
  })

  test('says how it ended', () => {
    const last = (...events: ThreadEvent[]) => chunksOf(entriesOf(said(text('a'), ...events))).slice(-2)
    const end = (
      outcome: Extract<ThreadEvent, { type: 'run-end' }>['outcome'],
      more: Partial<Extract<ThreadEvent, { type: 'run-end' }>> = {},
    ): ThreadEvent => ({ ...(ends() as Extract<ThreadEvent, { type: 'run-end' }>), outcome, ...more })
    const error = {
      op: 'agent.run',
      code: 'llm_error',
      message: 'the model failed',
      retryable: false,
    } as const
    const finish = (finishReason: string) => ({ type: 'finish', finishReason, messageMetadata: usage })
    expect(last(end('completed'))[1]).toEqual(finish('stop'))
    expect(last(end('completed', { finish: 'refusal' }))[1]).toEqual(finish('content-filter'))
    expect(last(end('truncated', { finish: 'length' }))[1]).toEqual(finish('length'))
    for (const outcome of ['max-rounds', 'budget'] as const)
      expect(last(end(outcome, { finish: 'tool-calls' }))[1]).toEqual(finish('other'))
    expect(last(end('canceled', { error: { ...error, message: 'stopped by the user' } }))).toEqual([
      { type: 'abort', reason: 'stopped by the user' },
      finish('interrupted'),
    ])
    expect(last(end('failed', { error }))).toEqual([
      { type: 'text-end', id: '4' },
      { type: 'error', errorText: 'the model failed' },
    ])
    // Nothing more comes, although the run has not ended.
    expect(last()[1]).toEqual({ ...finish('interrupted'), messageMetadata: expect.anything() })
  })

  test('skips the agent’s own corrections, summaries and other answers', async () => {
    const events: ThreadEvent[] = [
      ...said(text('One.'), input('Two?'), roundEnds(1), ends()),
      starts({ runId: 'run_2', inputs: [5] }),
      round(1),
      { type: 'input', message: { role: 'user', content: 'Shorter.' }, mode: 'correct' },
      { type: 'summary', replaces: 1, message: { role: 'user', content: 'Summary.' } },
      text('Two.'),
      roundEnds(1),
      ends(),
    ]
    const message = await messageOf(chunksOf(entriesOf(events), { answers: 5, head: 5 }))
    expect(message).toMatchObject({
      id: 'run_2',
      parts: [{ type: 'step-start' }, { type: 'text', text: 'Two.' }],
    })
    expect(message?.parts).toHaveLength(2)
  })

  test('is empty for an input that no run answers, or that steers the run of another answer', async () => {
    const steered = said(input('Left!', 'steer'), roundEnds(1), round(2, [4]), text('Left.'), ends())
    for (const events of [steered, said(input('Left!'), { type: 'stop', reason: 'enough' }, ends())]) {
      const chunks = chunksOf(entriesOf(events), { answers: 4, head: 4 })
      expect(chunks).toEqual([{ type: 'finish', finishReason: 'interrupted' }])
      expect(await messageOf(chunks)).toBeUndefined()
    }
  })
})

describe('an approval', () => {
  const asked = said(call('a'), asks('a', { reason: 'it costs' }), roundEnds(1), ends('suspended'))

  test('is asked, and the message ends there', async () => {
    expect(chunksOf(entriesOf(asked)).slice(-3)).toEqual([
      { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'a', reason: 'it costs' },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'tool-calls', messageMetadata: usage },
    ])
    expect((await partsFrom(...asked))?.[1]).toMatchObject({
      state: 'approval-requested',
      approval: { id: 'a', requestReason: 'it costs' },
    })
  })

  test.each([
    [true, result('a'), { state: 'output-available', output: 'seen', approval: { approved: true } }],
    [
      false,
      result('a', { status: 'denied', isError: true }),
      { state: 'output-denied', approval: { approved: false } },
    ],
  ])('that is answered with %s continues the same message', async (approved, resulting, part) => {
    const resumed: ThreadEvent[] = [
      ...asked,
      decides('a', approved),
      starts({ runId: 'run_2', resumes: 'run_1' }),
      resulting,
      round(2),
      text('Done.'),
      roundEnds(2),
      ends(),
    ]
    const entries = entriesOf(resumed)
    const whole = await messageOf(chunksOf(entries))
    expect(whole).toMatchObject({
      id: 'run_1',
      parts: [{ type: 'step-start' }, part, { type: 'step-start' }, { type: 'text', text: 'Done.' }],
    })
    // A client that has the first part gets the rest.
    const first = await messageOf(chunksOf(entriesOf(asked)))
    const rest = chunksOf(entries, { head: entries.length, continueAfter: 5 })
    expect(rest.slice(0, 2)).toEqual([
      { type: 'start', messageId: 'run_1' },
      { type: 'tool-approval-response', approvalId: 'a', approved },
    ])
    expect(await messageOf(rest, first)).toEqual(whole)
  })

  test.each([
    [true, { state: 'output-available', output: { usd: 2 }, approval: { approved: true } }],
    [false, { state: 'output-denied', approval: { approved: false } }],
  ])('of a budget is a call without a tool, settled by the answer %s', async (approved, part) => {
    const question: ThreadEvent = {
      type: 'approval-request',
      callId: 'budget_1',
      name: 'budget',
      input: { usd: 2 },
      reason: 'The budget is spent.',
      budget: { scope: 'run', kind: 'usd', limit: 2, spent: 2.01 },
    }
    const asked = said(text('Well.'), roundEnds(1), question, ends('suspended'))
    const call = { type: 'dynamic-tool', toolCallId: 'budget_1', toolName: 'budget', input: { usd: 2 } }
    expect((await partsFrom(...asked))?.[2]).toMatchObject({
      ...call,
      state: 'approval-requested',
      approval: { id: 'budget_1', requestReason: 'The budget is spent.' },
    })
    const resumed = [...asked, decides('budget_1', approved), starts({ runId: 'run_2', resumes: 'run_1' })]
    const entries = entriesOf([...resumed, ends()])
    expect((await messageOf(chunksOf(entries)))?.parts[2]).toMatchObject({ ...call, ...part })
  })

  test('inside a sub-agent is asked for the outer call, one after the other', async () => {
    const events: ThreadEvent[] = [
      ...said(call('a')),
      inside({ type: 'text', text: 'I will look around and then look again, twice.' }),
      asks('a/x'),
      asks('a/y'),
      inside({ type: 'text', text: 'And while you decide, I tell you a long story about it.' }),
      roundEnds(1),
      ends('suspended'),
    ]
    const first = await messageFrom(...events)
    expect(typesFrom(...events).filter((type) => type === 'tool-approval-request')).toHaveLength(1)
    expect(first?.parts[1]).toMatchObject({
      toolCallId: 'a',
      state: 'approval-requested',
      approval: { id: 'a/x', descriptor: { toolName: 'look', input: { id: 2 } } },
    })
    const resumed: ThreadEvent[] = [
      ...events,
      decides('a/x', true),
      starts({ runId: 'run_2', resumes: 'run_1' }),
      asks('a/y'),
      ends('suspended'),
    ]
    const rest = chunksOf(entriesOf(resumed), { head: resumed.length, continueAfter: 6 })
    expect(rest.slice(1, 3)).toMatchObject([
      { type: 'tool-approval-response', approvalId: 'a/x', approved: true },
      { type: 'tool-approval-request', approvalId: 'a/y', toolCallId: 'a' },
    ])
    expect(rest.map(({ type }) => type)).toEqual([
      ...['start', 'tool-approval-response', 'tool-approval-request', 'finish-step', 'finish'],
    ])
    expect((await messageOf(rest, first))?.parts[1]).toMatchObject({ approval: { id: 'a/y' } })
  })
})

describe('a tool that the client runs', () => {
  const wanted = said(
    call('a'),
    { type: 'tool-start', callId: 'a', name: 'look', attempt: 1 },
    asks('a', { wants: 'result' }),
    roundEnds(1),
    ends('suspended'),
  )

  test('has its input, and the message ends', async () => {
    expect(typesFrom(...wanted)).toEqual([
      ...['start', 'start-step', 'tool-input-available', 'finish-step', 'finish'],
    ])
  })

  test('is offered again once it was approved', async () => {
    const approved: ThreadEvent[] = [
      ...said(call('a'), asks('a'), roundEnds(1), ends('suspended')),
      decides('a', true),
      starts({ runId: 'run_2', resumes: 'run_1' }),
      asks('a', { wants: 'result' }),
      ends('suspended'),
    ]
    expect((await partsFrom(...approved))?.[1]).toMatchObject({ state: 'input-available', toolCallId: 'a' })
  })

  test('of a sub-agent is offered once, although the sub-agent asks again', () => {
    const asked = said(call('a'), asks('a/x', { wants: 'result' }), asks('a/y'), ends('suspended'))
    const resumed: ThreadEvent[] = [
      ...asked,
      decides('a/y', true),
      starts({ runId: 'run_2', resumes: 'run_1' }),
      asks('a/x', { wants: 'result' }),
      ends('suspended'),
    ]
    expect(typesFrom(...resumed).filter((type) => type === 'tool-input-available')).toHaveLength(2)
  })

  test('of a sub-agent is a call of its own', async () => {
    const inner: ThreadEvent[] = [
      ...said(call('a'), asks('a/x', { wants: 'result' }), roundEnds(1), ends('suspended')),
      { type: 'approval', callId: 'a/x', approved: true, output: [{ type: 'text', text: 'Bern' }] },
      starts({ runId: 'run_2', resumes: 'run_1' }),
      result('a'),
      ends(),
    ]
    expect(await partsFrom(...inner)).toMatchObject([
      { type: 'step-start' },
      { toolCallId: 'a', state: 'output-available' },
      { toolCallId: 'a/x', toolName: 'look', state: 'output-available', input: { id: 2 }, output: 'Bern' },
    ])
  })

  test('that another client denies has an error, since this one was not asked', async () => {
    const denied = await partsFrom(
      ...wanted,
      decides('a', false),
      starts({ runId: 'run_2', resumes: 'run_1' }),
      result('a', { status: 'denied', isError: true, output: [{ type: 'text', text: 'private' }] }),
      ends(),
    )
    expect(denied?.[1]).toMatchObject({ state: 'output-error', errorText: 'private' })
  })
})

test('the text of a sub-agent is sent as preliminary output, in proportion to its length', async () => {
  const piece = 'Twelve chars'
  const pieces = 2000
  const events = said(
    call('a'),
    ...Array.from({ length: pieces }, () => inside({ type: 'text', text: piece })),
    inside({ type: 'round-end', round: 1, model: 'm', finish: 'stop' }),
  )
  const outputs = chunksOf(entriesOf(events)).flatMap((chunk) =>
    chunk.type === 'tool-output-available' ? [String(chunk.output)] : [],
  )
  expect(outputs.length).toBeGreaterThan(10)
  expect(outputs.every((output, at) => output.startsWith(outputs[at - 1] ?? ''))).toBe(true)
  expect(outputs.join('').length).toBeLessThan(6 * pieces * piece.length)
})

test('joined deltas give the same message', async () => {
  const apart = said(text('One '), text('two '), text('three.'), roundEnds(1), ends())
  const joined = entriesOf(apart)
    .filter((_, index) => index !== 3 && index !== 4)
    .map((entry) =>
      entry.seq === 6 ? { ...entry, from: 4, event: text('One two three.') as ThreadEvent } : entry,
    )
  expect(await messageOf(chunksOf(joined))).toEqual(await messageFrom(...apart))
})

test('as server-sent events, each chunk is one line of JSON', () => {
  expect(sseOfChunks([{ type: 'start-step' }, { type: 'text-delta', id: '1', delta: 'a\n"b' }])).toBe(
    'data: {"type":"start-step"}\n\ndata: {"type":"text-delta","id":"1","delta":"a\\n\\"b"}\n\n',
  )
})
