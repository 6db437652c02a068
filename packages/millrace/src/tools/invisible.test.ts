import { expect, test } from 'vitest'
import { escapeInvisible, replaceInvisible } from './invisible.ts'

const bare = (text: string) => replaceInvisible(text, () => '')

test.each([
  ['a tag', '\u{e0041}'],
  ['a zero width space', '\u200b'],
  ['a zero width joiner', '\u200d'],
  ['a byte order mark', '\ufeff'],
  ['a soft hyphen', '\u00ad'],
  ['a direction override', '\u202e'],
  ['an isolate', '\u2066'],
  ['a selector', '\ufe0f'],
  ['a selector in another plane', '\u{e0100}'],
  ['a filler', '\u3164'],
  ['a control character', '\u001b'],
  ['private use', '\ue000'],
  ['an unassigned code point', '\u{e0fff}'],
  ['a lone surrogate', '\ud800'],
  ['a line separator', '\u2028'],
  ['a no-break space', '\u00a0'],
])('%s is invisible', (_, character) => {
  expect(bare(`a${character}b`)).toBe('ab')
})

test('letters of any script, spaces and emoji are visible', () => {
  const text = 'naïve 日本 עברית हिन्दी 1 # ❤️ 👨‍👩‍👧 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇳🇴'
  expect(bare(text)).toBe(text)
  expect(bare('1\ufe0f2\ufe0f 👨\u200dx 🏴\u{e0061}\u{e0062}')).toBe('12 👨x 🏴')
})

test('invisible characters can be escaped', () => {
  expect(escapeInvisible('a\u202eb\nc\u{e0041}\u001b ❤️')).toBe('a\\u{202e}b\\nc\\u{e0041}\\u001b ❤️')
})
