import { expect, test } from 'vitest'
import { replaceUnseen, spellUnseen } from './unseen.ts'

const bare = (text: string) => replaceUnseen(text, () => '')

test.each([
  ['a tag', '\u{e0041}'],
  ['a zero width space', '\u200b'],
  ['a zero width joiner', '\u200d'],
  ['a byte order mark', '\ufeff'],
  ['a soft hyphen', '\u00ad'],
  ['an override of direction', '\u202e'],
  ['an isolate', '\u2066'],
  ['a selector', '\ufe0f'],
  ['a selector of another plane', '\u{e0100}'],
  ['a filler', '\u3164'],
  ['a control character', '\u001b'],
  ['private use', '\ue000'],
  ['what no Unicode has assigned', '\u{e0fff}'],
  ['half of a character', '\ud800'],
  ['a separator of lines', '\u2028'],
  ['a space that is not the usual one', '\u00a0'],
])('%s is not seen', (_, character) => {
  expect(bare(`a${character}b`)).toBe('ab')
})

test('letters of any script, spaces and whole emoji are', () => {
  const text = 'naïve 日本 עברית हिन्दी 1 # ❤️ 👨‍👩‍👧 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇳🇴'
  expect(bare(text)).toBe(text)
  expect(bare('1\ufe0f2\ufe0f 👨\u200dx 🏴\u{e0061}\u{e0062}')).toBe('12 👨x 🏴')
})

test('what is not seen can be written out', () => {
  expect(spellUnseen('a\u202eb\nc\u{e0041}\u001b ❤️')).toBe('a\\u{202e}b\\nc\\u{e0041}\\u001b ❤️')
})
