import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonTokens } from './json-tokens.ts'

test('names, strings and other values are distinguished', () => {
  const colored = jsonTokens('{"a \\" b": "x: 1", "n": [-1.5e3, true, null]}').filter(([kind]) => kind)
  expect(colored).toEqual([
    ['name', '"a \\" b"'],
    ['string', '"x: 1"'],
    ['name', '"n"'],
    ['number', '-1.5e3'],
    ['number', 'true'],
    ['number', 'null'],
  ])
})

test('no character is lost, also of JSON that was cut', () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(60), (json, cut) => {
      for (const text of [json, `${json.slice(0, cut)}…`])
        expect(
          jsonTokens(text)
            .map(([, part]) => part)
            .join(''),
        ).toBe(text)
    }),
  )
})
