import { noUsage as usage } from 'millrace'
import type { ThreadEvent } from 'millrace/client'
import { applyEntry, createView, type LogView } from 'millrace/view'
import { describe, expect, test } from 'vitest'
import { messageList } from './message-list.ts'
import type { Answer, AnswerCall, AnswerText, ThreadMessage } from './messages.ts'

const input = (text: string, mode: 'queue' | 'steer' = 'queue') =>
  ({ type: 'input', message: { role: 'user', content: text }, mode }) as const
const runStart = (runId: string, inputs: readonly number[]) =>
  ({ type: 'run-start', version: 2, runId, agent: 'desk', input: [], inputs }) as const
const roundStart = (round = 1, inputs?: readonly number[]) =>
  ({ type: 'round-start', round, model: 'm', ...(inputs && { inputs }) }) as const
const text = (text: string) => ({ type: 'text', text }) as const
const runEnd: ThreadEvent = { type: 'run-end', outcome: 'completed', usage }

/** A view that grows, and its messages. */
function conversation(...events: ThreadEvent[]) {
  const view: LogView = createView()
  const list = messageList(view)
  const add = (...more: ThreadEvent[]) => {
    for (const event of more) {
      const { rewound } = applyEntry(view, { seq: view.head + 1, at: 1, event })
      if (rewound || event.type === 'playback') list.reset()
    }
    return list.read()
  }
  add(...events)
  return { add, view, list }
}

const answered = (name: string, at: number): ThreadEvent[] => [
  input(`Question ${name}`),
  runStart(name, [at]),
  roundStart(),
  text(`Answer ${name}`),
  { type: 'round-end', round: 1, model: 'm', finish: 'stop' },
  runEnd,
]

/** A short form of messages, for comparison. */
const shortForm = (messages: readonly ThreadMessage[]) =>
  messages.map((message) =>
    message.role === 'user'
      ? `user ${message.status}: ${message.text}`
      : `${message.status}: ${message.parts.map((part) => (part.kind === 'call' ? part.name : part.text)).join(' | ')}`,
  )

describe('the messages of a thread', () => {
  test('are the inputs and what the agent generated after each', () => {
    const { add } = conversation(...answered('1', 1))
    expect(shortForm(add(input('More')))).toEqual([
      'user read: Question 1',
      'completed: Answer 1',
      'user queued: More',
    ])
    expect(shortForm(add(runStart('2', [7]), roundStart(), text('Well')))).toEqual([
      'user read: Question 1',
      'completed: Answer 1',
      'user read: More',
      'running: Well',
    ])
  })

  test('show a message that steers a run between the parts of its answer', () => {
    const { add } = conversation(input('Go'), runStart('1', [1]), roundStart(), text('First'))
    const messages = add(
      input('Faster', 'steer'),
      { type: 'round-end', round: 1, model: 'm', finish: 'tool-calls' },
      roundStart(2, [5]),
      text('Second'),
    )
    expect(shortForm(messages)).toEqual([
      'user read: Go',
      'completed: First',
      'user read: Faster',
      'running: Second',
    ])
    expect((messages[1] as Answer).seq).toBe((messages[3] as Answer).seq)
  })

  test('have the error of a run that failed without a word', () => {
    const error = { op: 'model', code: 'auth', message: 'wrong key', retryable: false } as const
    const { add } = conversation(input('Hi'), runStart('1', [1]))
    const [, answer] = add({ type: 'run-end', outcome: 'failed', usage, error })
    expect(answer).toMatchObject({ role: 'assistant', status: 'failed', parts: [], error, seq: 2 })
  })

  test('keep their keys when a round is retracted', () => {
    const { add } = conversation(input('Hi'), runStart('1', [1]), roundStart())
    const before = add(text('Wrong')).map(({ key }) => key)
    const after = add({ type: 'round-retract', round: 1, reason: 'cut' }, text('Right'))
    expect(after.map(({ key }) => key)).toEqual(before)
    expect((after[1] as Answer).parts.map(({ kind }) => kind)).toEqual(['notice', 'text'])
  })
})

describe('objects', () => {
  test('are the same until their content changes', () => {
    const { add } = conversation(...answered('1', 1), ...answered('2', 7), input('More'))
    const before = add(
      runStart('3', [13]),
      roundStart(),
      text('Let me look.'),
      { type: 'tool-input-start', callId: 'c1', name: 'look' },
      { type: 'tool-call', callId: 'c1', name: 'look', input: {} },
      text('A'),
    )
    const after = add(text('B'))
    expect(after).toHaveLength(6)
    expect(after.slice(0, 5)).toEqual(before.slice(0, 5))
    for (const [index, message] of after.entries())
      expect(message === before[index], `message ${index}`).toBe(index < 5)
    const parts = (after[5] as Answer).parts
    const partsBefore = (before[5] as Answer).parts
    expect(parts.map((part, index) => part === partsBefore[index])).toEqual([true, true, false])
    expect((parts[2] as AnswerText).text).toBe('AB')
    // What was read before is not changed in place.
    expect((partsBefore[2] as AnswerText).text).toBe('A')
  })

  test('are all the same if nothing changed', () => {
    const { add, list } = conversation(...answered('1', 1), ...answered('2', 7))
    const before = add()
    list.reset()
    const after = add()
    expect(after.every((message, index) => message === before[index])).toBe(true)
  })

  test('of an interrupted speech say how much of it was played', () => {
    const { add } = conversation(...answered('1', 1))
    const [, answer] = add({ type: 'playback', run: '1', round: 1, chars: 3 }) as [unknown, Answer]
    expect(answer.parts[0]).toMatchObject({ text: 'Answer 1', played: 3 })
  })
})

describe('a call', () => {
  const start: ThreadEvent[] = [
    input('Hi'),
    runStart('1', [1]),
    roundStart(),
    { type: 'tool-input-start', callId: 'c1', name: 'write' },
  ]
  const callIn = (messages: readonly ThreadMessage[]) => (messages.at(-1) as Answer).parts[0] as AnswerCall
  const delta = (delta: string): ThreadEvent => ({ type: 'tool-input', callId: 'c1', delta })

  test('has its input as far as it has arrived, and earlier snapshots keep theirs', () => {
    const { add } = conversation(...start)
    expect(callIn(add())).toMatchObject({ state: 'writing', input: undefined })
    const first = callIn(add(delta('{"path":"a.tx')))
    const second = callIn(add(delta('t","lines":["on')))
    const third = callIn(add(delta('e"]}')))
    expect(first.input).toEqual({ path: 'a.tx' })
    expect(second.input).toEqual({ path: 'a.txt', lines: ['on'] })
    expect(third.input).toEqual({ path: 'a.txt', lines: ['one'] })
    const whole = { path: 'a.txt', lines: ['one'] }
    expect(callIn(add({ type: 'tool-call', callId: 'c1', name: 'write', input: whole })).input).toBe(whole)
  })

  test('has its open requests until they are decided', () => {
    const request = { type: 'approval-request', callId: 'c1', name: 'write', input: {} } as const
    const { add } = conversation(...start, { type: 'tool-call', callId: 'c1', name: 'write', input: {} })
    const asking = add(request, { type: 'run-end', outcome: 'suspended', usage })
    expect(callIn(asking)).toMatchObject({ state: 'asking', requests: [request] })
    expect((asking.at(-1) as Answer).status).toBe('waiting')
    expect(callIn(add({ type: 'approval', callId: 'c1', approved: true })).requests).toEqual([])
  })

  test('has the conversation of its sub-agent', () => {
    const inner = (event: ThreadEvent) => ({ type: 'tool-progress', callId: 'c1', event }) as ThreadEvent
    const { add } = conversation(
      ...start,
      { type: 'tool-call', callId: 'c1', name: 'write', input: {} },
      { type: 'tool-start', callId: 'c1', name: 'write', attempt: 1 },
    )
    const call = callIn(add(inner(runStart('inner', [])), inner(roundStart()), inner(text('Inside'))))
    expect(shortForm(call.messages)).toEqual(['running: Inside'])
    expect(shortForm(callIn(add(inner(text('.')))).messages)).toEqual(['running: Inside.'])
  })
})

describe('versions', () => {
  /** A run that answers an input again, after a rewind to its first run. */
  const again = (rewind: number, name: string): ThreadEvent[] => [
    { type: 'rewind', before: 2, keep: 1, answer: true },
    runStart(name, [rewind]),
    roundStart(),
    text(`Answer ${name}`),
    runEnd,
  ]

  test('of an answer belong to the answer, and name the rewind that shows each', () => {
    const { add } = conversation(...answered('1', 1))
    const messages = add(...again(7, '2'))
    expect(shortForm(messages)).toEqual(['user read: Question 1', 'completed: Answer 2'])
    expect(messages[0]?.versions).toBeUndefined()
    expect(messages[1]?.versions).toEqual({ current: 1, count: 2, rewinds: [7, undefined] })
    const restored = add({ type: 'rewind', before: 7, keep: 2 })
    expect(shortForm(restored)).toEqual(['user read: Question 1', 'completed: Answer 1'])
    expect(restored[1]?.versions).toEqual({ current: 0, count: 2, rewinds: [undefined, 12] })
  })

  test('of an edited message belong to the message, also before it is read', () => {
    const { add } = conversation(...answered('1', 1), ...answered('2', 7))
    const messages = add({ type: 'rewind', before: 7, keep: 2 }, input('Question two'))
    expect(shortForm(messages)).toEqual([
      'user read: Question 1',
      'completed: Answer 1',
      'user queued: Question two',
    ])
    expect(messages[2]?.versions).toEqual({ current: 1, count: 2, rewinds: [13, undefined] })
  })

  test('do not show a canceled run as running', () => {
    const { add } = conversation(
      input('Go'),
      runStart('1', [1]),
      roundStart(),
      text('First'),
      input('Faster', 'steer'),
      roundStart(2, [5]),
      text('Second'),
    )
    const messages = add({ type: 'rewind', before: 5, keep: 2 }, {
      type: 'run-end',
      outcome: 'canceled',
      usage,
    } as ThreadEvent)
    expect(shortForm(messages)).toEqual(['user read: Go', 'canceled: First'])
  })
})
