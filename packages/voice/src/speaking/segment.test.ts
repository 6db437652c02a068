import { describe, expect, test } from 'vitest'
import { countWords, playedPosition, type Segment } from './segment.ts'

const sampleRate = 1000

/** Speech equals source by default. */
function segment(source: string, position: number, samples: number, more: Partial<Segment> = {}): Segment {
  return {
    sentence: { source, speech: source, origins: Array.from({ length: source.length + 1 }, (_, at) => at) },
    textPosition: { round: 1, start: 0 },
    waitedFor: 'model',
    position,
    samples,
    isDone: true,
    hasFailed: false,
    isRetracted: false,
    words: [],
    ...more,
  }
}

const words = (...times: readonly [number, number, number, number][]) =>
  times.map(([start, end, startMs, endMs]) => ({ start, end, startMs, endMs }))

describe('the played position', () => {
  const timed = segment('One two three.', 0, 1500, {
    words: words([0, 3, 0, 400], [4, 7, 500, 900], [8, 14, 1000, 1500]),
  })

  test.each([
    [0, undefined],
    [150, undefined],
    [250, 3],
    [699, 3],
    [700, 7],
    [1499, 14],
    [1500, 14],
  ])('ends with the last word that was half played: %i ms', (position, chars) => {
    expect(playedPosition([timed], position, sampleRate)?.chars).toBe(chars)
  })

  test('is estimated from the played share without word timings, up to the end of a word', () => {
    const untimed = segment('One two three.', 0, 1400)
    const at = (position: number) => playedPosition([untimed], position, sampleRate)?.chars
    expect([at(10), at(300), at(700), at(1300), at(1400)]).toEqual([undefined, 3, 7, 13, 14])
  })

  test('is estimated from the usual rate while synthesis is in progress', () => {
    const unfinished = segment('One two three, and so on for a while.', 0, 300, { isDone: false })
    expect(playedPosition([unfinished], 300, sampleRate)?.chars).toBe(3)
  })

  test('refers to the source, not to the speech', () => {
    const source = '**One** [two](https://example.org) three. '
    const origins = [2, 3, 4, 7, 9, 10, 11, 33, 35, 36, 37, 38, 39, 40]
    const sentence = { source, speech: 'One two three.', origins }
    const marked = segment('', 0, 1400, {
      sentence,
      words: words([0, 3, 0, 300], [4, 7, 400, 700], [8, 14, 800, 1400]),
    })
    const at = (position: number) => source.slice(0, playedPosition([marked], position, sampleRate)?.chars)
    expect([at(300), at(700), at(1400)]).toEqual(['**One', '**One** [two', source])
  })

  test('counts within the round, across sentences', () => {
    const second = segment('Four.', 1500, 500, { textPosition: { round: 1, start: 15 } })
    expect(playedPosition([timed, second], 1990, sampleRate)).toEqual({ round: 1, chars: 15 + 4 })
    expect(playedPosition([timed, second], 2000, sampleRate)).toEqual({ round: 1, chars: 20 })
  })

  test('skips a sentence that failed if a later one was played', () => {
    const failed = segment('Lost.', 1500, 0, { textPosition: { round: 1, start: 15 }, hasFailed: true })
    const third = segment('Six.', 1500, 400, { textPosition: { round: 2, start: 0 } })
    expect(playedPosition([timed, failed], 1500, sampleRate)).toEqual({ round: 1, chars: 14 })
    expect(playedPosition([timed, failed, third], 1520, sampleRate)).toEqual({ round: 1, chars: 14 })
    expect(playedPosition([timed, failed, third], 1900, sampleRate)).toEqual({ round: 2, chars: 4 })
  })

  test('includes only the spoken part of a sentence that failed midway', () => {
    const broken = segment('One two three, and so on for a while.', 0, 300, { hasFailed: true })
    expect(playedPosition([broken], 300, sampleRate)?.chars).toBe(3)
  })

  test('includes text that is not read aloud once the text before it was played', () => {
    const code = segment('`x`', 1500, 0, {
      textPosition: { round: 1, start: 14 },
      sentence: { source: '```x```', speech: '', origins: [0] },
    })
    expect(playedPosition([timed, code], 1400, sampleRate)?.chars).toBe(14)
    expect(playedPosition([timed, code], 1500, sampleRate)?.chars).toBe(21)
  })

  test('ignores filler lines and retracted text', () => {
    const filler = segment('One moment.', 0, 500, { textPosition: undefined })
    const retracted = segment('Wrong.', 500, 500, { isRetracted: true })
    expect(playedPosition([filler, retracted], 1000, sampleRate)).toBeUndefined()
  })
})

test('words are counted in any script', () => {
  expect([
    countWords("It isn't far, is it?"),
    countWords(''),
    countWords('สวัสดีครับ'),
    countWords('你好世界'),
  ]).toEqual([5, 0, 2, 2])
})
