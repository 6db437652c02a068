import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ThreadEvent } from './events.ts'
import { asHeard, trimToHeard } from './heard.ts'
import type { AssistantMessage, Message } from './messages.ts'
import { messagesOf } from './run-state.ts'
import { applyEntry, conversationOf, emptyThread } from './thread-state.ts'
import { noUsage } from './usage.ts'

const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more }) as const
const call = { type: 'tool-call', callId: 'c', name: 'look', input: {} } as const
const thought = {
  type: 'reasoning',
  text: 'hm',
  opaque: { provider: 'anthropic', data: 'signature' },
} as const
const answer = (...content: AssistantMessage['content']): AssistantMessage => ({ role: 'assistant', content })

describe('an answer that was not heard to the end', () => {
  test('keeps what was heard as its words and the rest beside them', () => {
    expect(trimToHeard(answer(text('Hello there.')), 5)).toEqual(
      answer(text('Hello', { unheard: ' there.' })),
    )
  })

  test('is trimmed across its parts, and what it did stays', () => {
    const trimmed = trimToHeard(answer(thought, text('One. '), call, text('Two.')), 3)
    expect(trimmed).toEqual(
      answer(thought, text('One', { unheard: '. ' }), call, text('', { unheard: 'Two.' })),
    )
  })

  test("loses a provider's own note on words that are not all there", () => {
    const opaque = { provider: 'openai', data: 'item' }
    const noted = answer(text('One. ', { opaque }), text('Two.', { opaque }))
    expect(trimToHeard(noted, 7)).toEqual(answer(text('One. ', { opaque }), text('Tw', { unheard: 'o.' })))
  })

  test('whatever is said of it last counts, and nothing is lost', () => {
    const parts = fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(parts, fc.array(fc.nat({ max: 40 }), { minLength: 1 }), (words, chars) => {
        const whole = words.join('')
        const whatever = answer(...words.map((one) => text(one)))
        const trimmed = chars.reduce(trimToHeard, whatever)
        const said = trimmed.content.filter((part) => part.type === 'text')
        expect(said.map((part) => part.text).join('')).toBe(whole.slice(0, chars.at(-1)))
        expect(said.map((part) => part.text + (part.unheard ?? '')).join('')).toBe(whole)
      }),
    )
  })
})

describe('what a model reads', () => {
  const user: Message = { role: 'user', content: 'hi' }
  const read = (messages: readonly Message[]) => messages.flatMap((message) => asHeard(message) ?? [])

  test('has nothing of what was not heard', () => {
    const messages = [user, answer(text('Hello', { unheard: ' there.' })), user]
    expect(read(messages)).toEqual([user, answer(text('Hello')), user])
  })

  test('has no answer of which nothing was heard, and no thoughts without it', () => {
    expect(read([user, answer(thought, text('', { unheard: 'Hello.' })), user])).toEqual([user, user])
  })

  test('keeps the calls of such an answer, and the thoughts that led to them', () => {
    const messages = [answer(thought, text('', { unheard: 'I look.' }), call)]
    expect(read(messages)).toEqual([answer(thought, call)])
  })

  test('leaves alone what nobody interrupted', () => {
    const messages = [user, answer(thought, text('Hello.'))]
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
  const heard = (run: string, number: number, chars: number): ThreadEvent => ({
    type: 'heard',
    run,
    round: number,
    chars,
  })

  function fold(...events: readonly ThreadEvent[]) {
    const state = emptyThread()
    for (const [at, event] of events.entries()) applyEntry(state, { seq: at + 1, at: 0, event })
    return state
  }
  const said = (...events: readonly ThreadEvent[]) =>
    conversationOf(fold(...events)).map(({ content }) => (typeof content === 'string' ? content : content[0]))

  test('a round of the run before is trimmed', () => {
    const events = [start('a'), ...round(1, 'Hello there.'), end, start('b'), ...round(1, 'Next.')]
    expect(said(...events, heard('a', 1, 5))).toEqual([text('Hello', { unheard: ' there.' }), text('Next.')])
  })

  test('a round that is being told is trimmed, with all that it goes on to say', () => {
    const events = [start('a'), { type: 'round-start', round: 1, model: 'm' } as const, text('Hello there.')]
    const more = text(' And more.')
    const trimmed = text('Hello', { unheard: ' there. And more.' })
    expect(said(...events, heard('a', 1, 5), more)).toEqual([trimmed])
    const next = [{ type: 'round-end', round: 1, model: 'm', finish: 'stop' } as const, ...round(2, 'Two.')]
    expect(said(...events, heard('a', 1, 5), more, ...next)).toEqual([trimmed, text('Two.')])
  })

  test('only the round that is meant is trimmed', () => {
    const events = [start('a'), ...round(1, 'One.'), ...round(2, 'Two.'), ...round(3, 'Three.'), end]
    expect(said(...events, heard('a', 2, 1))).toEqual([
      text('One.'),
      text('T', { unheard: 'wo.' }),
      text('Three.'),
    ])
  })

  test('a run that went on in another process is still the same', () => {
    const events = [start('a'), ...round(1, 'One.'), start('b', 'a'), ...round(2, 'Two.'), end]
    expect(said(...events, heard('a', 1, 1), heard('a', 2, 2))).toEqual([
      text('O', { unheard: 'ne.' }),
      text('Tw', { unheard: 'o.' }),
    ])
  })

  test('the last word on a round counts, of one that is over too', () => {
    const events = [start('a'), ...round(1, 'Hello there.'), end, start('b'), ...round(1, 'Next.')]
    expect(said(...events, heard('a', 1, 0), heard('a', 1, 5))[0]).toEqual(
      text('Hello', { unheard: ' there.' }),
    )
    expect(said(...events, heard('a', 1, 0), heard('a', 1, 12))[0]).toEqual(text('Hello there.'))
  })

  test('what was said of a round is void when that is told again', () => {
    const begun = { type: 'round-start', round: 1, model: 'm' } as const
    const retract = { type: 'round-retract', round: 1, reason: 'broken' } as const
    const events = [start('a'), begun, text('Hello.'), heard('a', 1, 2), retract, begun, text('Hi.')]
    expect(said(...events)).toEqual([text('Hi.')])
  })

  test('an answer that a summary stands for is trimmed where it is kept', () => {
    const sum: ThreadEvent = { type: 'summary', replaces: 1, message: { role: 'user', content: 'sum' } }
    const state = fold(start('a'), ...round(1, 'Hello there.'), ...round(2, 'Two.'), sum, heard('a', 1, 5))
    expect(conversationOf(state)[0]).toEqual(answer(text('Hello', { unheard: ' there.' })))
    expect(state.run && messagesOf(state.run)).toEqual([
      { role: 'user', content: 'sum' },
      answer(text('Two.')),
    ])
  })

  test('a round that nobody knows changes nothing', () => {
    const events = [start('a'), ...round(1, 'One.'), end]
    expect(said(...events, heard('b', 1, 0), heard('a', 7, 0))).toEqual([text('One.')])
  })
})
