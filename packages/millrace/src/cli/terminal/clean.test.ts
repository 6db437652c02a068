import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cleanLine, cleanText, deltaCleaner, escapedLine } from './clean.ts'

const esc = '\x1b'

const sequences: Readonly<Record<string, string>> = {
  'a color': `${esc}[31m`,
  'a color with many numbers': `${esc}[38;2;255;0;0;1m`,
  'a moved cursor': `${esc}[10;20H`,
  'a private mode': `${esc}[?1049h`,
  'a query with an intermediate': `${esc}[0 q`,
  'an 8-bit CSI': '\u009b2J',
  'a title': `${esc}]0;owned\x07`,
  'a title ended by ST': `${esc}]2;owned${esc}\\`,
  'an 8-bit OSC': '\u009d0;owned\u009c',
  'a link': `${esc}]8;;http://evil.example${esc}\\`,
  'the clipboard': `${esc}]52;c;${'cm0gLXJm'.repeat(50)}\x07`,
  'a device control string': `${esc}P1;2|17/17${esc}\\`,
  'an 8-bit DCS': '\u0090q#0;2\u009c',
  'an application string': `${esc}_Gf=100;AAAA${esc}\\`,
  'a private message': `${esc}^secret${esc}\\`,
  'a start of string': `${esc}Xsecret${esc}\\`,
  'a reset': `${esc}c`,
  'a character set': `${esc}(0`,
  'a canceled sequence': `${esc}]0;half\x18`,
  'a string cut by another sequence': `${esc}]0;half${esc}[1m`,
  'a bell': '\x07',
  'a backspace': '\b\b\b',
  'a delete': '\x7f',
  'a carriage return': '\r',
  'a bare escape before a mark': `${esc}\u202e`,
  'reversed text': '\u202e\u2066\u2069\u200f',
}

describe('control sequences are removed', () => {
  test.each(Object.entries(sequences))('%s', (_, sequence) => {
    expect(cleanText(`before ${sequence}after`)).toBe('before after')
  })

  test('however the text is split', () => {
    const text = Object.values(sequences)
      .map((sequence, index) => `${index} ${sequence}x\n`)
      .join('')
    const whole = cleanText(text)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 40 }), (cuts) => {
        expect(inPieces(text, cuts)).toBe(whole)
      }),
    )
    expect(
      inPieces(
        text,
        Array.from(text, (_, at) => at),
      ),
    ).toBe(whole)
  })

  test('newlines and tabs are the only control characters left', () => {
    const nasty = fc.string({
      unit: fc.constantFrom(...`${esc}[];?0mPX^_\\\x07\x9b\x9d\x9c\x90\n\t\r aé👍\u202e\u2028`),
      maxLength: 200,
    })
    fc.assert(
      fc.property(nasty, fc.array(fc.nat(200), { maxLength: 5 }), (text, cuts) => {
        const shown = inPieces(text, cuts)
        expect(shown).toBe(cleanText(text))
        expect(shown).not.toMatch(/(?![\n\t])[\p{Cc}\p{Bidi_Control}]/u)
      }),
    )
  })
})

describe('other text is unchanged', () => {
  test('words, newlines, tabs, emoji sequences, combining accents', () => {
    const text = 'Grüße,\n\tシ 👩‍👩‍👧 ❤️ e\u0301 \u{1F1E9}\u{1F1EA}'
    expect(cleanText(text)).toBe(text)
    expect(
      inPieces(
        text,
        Array.from({ length: text.length }, (_, at) => at),
      ),
    ).toBe(text)
  })

  test('a split surrogate pair is joined', () => {
    const clean = deltaCleaner()
    expect(clean('a\ud83d')).toBe('a')
    expect(clean('\udc4db')).toBe('👍b')
  })

  test('an unterminated sequence removes at most the rest of its line', () => {
    expect(cleanText(`a ${esc}]0;never ended\nb`)).toBe('a \nb')
    const long = 'x'.repeat(10_000)
    expect(cleanText(`${esc}]0;${long}`)).toMatch(/^x{5000,}$/)
    expect(cleanText(`${esc}[${'1'.repeat(10_000)}`)).toMatch(/^1{5000,}$/)
  })

  test('an escape before a non-ASCII letter removes nothing else', () => {
    expect(cleanText(`${esc}é ${esc}[1é`)).toBe('é é')
  })
})

test('a line stays one line', () => {
  expect(cleanLine(`  a\r\n\tb${esc}[2J \u2028 c\rd  `)).toBe('a b c d')
})

function inPieces(text: string, cuts: readonly number[]): string {
  const clean = deltaCleaner()
  const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
  return places.map((at, index) => clean(text.slice(at, places[index + 1] ?? at))).join('')
}

test('text that the user decides on is escaped, not shortened', () => {
  expect(escapedLine(` a\r\n\tb${esc}[2J\u202ec\u200b\u{e0041}\u00a0❤️ `)).toBe(
    'a b\\u001b[2J\\u{202e}c\\u{200b}\\u{e0041}\\u{a0}❤️',
  )
})
