import { describe, expect, test } from 'vitest'
import { bodyOf, resultText } from './body.ts'

describe('the body of a request', () => {
  test('keeps null and leaves out undefined', () => {
    expect(bodyOf({ model: 'm', stop: undefined, seed: 0, user: null }, undefined)).toStrictEqual({
      model: 'm',
      seed: 0,
      user: null,
    })
  })

  test('is overridden by extra, and has no empty tools', () => {
    expect(bodyOf({ temperature: 1, tools: [] }, { temperature: 0, top_k: 4 })).toStrictEqual({
      temperature: 0,
      top_k: 4,
    })
    expect(bodyOf({ temperature: 1 }, { temperature: null })).toStrictEqual({ temperature: null })
  })

  test("has the caller's tools after ours, in a stable order", () => {
    const [ours, theirs] = [[{ name: 'a' }, { name: 'b' }], [{ type: 'web_search' }]]
    expect(bodyOf({ tools: ours }, { tools: theirs })).toStrictEqual({ tools: [...ours, ...theirs] })
    expect(bodyOf({ tools: [] }, { tools: theirs })).toStrictEqual({ tools: theirs })
    expect(bodyOf({ tools: ours }, { tools: [] })).toStrictEqual({ tools: ours })
  })

  test('does not modify its arguments', () => {
    const [fields, extra] = [{ tools: [{ name: 'a' }] }, { tools: [{ type: 'x' }], n: 1 }]
    bodyOf(fields, extra)
    expect([fields, extra]).toStrictEqual([{ tools: [{ name: 'a' }] }, { tools: [{ type: 'x' }], n: 1 }])
  })
})

test('the text of a result has its texts, its JSON and a note for each image, one per line', () => {
  const content = [
    { type: 'text', text: 'one' },
    { type: 'json', value: { a: [1, null] } },
    { type: 'image', url: 'https://host/a.png' },
  ] as const
  expect(resultText(content, '[image]')).toBe('one\n{"a":[1,null]}\n[image]')
  expect(resultText([], '[image]')).toBe('')
})
