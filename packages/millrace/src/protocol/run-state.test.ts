import { describe, expect, test } from 'vitest'
import type { RunEvent, SummaryEvent } from './events.ts'
import type { Message } from './messages.ts'
import { textOf } from './messages.ts'
import { applyEvent, foldLog, messagesOf, transcriptOf } from './run-state.ts'

const user = (content: string): Message => ({ role: 'user', content })
const system = (content: string): Message => ({ role: 'system', content })
const start = (...input: Message[]): RunEvent => ({
  type: 'run-start',
  version: 1,
  runId: 'run_1',
  agent: 'agent',
  input,
})
const summary = (replaces: number, content: string): SummaryEvent => ({
  type: 'summary',
  replaces,
  message: { role: 'user', content },
})
const textsOf = (messages: readonly Message[]) => messages.map(textOf)

describe('a summary', () => {
  test('replaces the messages before it, which the transcript keeps', () => {
    const state = foldLog([start(user('a'), user('b'), user('c')), summary(2, 'ab')])
    expect(textsOf(messagesOf(state))).toEqual(['ab', 'c'])
    expect(textsOf(transcriptOf(state))).toEqual(['a', 'b', 'c'])
  })

  test('replaces the previous summary too', () => {
    const state = foldLog([start(...'abcde'.split('').map(user)), summary(2, 'ab'), summary(3, 'abcd')])
    expect(textsOf(messagesOf(state))).toEqual(['abcd', 'e'])
    expect(textsOf(transcriptOf(state))).toEqual(['a', 'b', 'c', 'd', 'e'])
  })

  test('comes after the system messages, which it does not replace', () => {
    const state = foldLog([
      start(system('s'), user('a'), system('t'), user('b'), user('c')),
      summary(4, 'ab'),
    ])
    expect(textsOf(messagesOf(state))).toEqual(['s', 't', 'ab', 'c'])
    applyEvent(state, summary(4, 'abc'))
    expect(textsOf(messagesOf(state))).toEqual(['s', 't', 'abc'])
    expect(textsOf(transcriptOf(state))).toEqual(['s', 'a', 't', 'b', 'c'])
  })

  test('leaves the current round in place', () => {
    const events: RunEvent[] = [
      start(user('a'), user('b')),
      { type: 'round-start', round: 1, model: 'm' },
      { type: 'text', text: 'c' },
      { type: 'round-end', round: 1, model: 'm', finish: 'stop' },
      { type: 'input', mode: 'steer', message: { role: 'user', content: 'd' } },
      summary(5, 'ab'),
    ]
    expect(textsOf(messagesOf(foldLog(events)))).toEqual(['ab', 'c', 'd'])
    expect(textsOf(transcriptOf(foldLog(events)))).toEqual(['a', 'b', 'c', 'd'])
  })

  test('adds its usage, and resets the known context length', () => {
    const state = foldLog([
      start(user('a'), user('b')),
      { type: 'round-start', round: 1, model: 'm' },
      { type: 'round-end', round: 1, model: 'm', finish: 'stop', usage: { inputTokens: 9, outputTokens: 2 } },
    ])
    expect(state.contextTokens).toBe(11)
    applyEvent(state, { ...summary(1, 'a'), usage: { inputTokens: 5 } })
    expect(state).toMatchObject({ contextTokens: undefined, usage: { inputTokens: 14, outputTokens: 2 } })
  })
})

test('the context length is that of the last round that reported it', () => {
  const round = (number: number, usage?: { inputTokens?: number; outputTokens?: number }): RunEvent[] => [
    { type: 'round-start', round: number, model: 'm' },
    { type: 'round-end', round: number, model: 'm', finish: 'stop', ...(usage && { usage }) },
  ]
  const state = foldLog([start(user('a')), ...round(1)])
  expect(state.contextTokens).toBeUndefined()
  for (const event of round(2, { inputTokens: 10 })) applyEvent(state, event)
  for (const event of round(3, { outputTokens: 3 })) applyEvent(state, event)
  for (const event of round(4)) applyEvent(state, event)
  expect(state.contextTokens).toBe(10)
})
