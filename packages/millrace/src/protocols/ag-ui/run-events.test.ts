import type { Message } from '@ag-ui/client'
import { HttpAgent } from '@ag-ui/client'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { joinEntries } from '../../log/entries.ts'
import { logOf, randomSteps } from '../../log/random-log.test-kit.ts'
import type { Entry, RunEvent, ThreadEvent } from '../../protocol/index.ts'
import { call, ends, fold, input, round, roundEnds, starts, text } from '../../view/fold.test-kit.ts'
import { conversation, expectValid } from './ag-ui.test-kit.ts'
import type { AgUiEvent, RunEventsOptions } from './run-events.ts'
import { runEvents, sseOf } from './run-events.ts'

function eventsOf(entries: readonly Entry[], options: Partial<RunEventsOptions> = {}): AgUiEvent[] {
  const ids = { threadId: 't', runId: 'r', isCurrent: true, posted: [], state: undefined }
  const run = runEvents({ ...ids, answers: 1, head: entries.length, ...options })
  const events = [...run.start()]
  for (const entry of entries) {
    events.push(...run.applyEntry(entry))
    if (run.isDone) break
  }
  return [...events, ...run.end()]
}

/** The client after these events. It rejects those that are not valid, or not in a valid order. */
async function clientAfter(events: readonly AgUiEvent[], initialMessages: Message[] = []) {
  expectValid(events)
  const headers = { 'content-type': 'text/event-stream' }
  const fetch = async () => new Response(sseOf(events), { headers })
  const agent = new HttpAgent({ url: 'http://localhost', fetch, initialMessages })
  await agent.runAgent()
  return agent
}

describe('any log', () => {
  test('is a valid run, from any place, however its deltas are joined', async () => {
    await fc.assert(
      fc.asyncProperty(randomSteps.map(logOf), fc.nat(300), async (entries, place) => {
        const head = place % (entries.length + 1)
        const inputs = entries.filter(({ event }) => event.type === 'input' || event.type === 'rewind')
        const answers = inputs[place % inputs.length]?.seq
        for (const option of [
          { answers, head },
          { answers, head: entries.length, continueAfter: head },
          { isAttached: true, head },
          { isAttached: true, head, isCurrent: false },
        ]) {
          await clientAfter(eventsOf(entries, option))
          await clientAfter(eventsOf(joinEntries(entries), option))
        }
      }),
      { numRuns: sized(100), endOnFailure: true },
    )
  })

  test('shows the same conversation to a client that was there from the start, and to one that came later', async () => {
    const textsOf = ({ messages }: HttpAgent) =>
      messages
        .flatMap(({ id, role, content }) => (content && role !== 'tool' ? [`${id} ${role}: ${content}`] : []))
        .sort()
    await fc.assert(
      fc.asyncProperty(randomSteps.map(logOf), fc.nat(300), async (entries, place) => {
        // What a run does that was rewound shows when it has ended.
        const { rows, open } = fold(entries)
        fc.pre(open.rows === rows)
        const early = await clientAfter(
          eventsOf(entries, { isAttached: true, head: place % (entries.length + 1) }),
        )
        const late = await clientAfter(eventsOf(entries, { isAttached: true }))
        expect(textsOf(early)).toEqual(textsOf(late))
      }),
      { numRuns: sized(200), endOnFailure: true },
    )
  })
})

const hi = { id: 'u1', role: 'user', content: 'Hi.' } as const

/** The log of an answer to one message. */
const answer = (...events: ThreadEvent[]): Entry[] =>
  [input('Hi.'), starts({ inputs: [1] }), round(1), ...events].map((event, index) => ({
    ...{ seq: index + 1, at: 1000 },
    event: index === 0 ? { ...event, request: { metadata: { agUi: { messageId: 'u1' } } } } : event,
  }))

const said = (...events: ThreadEvent[]) => eventsOf(answer(...events), { posted: [hi] })
const inside = (event: RunEvent, callId = 'a'): ThreadEvent => ({ type: 'tool-progress', callId, event })
const innerRun = { ...starts({ runId: 'run_2' }), agent: 'inner' } as RunEvent
const result = (callId: string, more: object = {}) =>
  ({
    ...{ type: 'tool-result', callId, name: 'look', output: [{ type: 'text', text: 'seen' }] },
    ...{ status: 'ok', isError: false, ms: 1, overlapMs: 0, ...more },
  }) as RunEvent
const typesOf = (events: readonly AgUiEvent[]) => events.map(({ type }) => type)

describe('an answer', () => {
  test('has ids that are the same in every stream', () => {
    expect(
      said(
        text('Hello'),
        { type: 'tool-input-start', callId: 'a', name: 'look' },
        { type: 'tool-input', callId: 'a', delta: '{"id"' },
        { type: 'tool-input', callId: 'a', delta: ':1}' },
        call('a'),
        result('a'),
        ends(),
      ).slice(1, -1),
    ).toEqual([
      { type: 'TEXT_MESSAGE_START', messageId: 'run_1-4', role: 'assistant' },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'run_1-4', delta: 'Hello' },
      { type: 'TEXT_MESSAGE_END', messageId: 'run_1-4' },
      { type: 'TOOL_CALL_START', toolCallId: 'a', toolCallName: 'look', parentMessageId: 'run_1-4' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'a', delta: '{"id"' },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'a', delta: ':1}' },
      { type: 'TOOL_CALL_END', toolCallId: 'a' },
      {
        ...{ type: 'TOOL_CALL_RESULT', messageId: 'run_1-5-result', toolCallId: 'a' },
        ...{ content: 'seen', role: 'tool' },
      },
    ])
  })

  test('has one message for calls without text, and closes those that never finish', async () => {
    const unfinished = { type: 'tool-input-start', callId: 'b', name: 'look' } as const
    const { messages } = await clientAfter(said(call('a'), unfinished, roundEnds(1), result('a'), ends()))
    expect(conversation({ messages })).toEqual([
      'assistant:  look({"id":1}) look()',
      'tool: seen',
      // A client would take it for one that it has to run.
      'tool: The call never ran.',
    ])
  })

  test('has the tools of the provider, with or without an output', async () => {
    const search = { type: 'provider-tool', name: 'search' } as const
    const events = said(
      { ...search, callId: 'a' },
      { ...search, callId: 'a', input: { q: 'mill' } },
      { ...search, callId: 'a', output: [{ title: 'A mill' }] },
      { ...search, callId: 'b' },
      { ...search, callId: 'c', isError: true },
      roundEnds(1),
      ends(),
    )
    const { messages } = await clientAfter(events)
    expect(conversation({ messages })).toEqual([
      'assistant:  search({"q":"mill"}) search({}) search({})',
      'tool: [{"title":"A mill"}]',
      'tool: null',
      'tool: null',
    ])
  })

  test('that is retracted is removed, and everything else stays', async () => {
    const events = said(
      text('One.'),
      call('a'),
      roundEnds(1),
      result('a'),
      round(2),
      { type: 'reasoning', text: 'Hm' },
      text('Tw'),
      { type: 'round-retract', round: 2, reason: 'it broke' },
      round(2),
      text('Two.'),
      roundEnds(2),
      ends(),
    )
    expect(typesOf(events).filter((type) => /SNAPSHOT|_END/.test(type))).toEqual([
      ...['TEXT_MESSAGE_END', 'TOOL_CALL_END', 'REASONING_MESSAGE_END', 'REASONING_END'],
      ...['TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'TEXT_MESSAGE_END'],
    ])
    const { messages } = await clientAfter(events, [hi])
    expect(conversation({ messages })).toEqual([
      'user: Hi.',
      'assistant: One. look({"id":1})',
      'tool: seen',
      // A client keeps its reasoning if a snapshot has none.
      'reasoning: ',
      'assistant: Two.',
    ])
  })

  test('shows the messages that steer it, but not those that the client has sent', async () => {
    const events = said(
      text('One.'),
      roundEnds(1),
      input('And?', 'steer'),
      round(2, [6]),
      text('Two.'),
      ends(),
    )
    const { messages } = await clientAfter(events, [hi])
    expect(conversation({ messages })).toEqual([
      'user: Hi.',
      'assistant: One.',
      'user: And?',
      'assistant: Two.',
    ])
    // The request that has sent it is complete: the other one shows the answer.
    expect(
      typesOf(eventsOf(answer(roundEnds(1), input('And?', 'steer'), round(2, [5])), { answers: 5 })),
    ).toEqual(['RUN_STARTED', 'RUN_FINISHED'])
  })

  test('names its sub-agents, and what they say', () => {
    const agent = { subagentRunId: 'run_2' }
    expect(
      said(
        call('a'),
        inside(innerRun),
        inside(round(1) as RunEvent),
        inside(text('In') as RunEvent),
        inside(call('x') as RunEvent),
        inside(result('x')),
        inside(ends() as RunEvent),
        result('a'),
        ends(),
      ).slice(4, -2),
    ).toEqual([
      { type: 'SUBAGENT_STARTED', ...agent, name: 'inner', parentToolCallId: 'a' },
      { type: 'TEXT_MESSAGE_START', messageId: 'run_2-inner-7', role: 'assistant', ...agent },
      { type: 'TEXT_MESSAGE_CONTENT', messageId: 'run_2-inner-7', delta: 'In', ...agent },
      { type: 'TEXT_MESSAGE_END', messageId: 'run_2-inner-7', ...agent },
      {
        ...{ type: 'TOOL_CALL_START', toolCallId: 'a/x', toolCallName: 'look' },
        ...{ parentMessageId: 'run_2-inner-7', ...agent },
      },
      { type: 'TOOL_CALL_ARGS', toolCallId: 'a/x', delta: '{"id":1}', ...agent },
      { type: 'TOOL_CALL_END', toolCallId: 'a/x', ...agent },
      {
        ...{ type: 'TOOL_CALL_RESULT', messageId: 'run_2-inner-8-result', toolCallId: 'a/x' },
        ...{ content: 'seen', role: 'tool', ...agent },
      },
      { type: 'SUBAGENT_FINISHED', ...agent, outcome: { type: 'success' } },
    ])
  })

  test('says why a sub-agent ended early, also one inside another', () => {
    const started = [call('a'), inside(innerRun), inside(call('b') as RunEvent)]
    const nested = { type: 'tool-progress', callId: 'b', event: { ...innerRun, runId: 'run_3' } } as RunEvent
    const ended = (...events: ThreadEvent[]) =>
      said(...started, inside(nested), ...events).filter(({ type }) => /^SUBAGENT/.test(type))
    const [outer, inner] = ended(ends())
    expect(outer).toMatchObject({ subagentRunId: 'run_2', parentToolCallId: 'a' })
    expect(inner).toMatchObject({
      subagentRunId: 'run_3',
      parentToolCallId: 'a/b',
      parentSubagentRunId: 'run_2',
    })
    const error = { type: 'SUBAGENT_ERROR', code: 'canceled' }
    for (const [end, message] of [
      [result('a', { status: 'timeout' }), 'the call has ended'],
      [ends('canceled'), 'the run has ended'],
    ] as const)
      expect(ended(end).slice(2)).toEqual([
        { ...error, subagentRunId: 'run_3', message },
        { ...error, subagentRunId: 'run_2', message },
      ])
    const failed = { type: 'run-end', outcome: 'failed', error: { code: 'llm_error', message: 'broken' } }
    expect(ended(inside(failed as RunEvent)).at(2)).toEqual({
      ...{ type: 'SUBAGENT_ERROR', subagentRunId: 'run_2' },
      ...{ message: 'broken', code: 'llm_error' },
    })
  })

  test('of a message that is stopped before a run reads it was canceled', () => {
    const entries = [input('Hi.'), { type: 'stop', reason: 'no' } as const].map((event, index) => ({
      ...{ seq: index + 1, at: 1 },
      event,
    }))
    expect(eventsOf(entries).at(-1)).toMatchObject({ outcome: { type: 'cancelled' } })
    expect(eventsOf(entries, { isCurrent: false }).at(-1)).toEqual({
      ...{ type: 'RUN_ERROR', code: 'canceled', message: 'the run was canceled' },
    })
  })
})
