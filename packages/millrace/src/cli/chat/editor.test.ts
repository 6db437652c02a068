import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Draft } from './editor.ts'
import { continued, edit, emptyDraft, filled, moveLine } from './editor.ts'
import type { Key, KeyName } from './keys.ts'

/** A draft with `|` at the cursor. */
function at(text: string): Draft {
  const cursor = text.indexOf('|')
  return { text: text.replace('|', ''), cursor, cut: '' }
}
const shown = ({ text, cursor }: Draft) => `${text.slice(0, cursor)}|${text.slice(cursor)}`
const press = (draft: Draft, ...names: KeyName[]) => names.reduce((now, type) => edit(now, { type }), draft)

test.each<[string, KeyName, string]>([
  ['ab|c', 'left', 'a|bc'],
  ['|abc', 'left', '|abc'],
  ['ab|c', 'right', 'abc|'],
  ['a👩‍👩‍👧|', 'left', 'a|👩‍👩‍👧'],
  ['|e\u0301x', 'right', 'e\u0301|x'],
  ['x🇩🇪|', 'backspace', 'x|'],
  ['|👍x', 'delete', '|x'],
  ['one two-three| x', 'word-left', 'one two-|three x'],
  ['one  |two', 'word-left', '|one  two'],
  ['on|e two', 'word-right', 'one| two'],
  ['one|  ', 'word-right', 'one  |'],
  ['one two|', 'delete-word-left', 'one |'],
  ['|one two', 'delete-word-right', '| two'],
  ['a\nb c|d\ne', 'start', 'a\n|b cd\ne'],
  ['a\n|b\ne', 'end', 'a\nb|\ne'],
  ['a\nb c|d', 'kill-start', 'a\n|d'],
  ['a|bc\nd', 'kill-end', 'a|\nd'],
  ['a|\nd', 'kill-end', 'a|d'],
  ['ab|c', 'end-of-input', 'ab|'],
  ['ab|c', 'new-line', 'ab\n|c'],
  ['ab|c', 'escape', 'ab|c'],
])('%j after %s is %j', (before, name, after) => {
  expect(shown(press(at(before), name))).toBe(after)
})

test('text and pastes are inserted at the cursor', () => {
  const typed = edit(at('a|d'), { type: 'text', text: 'b' })
  expect(shown(edit(typed, { type: 'paste', text: 'c\nc' }))).toBe('abc\nc|d')
})

test('cut text can be pasted repeatedly', () => {
  expect(shown(press(at('one two|'), 'delete-word-left', 'start', 'yank', 'yank'))).toBe('twotwo|one ')
})

describe('lines', () => {
  test('up and down keep the column, counted in characters', () => {
    expect(shown(moveLine(at('👍👍👍\nab|c'), 'up') as Draft)).toBe('👍👍|👍\nabc')
    expect(shown(moveLine(at('abc|\nx'), 'down') as Draft)).toBe('abc\nx|')
    expect(moveLine(at('a|b\nc'), 'up')).toBeUndefined()
    expect(moveLine(at('ab\nc|'), 'down')).toBeUndefined()
  })

  test('a trailing backslash starts another line', () => {
    expect(shown(continued(filled('one\\')) as Draft)).toBe('one\n|')
    expect(continued(filled('one'))).toBeUndefined()
    expect(continued(at('one|\\'))).toBeUndefined()
  })
})

const names: KeyName[] = [
  'left',
  'right',
  'word-left',
  'word-right',
  'start',
  'end',
  'backspace',
  'delete',
  'delete-word-left',
  'delete-word-right',
  'kill-start',
  'kill-end',
  'yank',
  'new-line',
]
const key: fc.Arbitrary<Key> = fc.oneof(
  fc.constantFrom(...names).map((type) => ({ type })),
  fc.constantFrom('a', ' ', '日', '👩‍👩‍👧', 'e\u0301').map((text): Key => ({ type: 'text', text })),
)

test('whatever is pressed, the cursor is in the text and never inside a character', () => {
  const pair = /[\uD800-\uDBFF]$/
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60 }), (keys) => {
      let draft = emptyDraft
      for (const one of keys) {
        draft = edit(draft, one)
        expect(draft.cursor).toBeGreaterThanOrEqual(0)
        expect(draft.cursor).toBeLessThanOrEqual(draft.text.length)
        expect(pair.test(draft.text.slice(0, draft.cursor))).toBe(false)
      }
    }),
  )
})
