import { describe, expect, test } from 'vitest'
import { sized, some } from '../../../../test/size.ts'
import { cases } from './cases.test-kit.ts'
import type { Sentence, SentenceOptions } from './sentence.ts'
import { sentences, splitSentences } from './splitter.ts'

function split(pieces: readonly string[], options: SentenceOptions = {}): Sentence[] {
  const splitter = sentences(options)
  return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.flush()]
}

const sources = (found: readonly Sentence[]) => found.map(({ source }) => source)
const plain = (found: readonly string[]) => found.map((text) => text.trim()).filter(Boolean)
const unitsOf = (text: string) => Array.from({ length: text.length }, (_, at) => text.charAt(at))

/** Reproducible numbers from 0 to 1. */
function chance(seed: number) {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function randomPieces(text: string, next: () => number): string[] {
  const pieces: string[] = []
  for (let at = 0; at < text.length; ) {
    const length = next() < 0.1 ? 0 : 1 + Math.floor(next() * next() * 12)
    pieces.push(text.slice(at, at + length))
    at += length
  }
  return pieces
}

describe('the reviewed cases', () => {
  test('are more than 300, in more than thirty languages', () => {
    expect(cases.length).toBeGreaterThan(300)
    expect(new Set(cases.map(([language]) => language)).size).toBeGreaterThan(30)
  })

  test.each(cases)('%s: %j', (_, text, expected) => {
    expect(splitSentences(text)).toEqual(expected)
  })

  test.each(cases)('with the language %s: %j', (language, text, expected) => {
    expect(splitSentences(text, { language })).toEqual(expected)
  })

  test('the built-in Intl.Segmenter gets fewer of them right', () => {
    const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
    const right = cases.filter(([, text, expected]) => {
      const found = plain(Array.from(segmenter.segment(text), ({ segment }) => segment))
      return found.length === expected.length && found.every((sentence, at) => sentence === expected[at])
    })
    expect(right.length).toBeLessThan(cases.length * 0.7)
  })
})

describe('every chunking of a text', () => {
  const texts = cases.map(([, text]) => text)
  const all = `${texts.slice(0, 120).join(' ')}\n\n${texts.slice(120).join('\n')} 👩‍👩‍👧 ${'ไม่มีช่องว่างเลย'.repeat(40)}`
  const variants: SentenceOptions[] = [
    {},
    { minChars: 30, firstMinChars: 5 },
    { maxChars: 20 },
    { minChars: 12, maxChars: 40, code: 'mention', tables: 'read' },
    { maxChars: 30, code: 'read' },
  ]

  test('into two yields the same sentences', () => {
    for (const text of some(texts)) {
      const whole = JSON.stringify(split([text]))
      for (let at = 1; at < text.length; at++) {
        const cut = JSON.stringify(split([text.slice(0, at), text.slice(at)]))
        expect(cut, `${text} at ${at}`).toBe(whole)
      }
    }
  })

  test.each(variants)('into code units, or at random, yields the same ones, with %j', (options) => {
    const whole = split([all], options)
    expect(split(unitsOf(all), options)).toEqual(whole)
    const next = chance(8)
    for (let times = 0; times < sized(10); times++) {
      expect(JSON.stringify(split(randomPieces(all, next), options))).toBe(JSON.stringify(whole))
    }
  })

  test.each(variants)('keeps every character, with %j', (options) => {
    for (const text of [...texts, all]) {
      const found = split([text], options)
      expect(sources(found).join('')).toBe(text)
      let start = 0
      for (const sentence of found) {
        expect(sentence.start).toBe(start)
        start += sentence.source.length
      }
    }
  })
})

describe('a sentence', () => {
  /** How much of the text had arrived when each sentence was returned. */
  function arrivals(text: string): [sentence: string, rest: string][] {
    const splitter = sentences()
    let come = 0
    const found: [string, string][] = []
    for (const unit of unitsOf(text)) {
      come++
      for (const { source, start } of splitter.push(unit)) {
        found.push([source, text.slice(start + source.length, come)])
      }
    }
    return found
  }

  test('is returned with the space after an ordinary stop', () => {
    expect(arrivals('Hello there. How is it going. Well')).toEqual([
      ['Hello there. ', ''],
      ['How is it going. ', ''],
    ])
  })

  test('is returned with the first character of the next one if a stop needs no space', () => {
    expect(arrivals('你好。我很好！！」我')).toEqual([
      ['你好。', '我'],
      ['我很好！！」', '我'],
    ])
  })

  test('is returned with the first letter of the next one if its case decides', () => {
    expect(arrivals('Really? Yes! "Go." (She went.) He waited... ¿Y?')).toEqual([
      ['Really? ', 'Y'],
      ['Yes! ', '"G'],
      ['"Go." ', '(S'],
      ['(She went.) ', 'H'],
      ['He waited... ', '¿Y'],
    ])
  })

  test('is returned with the first word of the next one if only that decides', () => {
    expect(arrivals('It is 5 p.m. He left the U.S. It was big. In')).toEqual([
      ['It is 5 p.m. ', 'He '],
      ['He left the U.S. ', 'It '],
      ['It was big. ', ''],
    ])
  })

  test('is returned with the markup of the next line and the first character after it', () => {
    expect(arrivals('Buy:\n- apples\n- pears\n\nDone\n# Title\nText')).toEqual([
      ['Buy:\n', '- a'],
      ['- apples\n', '- p'],
      ['- pears\n', '\n'],
      ['\nDone\n', '# '],
      ['# Title\n', 'Te'],
    ])
  })

  test('never waits for more than the first word of the next one, or the line of a fence', () => {
    for (const [, text] of cases) {
      for (const [sentence, rest] of arrivals(text)) {
        expect(rest, `${sentence} in ${text}`).toMatch(
          /^(?:[\s\p{P}\p{S}]*[\p{L}\p{M}\p{N}’']*[\p{P}\s]{0,2}\p{L}?|\s*(?:```.*|[=*-]+)\n|\P{L}{0,8})$/u,
        )
      }
    }
  })

  test('is the rest after a flush, and the next text starts a new one', () => {
    const splitter = sentences()
    expect(sources(splitter.push('Let me look. I will'))).toEqual(['Let me look. '])
    expect(sources(splitter.flush())).toEqual(['I will'])
    expect(splitter.flush()).toEqual([])
    expect(splitter.push('be back. ')).toMatchObject([{ source: 'be back. ', start: 19 }])
    expect(splitter.push('\n```\ncode. ')).toEqual([])
    expect(sources(splitter.flush())).toEqual(['\n```\ncode. '])
    expect(sources(splitter.push('Not code. '))).toEqual(['Not code. '])
  })
})

describe('lengths', () => {
  test('a short sentence is joined with the next, and the first may be shorter', () => {
    const text = 'Sure. Yes. It is so. I looked at it twice. OK. Fine.'
    expect(plain(sources(split([text], { minChars: 20, firstMinChars: 4 })))).toEqual([
      'Sure.',
      'Yes. It is so. I looked at it twice.',
      'OK. Fine.',
    ])
  })

  test('a heading or item gets a stop when it is joined with the next', () => {
    const [sentence] = split(['# Fruit\n\n- apples\n- pears'], { minChars: 100 })
    expect(sentence).toMatchObject({ source: '# Fruit\n\n- apples\n- pears', speech: 'Fruit. apples. pears' })
  })

  test('the first sentence after a flush may be shorter again', () => {
    const splitter = sentences({ minChars: 20, firstMinChars: 4 })
    expect(sources(splitter.push('Sure. Yes. '))).toEqual(['Sure. '])
    expect(sources(splitter.flush())).toEqual(['Yes. '])
    expect(sources(splitter.push('Sure. '))).toEqual(['Sure. '])
  })

  test('sentences are not joined beyond the maximum', () => {
    const text = 'One two three. Four five six. '
    expect(sources(split([text], { minChars: 20, maxChars: 20 }))).toEqual([
      'One two three. ',
      'Four five six. ',
    ])
  })

  test('a long sentence is split at a clause, or else at a space', () => {
    const found = sources(split(['one two three, four five six seven eight nine'], { maxChars: 20 }))
    expect(found).toEqual(['one two three, ', 'four five six seven ', 'eight nine'])
  })

  test('a long sentence is split as soon as it is too long', () => {
    const splitter = sentences({ maxChars: 20 })
    expect(sources(splitter.push('one two three four five'))).toEqual(['one two three four '])
  })

  test('a script without spaces is split between words', () => {
    const words = new Intl.Segmenter('th', { granularity: 'word' })
    const text = 'ภาษาไทยไม่มีช่องว่างระหว่างคำดังนั้นต้องใช้พจนานุกรม'
    const ends = new Set(Array.from(words.segment(text), ({ index, segment }) => index + segment.length))
    const found = split([text], { maxChars: 20 })
    expect(found.length).toBeGreaterThan(2)
    for (const { start, source } of found) {
      expect(source.length).toBeLessThanOrEqual(20)
      expect(ends).toContain(start + source.length)
    }
  })

  test('graphemes are never split', () => {
    const family = '👩‍👩‍👧‍👦'
    for (const unit of [family, 'é́', '🇩🇪', `a${'\u0301'.repeat(50)}`]) {
      const found = split([unit.repeat(40)], { maxChars: 20 })
      for (const { source } of found) expect(source.length % unit.length, unit).toBe(0)
    }
  })

  test('a URL is not split', () => {
    const address = `https://example.com/${'a/'.repeat(40)}`
    expect(sources(split([`${address} is long.`], { maxChars: 30 }))[0]).toContain(address)
  })
})

describe('the running time', () => {
  const size = sized(60_000)
  const shapes = [
    '.',
    '. ',
    '?!',
    '"',
    '“',
    '*',
    '*a ',
    '_',
    '`',
    '` ',
    '`` ` ',
    '[',
    '](',
    '[a](',
    '(',
    '<',
    '<a ',
    '<!--',
    '&amp',
    '\n',
    '> ',
    '| ',
    '|\n',
    '-\n',
    '# ',
    'a',
    '。',
    '「',
    'ก',
    'ก ',
    '👩‍👩‍👧',
    '\u0301',
    '\u200d',
    'p.m. ',
    'J. ',
    '1. ',
    'https://',
    '\t',
    '\r',
    '\ud800',
  ]

  test.each(shapes)('is linear, for a text of %j', (shape) => {
    const text = shape.repeat(size / shape.length)
    expect(sources(split([text])).join('')).toBe(text)
    expect(sources(split([...unitsOf(text.slice(0, size / 4))])).join('')).toBe(text.slice(0, size / 4))
  })

  test.each(['text', '```\n', '<!-- '])(
    'is linear for a long text in single characters after %j',
    (opening) => {
      const text = opening + 'Some words, and some more of them. \n'.repeat(sized(10_000))
      expect(sources(split(unitsOf(text))).join('')).toBe(text)
    },
  )
})

describe('options', () => {
  test.each([
    [{ language: 'deutsch!' }, "the option 'language' must be a language tag such as 'en' or 'pt-BR'"],
    [{ minChars: -1 }, "the option 'minChars' must be a whole number of at least 0, not -1"],
    [{ maxChars: 5 }, "the option 'maxChars' must be a whole number of at least 20, not 5"],
    [{ minChars: 500 }, "the option 'minChars' must be at most maxChars, which is 400, not 500"],
    [
      { firstMinChars: 50, maxChars: 40 },
      "the option 'firstMinChars' must be at most maxChars, which is 40, not 50",
    ],
    [{ code: 'drop' }, "the option 'code' must be 'skip' or 'mention' or 'read'"],
    [{ minChar: 5 }, "the option 'minChar' does not exist: did you mean 'minChars'?"],
  ])('rejects %j', (options, message) => {
    expect(() => sentences(options as SentenceOptions)).toThrow(message)
  })

  test.each([null, undefined, 7, ['Hi.'], { text: 'Hi.' }])('rejects the text %j', (text) => {
    expect(() => splitSentences(text as never)).toThrow(
      /^splitSentences\(\) takes text, not (null|undefined|an? \w+)$/,
    )
    expect(() => splitSentences(text as never)).toThrow(expect.objectContaining({ code: 'invalid_input' }))
    expect(() => sentences().push(text as never)).toThrow(/^push\(\) takes text, not /)
  })

  test.each([null, 7])('rejects the options %j', (options) => {
    expect(() => splitSentences('Hi.', options as never)).toThrow(/the options must be an object, not /)
  })

  test('accepts an unknown language', () => {
    expect(splitSentences('Saluton. Kiel vi fartas?', { language: 'eo' })).toHaveLength(2)
  })
})
