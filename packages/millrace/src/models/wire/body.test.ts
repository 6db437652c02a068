import { describe, expect, test } from 'vitest'
import { bodyOf, resultText } from './body.ts'

describe('the body of a request', () => {
  test('has what is given, and null, and nothing that is undefined', () => {
    expect(bodyOf({ model: 'm', stop: undefined, seed: 0, user: null }, undefined)).toStrictEqual({
      model: 'm',
      seed: 0,
      user: null,
    })
  })

  test("has the caller's own fields over everything, and no tools unless there are some", () => {
    expect(bodyOf({ temperature: 1, tools: [] }, { temperature: 0, top_k: 4 })).toStrictEqual({
      temperature: 0,
      top_k: 4,
    })
    expect(bodyOf({ temperature: 1 }, { temperature: null })).toStrictEqual({ temperature: null })
  })

  test("has the caller's tools after ours, always in the same order", () => {
    const [ours, theirs] = [[{ name: 'a' }, { name: 'b' }], [{ type: 'web_search' }]]
    expect(bodyOf({ tools: ours }, { tools: theirs })).toStrictEqual({ tools: [...ours, ...theirs] })
    expect(bodyOf({ tools: [] }, { tools: theirs })).toStrictEqual({ tools: theirs })
    expect(bodyOf({ tools: ours }, { tools: [] })).toStrictEqual({ tools: ours })
  })

  test('leaves what it was made of as it is', () => {
    const [fields, extra] = [{ tools: [{ name: 'a' }] }, { tools: [{ type: 'x' }], n: 1 }]
    bodyOf(fields, extra)
    expect([fields, extra]).toStrictEqual([{ tools: [{ name: 'a' }] }, { tools: [{ type: 'x' }], n: 1 }])
  })
})

test('the words of a result are its texts, its JSON and a remark for each image, a line each', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'json', value: { a: [1, null] } },
    { type: 'image', url: 'https://host/a.png' },
  ] as const
  expect(resultText(content, '[image]')).toBe('one\n{"a":[1,null]}\n[image]')
  expect(resultText([], '[image]')).toBe('')
})
