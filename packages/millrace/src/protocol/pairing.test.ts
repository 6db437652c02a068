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

function errorOf(...messages: Message[]): string {
  try {
    pair(...messages)
  } catch (error) {
    if (isMillraceError(error) && error.code === 'invalid_input' && error.op === 'agent.stream')
      return error.message
    throw error
  }
  throw new Error('no error was thrown')
}

describe('a valid history', () => {
  test.each<[string, Message[]]>([
    ['no messages', []],
    ['no calls', [user('hi'), { role: 'assistant', content: [{ type: 'text', text: 'hello' }] }, user('?')]],
    ['one call', [user('hi'), calls('a'), result('a')]],
    ['parallel calls', [user('hi'), calls('a', 'b'), result('a'), result('b'), user('?')]],
    ['several rounds', [user('hi'), calls('a'), result('a'), calls('b'), result('b')]],
  ])('%s: unchanged', (_, messages) => {
    expect(pair(...messages)).toStrictEqual({ messages, repairs: [] })
    expect(findUnpaired(messages)).toBeUndefined()
  })
})

describe('repairs', () => {
  test('a call without a result gets one that says it is unknown', () => {
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
    expect(repairs).toEqual(["added a result for the call 'b', which had none"])
  })

  test('a result in the right place is not reported as moved if the one before it is missing', () => {
    const { repairs } = pair(user('hi'), calls('a', 'b'), result('b'))
    expect(repairs).toEqual(["added a result for the call 'a', which had none"])
  })

  test('a late result is moved after its call', () => {
    const { messages, repairs } = pair(user('hi'), calls('a'), user('well?'), result('a'))
    expect(messages).toEqual([user('hi'), calls('a'), result('a'), user('well?')])
    expect(repairs).toEqual(["moved the result of 'a' after its call"])
  })

  test('a result before its call is moved after it', () => {
    const { messages, repairs } = pair(user('hi'), calls('a'), result('b'), result('a'), calls('b'))
    expect(messages).toEqual([user('hi'), calls('a'), result('a'), calls('b'), result('b')])
    expect(repairs).toContain("moved the result of 'b' after its call")
  })

  test('results are sorted in the order of their calls', () => {
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
    ['after the first question', [user('hi'), result('old'), calls('a'), result('a')]],
  ])('a result whose call was trimmed away is left out %s', (_, history) => {
    const { messages, repairs } = pair(...history)
    expect(messages).toEqual([user('hi'), calls('a'), result('a')])
    expect(repairs).toEqual(["left out the result of 'old', whose call is no longer in the history"])
  })

  test('a history whose only results lost their calls is repaired too', () => {
    const { messages, repairs } = pair(result('old'), user('hi'))
    expect(messages).toEqual([user('hi')])
    expect(repairs).toHaveLength(1)
  })

  test('an id that is reused after its call was answered is renamed, along with its result', () => {
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

  test('the history that was passed is not modified', () => {
    const history = [result('old'), user('hi'), calls('b', 'a'), result('a'), result('a')]
    const before = structuredClone(history)
    pair(...history)
    expect(history).toEqual(before)
  })
})

describe('rejected, since any repair would be a guess', () => {
  test('a result without a call; the error names its index', () => {
    expect(errorOf(user('hi'), calls('a'), result('a'), result('ghost'))).toContain(
      "messages[3] is the result of 'ghost'",
    )
  })

  test('two different results for one call', () => {
    expect(errorOf(user('hi'), calls('a'), result('a', 'yes'), result('a', 'no'))).toContain(
      "two different results for the tool call 'a'",
    )
  })

  test('two open calls with the same id, in one message or in two', () => {
    expect(errorOf(user('hi'), calls('a', 'a'), result('a'))).toContain("two tool calls with the id 'a'")
    expect(errorOf(user('hi'), calls('a'), calls('a'), result('a'))).toContain('give each call its own id')
  })
})

describe('findUnpaired', () => {
  test.each<[string, Message[], string]>([
    ['a call at the end', [user('hi'), calls('a')], "the call 'a' has no result"],
    ['a call before another message', [calls('a'), user('hi'), result('a')], "the call 'a' has no result"],
    ['one of two calls', [calls('a', 'b'), result('a')], "the call 'b' has no result"],
    ['a result without a call', [user('hi'), result('a')], "the result of 'a' has no call before it"],
    ['a second result', [calls('a'), result('a'), result('a')], "the result of 'a' has no call before it"],
  ])('names %s', (_, messages, sentence) => {
    expect(findUnpaired(messages)).toBe(sentence)
  })
})

test('any history is either rejected or returned paired, complete and stable', () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const message = fc.oneof(
    fc.constant(user('hi')),
    fc.uniqueArray(id, { minLength: 1, maxLength: 3 }).map((ids) => calls(...ids)),
    fc.tuple(id, fc.constantFrom('x', 'x', 'y')).map(([callId, text]) => result(callId, text)),
  )
  let repaired = 0
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), (history) => {
      let paired: ReturnType<typeof pair>
      try {
        paired = pair(...history)
      } catch (error) {
        expect(isMillraceError(error) && error.code).toBe('invalid_input')
        return
      }
      if (paired.repairs.length > 0) repaired++
      expect(findUnpaired(paired.messages)).toBeUndefined()
      expect(pair(...paired.messages)).toEqual({ messages: paired.messages, repairs: [] })
      const others = (messages: readonly Message[]) => messages.filter(({ role }) => role !== 'tool')
      // Ignoring ids, since reused ones are renamed.
      const withoutIds = (messages: readonly Message[]) =>
        JSON.stringify(messages).replaceAll(/"callId":"\w+"/g, '')
      expect(withoutIds(others(paired.messages))).toBe(withoutIds(others(history)))
      const callIds = paired.messages.flatMap(toolCallsOf).map(({ callId }) => callId)
      const answered = paired.messages.flatMap((it) => (it.role === 'tool' ? [it.callId] : []))
      expect(answered).toEqual(callIds)
      expect(findUnpaired(history) !== undefined && paired.repairs.length === 0).toBe(false)
    }),
    { numRuns: sized(1000) },
  )
  if (isWhole) expect(repaired).toBeGreaterThan(50)
})
