import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { callIds } from './call-ids.ts'

const mistral = { pattern: /^[a-zA-Z0-9]{9}$/, create: (token: string) => token }
const claude = { pattern: /^[a-zA-Z0-9_-]{1,64}$/, create: (token: string) => `toolu_${token}` }

describe('the ids of calls', () => {
  test('that are valid stay unchanged', () => {
    const idOf = callIds(claude)
    expect(idOf('toolu_01KFbKqPYSuAKujiL6mTfzYA')).toBe('toolu_01KFbKqPYSuAKujiL6mTfzYA')
    expect(idOf('call_1')).toBe('call_1')
  })

  test('that are invalid are renamed, the same way in call and result and in every request', () => {
    const [first, second] = [callIds(mistral), callIds(mistral)]
    const renamed = first('call_1')
    expect(renamed).toMatch(mistral.pattern)
    expect(first('call_1')).toBe(renamed)
    // Another request with other calls.
    expect(second('abcdefghi')).toBe('abcdefghi')
    expect(second('call_1')).toBe(renamed)
  })

  test('may be empty, very long, or have any characters', () => {
    const idOf = callIds(claude)
    for (const odd of ['', 'x'.repeat(5000), 'functions.look:0', 'a b', '日本', '\ud800'])
      expect(idOf(odd)).toMatch(claude.pattern)
  })

  test('never collide, even if one already has the new form of another', () => {
    const taken = callIds(mistral)('call_1')
    const idOf = callIds(mistral)
    const ids = [idOf(taken), idOf('call_1'), idOf('call_2')]
    expect(ids[0]).toBe(taken)
    expect(new Set(ids).size).toBe(3)
    const other = callIds(mistral)
    expect(new Set([other('call_1'), other(taken)]).size).toBe(2)
  })

  test('map one to one for any list', () => {
    const id = fc.oneof(
      fc.string(),
      fc.constantFrom('call_1', 'call_2', 'abcdefghi', callIds(mistral)('call_1')),
    )
    fc.assert(
      fc.property(fc.array(id), (list) => {
        const idOf = callIds(mistral)
        const renamed = list.map(idOf)
        expect(new Set(renamed).size).toBe(new Set(list).size)
        for (const one of renamed) expect(one).toMatch(mistral.pattern)
        expect(list.map(idOf)).toStrictEqual(renamed)
      }),
    )
  })

  test('stay the same as the conversation grows', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), (before, after) => {
        const whole = callIds(mistral)
        const all = [...before, ...after].map(whole)
        expect(before.map(callIds(mistral))).toStrictEqual(all.slice(0, before.length))
      }),
    )
  })
})
