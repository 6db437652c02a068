import type { Entry, ThreadEvent } from 'millrace'
import { noUsage } from 'millrace'
import { describe, expect, test } from 'vitest'
import { remoteTask } from '../a2a/remote-task.ts'
import type { StreamResponse } from '../a2a/wire.ts'
import { taskFold } from './task-fold.ts'

const input = (content: string, metadata?: object): ThreadEvent => ({
  type: 'input',
  message: { role: 'user', content },
  mode: 'queue',
  ...(metadata && { request: { metadata: { a2a: metadata as never } } }),
})
const starts = (inputs: number[], more: object = {}): ThreadEvent => ({
  ...{ type: 'run-start', version: 2, runId: `run_${inputs[0]}`, agent: 'a', input: [], inputs },
  ...more,
})
const round = (number: number, inputs?: number[]): ThreadEvent => ({
  type: 'round-start',
  round: number,
  model: 'm',
  ...(inputs && { inputs }),
})
const text = (words: string): ThreadEvent => ({ type: 'text', text: words })
const retract: ThreadEvent = { type: 'round-retract', round: 1, reason: 'the stream broke' }
const roundEnd = (finish: 'stop' | 'tool-calls' = 'stop'): ThreadEvent => ({
  ...{ type: 'round-end', round: 1, model: 'm', finish },
})
const ends = (
  outcome: 'completed' | 'failed' | 'canceled' | 'suspended' | 'max-rounds',
  more: object = {},
): ThreadEvent => ({
  ...{ type: 'run-end', outcome, usage: noUsage },
  ...more,
})
const call: readonly ThreadEvent[] = [
  { type: 'tool-call', callId: 'c1', name: 'pay', input: { usd: 5 } },
  roundEnd('tool-calls'),
]
const asks: ThreadEvent = { type: 'approval-request', callId: 'c1', name: 'pay', input: { usd: 5 } }
const stop: ThreadEvent = { type: 'stop', reason: 'enough' }

const entriesOf = (events: readonly ThreadEvent[]): Entry[] =>
  events.map((event, index) => ({ seq: index + 1, at: 1000 + index, event }))

/**
 * Folds a log. A client that got the task at any point and the rest as a stream must have the same
 * text and state as one that gets it at the end.
 */
function folded(events: readonly ThreadEvent[], number = 1) {
  const entries = entriesOf(events).filter(({ seq }) => seq >= number)
  const make = () => taskFold({ id: 't', contextId: 'c', input: number })
  const whole = make()
  const updates: StreamResponse[] = entries.flatMap((entry) => [...whole.applyEntry(entry)])
  const task = whole.task()
  for (let at = 0; at <= entries.length; at++) {
    const fold = make()
    for (const entry of entries.slice(0, at)) fold.applyEntry(entry)
    const client = remoteTask()
    client.apply({ task: fold.task() })
    for (const entry of entries.slice(at)) for (const update of fold.applyEntry(entry)) client.apply(update)
    const reader = remoteTask()
    reader.apply({ task })
    expect({ at, text: client.text(), state: client.status?.state }).toEqual({
      at,
      text: reader.text(),
      state: task.status.state,
    })
  }
  return {
    task,
    updates,
    texts: task.artifacts?.flatMap(({ parts }) => parts.map((part) => part.text)) ?? [],
  }
}

describe('text', () => {
  test('is one artifact with a part for each round', () => {
    const { texts } = folded([
      input('Hi'),
      starts([1]),
      ...[round(1), text('One '), text('moment. '), ...call],
      ...[round(2), text('Done.'), roundEnd(), ends('completed')],
    ])
    expect(texts).toEqual(['One moment. ', 'Done.'])
  })

  test('that was retracted is replaced', () => {
    const { texts, updates } = folded([
      input('Hi'),
      starts([1]),
      ...[round(1), text('Kept. '), ...call, round(2), text('Wrong'), retract],
      ...[round(2), text('Right'), roundEnd(), ends('completed')],
    ])
    expect(texts).toEqual(['Kept. ', 'Right'])
    expect(updates).toContainEqual({
      artifactUpdate: expect.objectContaining({
        append: false,
        artifact: { artifactId: 'answer', name: 'answer', parts: [{ text: 'Kept. ' }] },
      }),
    })
  })

  test('is empty if all of it was retracted', () => {
    const { texts } = folded([input('Hi'), starts([1]), round(1), text('Wrong'), retract, ends('failed')])
    expect(texts).toEqual([])
  })

  test('of reasoning is not sent', () => {
    const reasoning: ThreadEvent = { type: 'reasoning', text: 'Hm' }
    expect(
      folded([input('Hi'), starts([1]), round(1), reasoning, text('A'), ends('completed')]).texts,
    ).toEqual(['A'])
  })
})

describe('the state', () => {
  test.each<[string, ThreadEvent, string, string | undefined]>([
    ['completed', ends('completed'), 'COMPLETED', undefined],
    ['failed', ends('failed', { error: { message: 'no money' } }), 'FAILED', 'The agent failed: no money'],
    ['canceled', ends('canceled'), 'CANCELED', 'This task was canceled'],
    ['max-rounds', ends('max-rounds'), 'FAILED', 'The agent used all its rounds before it had an answer.'],
  ])('of a run that ends as %s', (_, end, state, words) => {
    const { task } = folded([input('Hi'), starts([1]), round(1), text('A'), roundEnd(), end])
    expect(task.status.state).toBe(`TASK_STATE_${state}`)
    expect(task.status.message?.parts[0]?.text).toBe(words)
  })

  test('of a run that waits, is decided and continues', () => {
    const waits = [input('Hi'), starts([1]), round(1), ...call, asks, ends('suspended')]
    expect(folded(waits).task.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        parts: [{}, { data: { type: 'approval-request', callId: 'c1', name: 'pay', input: { usd: 5 } } }],
      },
    })
    const decided: ThreadEvent[] = [...waits, { type: 'approval', callId: 'c1', approved: true }]
    expect(folded(decided).task.status.state).toBe('TASK_STATE_WORKING')
    const continued = [
      ...decided,
      starts([], { runId: 'run_2', resumes: 'run_1', inputs: undefined }),
      round(2),
      text('Paid'),
    ]
    expect(folded(continued)).toMatchObject({
      task: { status: { state: 'TASK_STATE_WORKING' } },
      texts: ['Paid'],
    })
  })

  test('of a message that waits behind another run, and is read by its own', () => {
    const queued = [input('First'), starts([1]), round(1), input('Second')]
    expect(folded(queued, 4).task.status.state).toBe('TASK_STATE_SUBMITTED')
    const answered = [
      ...[...queued, text('To the first'), roundEnd(), ends('completed')],
      ...[starts([4]), round(1), text('To the second'), roundEnd(), ends('completed')],
    ]
    expect(folded(answered, 4)).toMatchObject({
      texts: ['To the second'],
      task: { status: { state: 'TASK_STATE_COMPLETED' } },
    })
    expect(folded(answered).texts).toEqual(['To the first'])
  })

  test('of a message that was stopped or taken back before a run read it', () => {
    const queued = [input('First'), starts([1]), round(1), input('Second')]
    expect(folded([...queued, stop], 4).task.status.state).toBe('TASK_STATE_CANCELED')
    expect(folded([...queued, { type: 'rewind', before: 4 }], 4).task.status.state).toBe(
      'TASK_STATE_CANCELED',
    )
  })

  test('never changes after the end, even if the message is answered again', () => {
    const ended = [input('Hi'), starts([1]), round(1), text('A'), roundEnd(), ends('completed')]
    const again: ThreadEvent[] = [
      { type: 'rewind', before: 2, keep: 1, answer: true },
      starts([1, 7]),
      round(1),
      text('B'),
    ]
    expect(folded([...ended, ...again]).texts).toEqual(['A'])
  })
})

test('the history has the messages of the user and the calls, with stable ids', () => {
  const { task } = folded([
    input('Hi', { messageId: 'mine' }),
    starts([1]),
    ...[round(1), ...call],
    { type: 'tool-start', callId: 'c1', name: 'pay', attempt: 1 },
    {
      ...{
        type: 'tool-result',
        callId: 'c1',
        name: 'pay',
        status: 'ok',
        isError: false,
        ms: 1,
        overlapMs: 0,
      },
      output: [{ type: 'text', text: 'paid' }],
    },
    { ...(input('Faster') as Extract<ThreadEvent, { type: 'input' }>), mode: 'steer' },
    round(2, [8]),
  ])
  expect(task.history?.map(({ messageId, role, parts }) => [messageId, role, parts])).toEqual([
    ['mine', 'ROLE_USER', [{ text: 'Hi' }]],
    ['t-6', 'ROLE_AGENT', [{ data: { type: 'tool-call', callId: 'c1', name: 'pay', input: { usd: 5 } } }]],
    [
      't-7',
      'ROLE_AGENT',
      [
        { data: { type: 'tool-result', callId: 'c1', name: 'pay', status: 'ok', isError: false } },
        { text: 'paid' },
      ],
    ],
    ['t-8', 'ROLE_USER', [{ text: 'Faster' }]],
  ])
})
