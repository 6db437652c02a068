import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Key } from './keys.ts'
import { keyReader } from './keys.ts'

const esc = '\x1b'
const read = (...chunks: string[]) => {
  const reader = keyReader()
  return joined(chunks.flatMap((chunk) => reader.push(chunk)))
}
/** Joins neighboring texts. */
function joined(keys: readonly Key[]): Key[] {
  const all: Key[] = []
  for (const key of keys) {
    const last = all.at(-1)
    if (key.type === 'text' && last?.type === 'text')
      all[all.length - 1] = { ...last, text: last.text + key.text }
    else all.push(key)
  }
  return all
}

test.each([
  ['\r', 'enter'],
  ['\n', 'new-line'],
  [`${esc}\r`, 'new-line'],
  [`${esc}[13;2u`, 'new-line'],
  ['\t', 'tab'],
  ['\x03', 'interrupt'],
  ['\x04', 'end-of-input'],
  ['\x7f', 'backspace'],
  [`${esc}[A`, 'up'],
  [`${esc}OB`, 'down'],
  [`${esc}[1;5D`, 'word-left'],
  [`${esc}b`, 'word-left'],
  [`${esc}\x7f`, 'delete-word-left'],
  [`${esc}[3~`, 'delete'],
  [`${esc}[H`, 'start'],
  [`${esc}${esc}[C`, 'right'],
])('%j is %s', (sequence, name) => {
  expect(read(`a${sequence}b`)).toEqual([
    { type: 'text', text: 'a' },
    { type: name },
    { type: 'text', text: 'b' },
  ])
})

test('unknown keys are ignored', () => {
  expect(read(`a${esc}[15~${esc}[?1;2c${esc}OP${esc}q\x00b`)).toEqual([{ type: 'text', text: 'ab' }])
})

describe('a paste', () => {
  test('is text, even if it contains control characters', () => {
    expect(read(`${esc}[200~one\r\ntwo\tx\x03\r${esc}[201~\r`)).toEqual([
      { type: 'paste', text: 'one\ntwo\tx\n' },
      { type: 'enter' },
    ])
  })

  test('contains no control sequences', () => {
    expect(read(`${esc}[200~a${esc}[2J\u202eb${esc}[201~`)).toEqual([{ type: 'paste', text: 'ab' }])
  })

  test('is cut at its maximum length', () => {
    const [key] = read(`${esc}[200~`, 'x'.repeat(3_000_000), `${esc}[201~`)
    expect(key?.type === 'paste' && key.text.length).toBe(2 ** 20)
  })
})

test('the keys do not depend on how the input is split', () => {
  const sent = `aé👍${esc}[A${esc}[200~x\ny${esc}[201~${esc}[1;5C\x17${esc}\rb\r`
  fc.assert(
    fc.property(fc.array(fc.nat(sent.length), { maxLength: 30 }), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), sent.length]
      const chunks = places.map((at, index) => sent.slice(at, places[index + 1] ?? at))
      // A stream that decodes UTF-8 never splits a character.
      fc.pre(!chunks.some((chunk) => /[\uD800-\uDBFF]$/.test(chunk)))
      expect(read(...chunks)).toEqual(read(sent))
    }),
  )
})

describe('an ESC that is not followed by anything', () => {
  test('is pending, then the Escape key', () => {
    const reader = keyReader()
    expect(reader.push(esc)).toEqual([])
    expect(reader.hasPending).toBe(true)
    expect(reader.flush()).toEqual([{ type: 'escape' }])
    expect(reader.hasPending).toBe(false)
  })

  test('twice is Escape too; a partial sequence is dropped', () => {
    const reader = keyReader()
    reader.push(esc + esc)
    expect(reader.flush()).toEqual([{ type: 'escape' }])
    reader.push(`${esc}[1;`)
    expect(reader.flush()).toEqual([])
    expect(reader.push('x')).toEqual([{ type: 'text', text: 'x' }])
  })
})
