import { describe, expect, test } from 'vitest'
import { plainText, wholeUpTo } from './plain-text.ts'

describe('plain text', () => {
  test.each([
    ['\x1b[1;31mred\x1b[0m', 'red'],
    ['\x1b[38;2;1;2;3mrgb\x1b[m', 'rgb'],
    ['\x1b[2K\x1b[1Gline\x1b[?25l', 'line'],
    ['\x1b]0;a title\x07shown', 'shown'],
    ['\x1b]8;;https://a.example\x1b\\link\x1b]8;;\x1b\\', 'link'],
    ['\x1b(Bplain\x1b=', 'plain'],
    ['one\r\ntwo\rthree', 'one\ntwo\nthree'],
    ['a\0b\x07c\x08d\x7fe\x9bf', 'abcdef'],
    ['tab\tstays\nüñí 日本 😀', 'tab\tstays\nüñí 日本 😀'],
    ['\x1b', ''],
    ['\x1b]never closed\nnext line', '\nnext line'],
  ])('of %j is %j', (printed, text) => {
    expect(plainText(printed)).toBe(text)
  })

  test('is the same in chunks cut at allowed positions', () => {
    const printed = 'a\x1b[1;31mb\x1b[0m\r\nc\x1b]0;title\x07d\r\n'
    for (let cut = 0; cut <= printed.length; cut++) {
      const at = wholeUpTo(printed.slice(0, cut))
      expect(plainText(printed.slice(0, at)) + plainText(printed.slice(at))).toBe('ab\ncd\n')
    }
  })

  test('is not delayed by text that only looks like the start of a sequence', () => {
    expect(wholeUpTo(`\x1b[${'1'.repeat(1_000)}`)).toBe(1_002)
  })
})
