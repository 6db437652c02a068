import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ThreadEvent } from './events.ts'
import type { AssistantMessage, Message } from './messages.ts'
import { asPlayed, trimToPlayed } from './playback.ts'
import { messagesOf } from './run-state.ts'
import { applyEntry, conversationOf, emptyThread } from './thread-state.ts'
import { noUsage } from './usage.ts'

const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more }) as const
const call = { type: 'tool-call', callId: 'c', name: 'look', input: {} } as const
const reasoning = {
  type: 'reasoning',
  text: 'hm',
  opaque: { provider: 'anthropic', data: 'signature' },
} as const
const answer = (...content: AssistantMessage['content']): AssistantMessage => ({ role: 'assistant', content })

describe('an answer that was not played to the end', () => {
  test('keeps the played part as text and the rest as unplayed', () => {
    expect(trimToPlayed(answer(text('Hello there.')), 5)).toEqual(
      answer(text('Hello', { unplayed: ' there.' })),
    )
  })

  test('is trimmed across its parts, and tool calls stay', () => {
    const trimmed = trimToPlayed(answer(reasoning, text('One. '), call, text('Two.')), 3)
    expect(trimmed).toEqual(
      answer(reasoning, text('One', { unplayed: '. ' }), call, text('', { unplayed: 'Two.' })),
    )
  })

  test("loses the provider's data on text that was trimmed", () => {
    const opaque = { provider: 'openai', data: 'item' }
    const withOpaque = answer(text('One. ', { opaque }), text('Two.', { opaque }))
    expect(trimToPlayed(withOpaque, 7)).toEqual(
      answer(text('One. ', { opaque }), text('Tw', { unplayed: 'o.' })),
    )
  })

  test('the last report counts, and no text is lost', () => {
    const parts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, fc.array(fc.nat({ max: 40 }), { minLength: 1 }), (words, chars) => {
        const whole = words.join('')
        const original = answer(...words.map((one) => text(one)))
        const trimmed = chars.reduce(trimToPlayed, original)
        const texts = trimmed.content.filter((part) => part.type === 'text')
        expect(texts.map((part) => part.text).join('')).toBe(whole.slice(0, chars.at(-1)))
        expect(texts.map((part) => part.text + (part.unplayed ?? '')).join('')).toBe(whole)
      }),
    )
  })
})

describe('what a model reads', () => {
  const user: Message = { role: 'user', content: 'hi' }
  const read = (messages: readonly Message[]) => messages.flatMap((message) => asPlayed(message) ?? [])

  test('does not include text that was not played', () => {
    const messages = [user, answer(text('Hello', { unplayed: ' there.' })), user]
    expect(read(messages)).toEqual([user, answer(text('Hello')), user])
  })

  test('omits an answer of which nothing was played, and its reasoning', () => {
    expect(read([user, answer(reasoning, text('', { unplayed: 'Hello.' })), user])).toEqual([user, user])
  })

  test('keeps the calls of such an answer, and the reasoning before them', () => {
    const messages = [answer(reasoning, text('', { unplayed: 'I look.' }), call)]
    expect(read(messages)).toEqual([answer(reasoning, call)])
  })

  test('includes an uninterrupted answer unchanged', () => {
    const messages = [user, answer(reasoning, text('Hello.'))]
    expect(read(messages)[1]).toBe(messages[1])
  })
})

describe('in the log of a thread', () => {
  const start = (runId: string, resumes?: string): ThreadEvent => ({
    type: 'run-start',
    version: 1,
    runId,
    agent: 'a',
    input: [],
    ...(resumes !== undefined && { resumes }),
  })
  const round = (number: number, words: string): ThreadEvent[] => [
    { type: 'round-start', round: number, model: 'm' },
    text(words),
    { type: 'round-end', round: number, model: 'm', finish: 'stop' },
  ]
  const end: ThreadEvent = {
    type: 'run-end',
    outcome: 'completed',
    usage: noUsage,
  }
  const playback = (run: string, number: number, chars: number): ThreadEvent => ({
    type: 'playback',
    run,
    round: number,
    chars,
  })

  function fold(...events: readonly ThreadEvent[]) {
    const state = emptyThread()
    for (const [at, event] of events.entries()) applyEntry(state, { seq: at + 1, at: 0, event })
    return state
  }
  const textsOf = (...events: readonly ThreadEvent[]) =>
    conversationOf(fold(...events)).map(({ content }) => (typeof content === 'string' ? content : content[0]))

  test('a round of the previous run is trimmed', () => {
    const events = [start('a'), ...round(1, 'Hello there.'), end, start('b'), ...round(1, 'Next.')]
    expect(textsOf(...events, playback('a', 1, 5))).toEqual([
      text('Hello', { unplayed: ' there.' }),
      text('Next.'),
    ])
  })

  test('a round that is being generated is trimmed, including the text that follows', () => {
    const events = [start('a'), { type: 'round-start', round: 1, model: 'm' } as const, text('Hello there.')]
    const more = text(' And more.')
    const trimmed = text('Hello', { unplayed: ' there. And more.' })
    expect(textsOf(...events, playback('a', 1, 5), more)).toEqual([trimmed])
    const next = [{ type: 'round-end', round: 1, model: 'm', finish: 'stop' } as const, ...round(2, 'Two.')]
    expect(textsOf(...events, playback('a', 1, 5), more, ...next)).toEqual([trimmed, text('Two.')])
  })

  test('only the reported round is trimmed', () => {
    const events = [start('a'), ...round(1, 'One.'), ...round(2, 'Two.'), ...round(3, 'Three.'), end]
    expect(textsOf(...events, playback('a', 2, 1))).toEqual([
      text('One.'),
      text('T', { unplayed: 'wo.' }),
      text('Three.'),
    ])
  })

  test('a run resumed in another process counts as the same run', () => {
    const events = [start('a'), ...round(1, 'One.'), start('b', 'a'), ...round(2, 'Two.'), end]
    expect(textsOf(...events, playback('a', 1, 1), playback('a', 2, 2))).toEqual([
      text('O', { unplayed: 'ne.' }),
      text('Tw', { unplayed: 'o.' }),
    ])
  })

  test('the last report on a round counts, also after the run has ended', () => {
    const events = [start('a'), ...round(1, 'Hello there.'), end, start('b'), ...round(1, 'Next.')]
    expect(textsOf(...events, playback('a', 1, 0), playback('a', 1, 5))[0]).toEqual(
      text('Hello', { unplayed: ' there.' }),
    )
    expect(textsOf(...events, playback('a', 1, 0), playback('a', 1, 12))[0]).toEqual(text('Hello there.'))
  })

  test('a report on a retracted round is discarded', () => {
    const started = { type: 'round-start', round: 1, model: 'm' } as const
    const retract = { type: 'round-retract', round: 1, reason: 'broken' } as const
    const events = [start('a'), started, text('Hello.'), playback('a', 1, 2), retract, started, text('Hi.')]
    expect(textsOf(...events)).toEqual([text('Hi.')])
  })

  test('an answer that was replaced by a summary is trimmed in the transcript', () => {
    const sum: ThreadEvent = { type: 'summary', replaces: 1, message: { role: 'user', content: 'sum' } }
    const state = fold(start('a'), ...round(1, 'Hello there.'), ...round(2, 'Two.'), sum, playback('a', 1, 5))
    expect(conversationOf(state)[0]).toEqual(answer(text('Hello', { unplayed: ' there.' })))
    expect(state.run && messagesOf(state.run)).toEqual([
      { role: 'user', content: 'sum' },
      answer(text('Two.')),
    ])
  })

  test('a report on an unknown round changes nothing', () => {
    const events = [start('a'), ...round(1, 'One.'), end]
    expect(textsOf(...events, playback('b', 1, 0), playback('a', 7, 0))).toEqual([text('One.')])
  })
})
