import { describe, expect, it } from 'vitest'
import { oneLine, visible } from './visible.ts'

describe('invisible characters', () => {
  it('are escaped', () => {
    expect(visible('\u001b[31mred\u0007')).toBe('\\u001b[31mred\\u0007')
    expect(visible('abc\u202edcba')).toBe('abc\\u202edcba')
    expect(visible('a\u200bb\ufeffc\u2028d\u{e0041}')).toBe('a\\u200bb\\ufeffc\\u2028d\\udb40\\udc41')
    expect(visible('a\u3164b\ue000c\u{e0100}')).toBe('a\\u3164b\\ue000c\\udb40\\udd00')
  })

  it('include lone surrogates', () => {
    expect(visible('\ud83d!')).toBe('\\ud83d!')
    expect(visible('🦀 é 日本 👨‍👩‍👧 ❤️')).toBe('🦀 é 日本 👨‍👩‍👧 ❤️')
  })

  it('do not include tabs and line feeds', () => {
    expect(visible('a\tb\nc')).toBe('a\tb\nc')
  })
})

it('oneLine() replaces line breaks and marks where it cut', () => {
  expect(oneLine('a\r\nb\nc\td')).toBe('a⏎b⏎c d')
  expect(oneLine('x'.repeat(10), 4)).toBe('xxxx…')
})
