import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isWhole, sized } from '../../../../test/size.ts'
import { isMillraceError } from './errors.ts'
import type { Message } from './messages.ts'
import { textOf, toolCallsOf } from './messages.ts'
import { findUnpaired, pairHistory } from './pairing.ts'

const user = (content: string): Message => ({ role: 'user', content })

const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  content: ids.map((callId) => ({ type: 'tool-call', callId, name: `tool_${callId}`, input: {} })),
})

const result = (callId: string, text = `result of ${callId}`): Message => ({
  role: 'tool',
  callId,
  name: `tool_${callId}`,
  content: [{ type: 'text', text }],
})

const pair = (...messages: Message[]) => pairHistory(messages, 'agent.stream')

function refusal(...messages: Message[]): string {
  try {
    pair(...messages)
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input' && error.op === 'agent.stream')
      return error.message
    throw error
  }
  throw new Error('it was not refused')
}

describe('a history in order', () => {
  test.each<[string, Message[]]>([
    ['nothing at all', []],
    ['no calls', [user('hi'), { role: 'assistant', content: [{ type: 'text', text: 'hello' }] }, user('?')]],
    ['one call', [user('hi'), calls('a'), result('a')]],
    ['parallel calls', [user('hi'), calls('a', 'b'), result('a'), result('b'), user('?')]],
    ['round after round', [user('hi'), calls('a'), result('a'), calls('b'), result('b')]],
  ])('%s stays as it is', (_, messages) => {
    expect(pair(...messages)).toStrictEqual({ messages, repairs: [] })
    expect(findUnpaired(messages)).toBeUndefined()
  })
})

describe('what can be mended is mended, and told', () => {
  test('a call without a result is answered as unknown', () => {
    const { messages, repairs } = pair(user('hi'), calls('a', 'b'), result('a'), user('well?'))
    expect(messages).toStrictEqual([
      user('hi'),
      calls('a', 'b'),
      result('a'),
      {
        role: 'tool',
        callId: 'b',
        name: 'tool_b',
        content: [{ type: 'text', text: expect.stringContaining('No result was recorded') }],
        isError: true,
      },
      user('well?'),
    ])
    expect(repairs).toEqual(["answered the call 'b', which had no result"])
  })

  test('a result in its place is not told as moved because the one before it was missing', () => {
    const { repairs } = pair(user('hi'), calls('a', 'b'), result('b'))
    expect(repairs).toEqual(["answered the call 'a', which had no result"])
  })

  test('a result that came too late is moved behind its call', () => {
    const { messages, repairs } = pair(user('hi'), calls('a'), user('well?'), result('a'))
    expect(messages).toEqual([user('hi'), calls('a'), result('a'), user('well?')])
    expect(repairs).toEqual(["moved the result of 'a' behind its call"])
  })

  test('a result that stands before its call is moved behind it', () => {
    const { messages, repairs } = pair(user('hi'), calls('a'), result('b'), result('a'), calls('b'))
    expect(messages).toEqual([user('hi'), calls('a'), result('a'), calls('b'), result('b')])
    expect(repairs).toContain("moved the result of 'b' behind its call")
  })

  test('results are put in the order of their calls', () => {
    const { messages, repairs } = pair(user('hi'), calls('a', 'b'), result('b'), result('a'))
    expect(messages).toEqual([user('hi'), calls('a', 'b'), result('a'), result('b')])
    expect(repairs.length).toBeGreaterThan(0)
  })

  test('a second copy of the same result is left out', () => {
    const { messages, repairs } = pair(user('hi'), calls('a'), result('a'), result('a'), user('?'))
    expect(messages).toEqual([user('hi'), calls('a'), result('a'), user('?')])
    expect(repairs).toEqual(["left out a second copy of the result of 'a'"])
  })

  test.each<[string, Message[]]>([
    ['at the start of a trimmed history', [result('old'), user('hi'), calls('a'), result('a')]],
    ['behind the first question', [user('hi'), result('old'), calls('a'), result('a')]],
  ])('a result whose call was trimmed away is left out %s', (_, history) => {
    const { messages, repairs } = pair(...history)
    expect(messages).toEqual([user('hi'), calls('a'), result('a')])
    expect(repairs).toEqual(["left out the result of 'old', whose call is no longer in the history"])
  })

  test('a history of lost results alone is mended too', () => {
    const { messages, repairs } = pair(result('old'), user('hi'))
    expect(messages).toEqual([user('hi')])
    expect(repairs).toHaveLength(1)
  })

  test('an id used again after its call was answered is renamed, with its result', () => {
    const { messages, repairs } = pair(
      user('hi'),
      calls('a'),
      result('a', '1'),
      calls('a', 'a_2'),
      result('a_2'),
      result('a', '2'),
      calls('a'),
      result('a', '3'),
    )
    expect(messages.flatMap(toolCallsOf).map(({ callId }) => callId)).toEqual(['a', 'a_3', 'a_2', 'a_4'])
    const texts = messages.flatMap((it) => (it.role === 'tool' ? [`${it.callId} ${textOf(it)}`] : []))
    expect(texts).toEqual(['a 1', 'a_3 2', 'a_2 result of a_2', 'a_4 3'])
    expect(repairs).toContain("renamed the second call 'a' to 'a_3'")
  })

  test('the history that was handed in is left as it was', () => {
    const history = [result('old'), user('hi'), calls('b', 'a'), result('a'), result('a')]
    const before = structuredClone(history)
    pair(...history)
    expect(history).toEqual(before)
  })
})

describe('what could only be guessed is refused', () => {
  test('a result that answers no call, naming its place', () => {
    expect(refusal(user('hi'), calls('a'), result('a'), result('ghost'))).toContain(
      "messages[3] is the result of 'ghost'",
    )
  })

  test('two different results of one call', () => {
    expect(refusal(user('hi'), calls('a'), result('a', 'yes'), result('a', 'no'))).toContain(
      "two different results for the tool call 'a'",
    )
  })

  test('two open calls of one id, in one message or in two', () => {
    expect(refusal(user('hi'), calls('a', 'a'), result('a'))).toContain("two tool calls with the id 'a'")
    expect(refusal(user('hi'), calls('a'), calls('a'), result('a'))).toContain('give each call its own id')
  })
})

describe('findUnpaired', () => {
  test.each<[string, Message[], string]>([
    ['a call at the end', [user('hi'), calls('a')], "the call 'a' has no result"],
    ['a call before other words', [calls('a'), user('hi'), result('a')], "the call 'a' has no result"],
    ['one of two calls', [calls('a', 'b'), result('a')], "the call 'b' has no result"],
    ['a result without a call', [user('hi'), result('a')], "the result of 'a' answers no call before it"],
    [
      'a second result',
      [calls('a'), result('a'), result('a')],
      "the result of 'a' answers no call before it",
    ],
  ])('names %s', (_, messages, sentence) => {
    expect(findUnpaired(messages)).toBe(sentence)
  })
})

test('whatever the history, it comes out paired, whole and stable, or is refused', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const message = fc.oneof(
    fc.constant(user('hi')),
    fc.uniqueArray(id, { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
    fc.tuple(id, fc.constantFrom('x', 'x', 'y')).map(([callId, text]) => result(callId, text)),
  )
  let mended = 0
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (history) => {
      let paired: ReturnType<typeof pair>
      try {
        paired = pair(...history)
      } catch (error) {
        expect(isMillraceError(error) && error.code).toBe('invalid_input')
        return
      }
      if (paired.repairs.length > 0) mended++
      expect(findUnpaired(paired.messages)).toBeUndefined()
      expect(pair(...paired.messages)).toEqual({ messages: paired.messages, repairs: [] })
      const others = (messages: readonly Message[]) => messages.filter(({ role }) => role !== 'tool')
      // Apart from ids that were used twice.
      const nameless = (messages: readonly Message[]) =>
        JSON.stringify(messages).replaceAll(/"callId":"\w+"/g, '')
      expect(nameless(others(paired.messages))).toBe(nameless(others(history)))
      const callIds = paired.messages.flatMap(toolCallsOf).map(({ callId }) => callId)
      const answered = paired.messages.flatMap((it) => (it.role === 'tool' ? [it.callId] : []))
      expect(answered).toEqual(callIds)
      expect(findUnpaired(history) !== undefined && paired.repairs.length === 0).toBe(false)
    }),
    { numRuns: sized(1000) },
  )
  if (isWhole) expect(mended).toBeGreaterThan(50)
})
