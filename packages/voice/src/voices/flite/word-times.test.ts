import { describe, expect, test } from 'vitest'
import { spokenWords } from './spoken-words.ts'
import { readPhones, wordTimes } from './word-times.ts'

function timesOf(text: string, sounds: readonly string[], printed: string) {
  const phones = sounds.map((sound) => sound.split(' ').filter(Boolean))
  const times = wordTimes(spokenWords(text), phones, readPhones(printed))
  return times.map(({ start, end, startMs, endMs }) => [text.slice(start, end), startMs, endMs])
}

describe('word times', () => {
  test('are those of their phones, without the pauses', () => {
    const printed =
      'pau:0.232 y:0.278 eh:0.427 s:0.529 pau:0.631 ay:0.778 k:0.877 ae:0.965 n:0.998 pau:1.2 \n'
    expect(timesOf('Yes, I can.', ['y eh s', 'ay', 'k ae n'], printed)).toEqual([
      ['Yes,', 232, 529],
      ['I', 631, 778],
      ['can.', 778, 998],
    ])
  })

  test('are right if a word sounds different on its own', () => {
    const printed = 'pau:0.1 ih:0.2 n:0.3 ax:0.4 d:0.5 ey:0.6 pau:0.8'
    expect(timesOf('in a day', ['ih n', 'ey', 'd ey'], printed)).toEqual([
      ['in', 100, 300],
      ['a', 300, 400],
      ['day', 400, 600],
    ])
  })

  test('are right if a word has more or fewer phones', () => {
    const printed = 'pau:0.1 d:0.2 r:0.3 ay:0.4 v:0.5 n:0.6 ih:0.7 r:0.8 pau:0.9'
    expect(timesOf('Dr. near', ['d aa k t er', 'n ih r'], printed)).toEqual([
      ['Dr.', 100, 500],
      ['near', 500, 800],
    ])
  })

  test('are missing for words without phones', () => {
    expect(timesOf('a # b', ['ey', '', 'b iy'], 'pau:0.1 ey:0.2 b:0.3 iy:0.4 pau:0.5')).toEqual([
      ['a', 100, 200],
      ['b', 200, 400],
    ])
    expect(timesOf('a b', ['ey', 'b iy'], '')).toEqual([
      ['a', 0, 0],
      ['b', 0, 0],
    ])
  })
})
