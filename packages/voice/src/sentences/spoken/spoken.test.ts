import { describe, expect, test } from 'vitest'
import { cases } from '../cases.test-kit.ts'
import type { SentenceOptions } from '../sentence.ts'
import { sentences } from '../splitter.ts'

function split(text: string, options: SentenceOptions = {}) {
  const splitter = sentences(options)
  return [...splitter.push(text), ...splitter.flush()]
}

const said = (text: string, options: SentenceOptions = {}) =>
  split(text, options)
    .map(({ speech }) => speech)
    .filter(Boolean)

test.each([
  [{ emoji: 'read' }, 'Great 🎉! 👩‍👩‍👧', ['Great 🎉!', '👩‍👩‍👧']],
  [
    { links: 'read' },
    'See [the docs](https://a.org/x) or <https://b.org/y>. Go to www.c.org/z?q=1.',
    ['See the docs https://a.org/x or https://b.org/y.', 'Go to www.c.org/z?q=1.'],
  ],
  [
    { markdown: 'read' },
    '# One\n\n- *two* `three` & <b>four</b> &amp; 🎉 https://a.org/x.',
    ['# One', '- *two* `three` & <b>four</b> &amp; a.org.'],
  ],
  [
    { markdown: 'read', links: 'read' },
    'See **[this](https://a.org/x)**.',
    ['See **[this](https://a.org/x)**.'],
  ],
] as const)('what is left out otherwise is read where that is wanted: %j', (options, text, wanted) => {
  expect(said(text, options)).toEqual(wanted)
  for (const { source, speech, origins } of split(text, options)) {
    expect(origins).toHaveLength(speech.length + 1)
    for (const [at, char] of [...speech].entries())
      if (/[a-z]/i.test(char) && speech.length === [...speech].length)
        expect(source[origins[at] ?? -1]).toBe(char)
  }
})

describe('what is read aloud', () => {
  test.each([
    [
      'emphasis',
      'Some *thin*, **bold**, __bold__ and ~~old~~ text.',
      ['Some thin, bold, bold and old text.'],
    ],
    ['emphasis over two sentences', '**First. Second.** Third.', ['First.', 'Second.', 'Third.']],
    ['an unclosed delimiter', 'This is **very important.', ['This is very important.']],
    [
      'characters that are not delimiters',
      'Say snake_case, 2 * 3, 5*3 and ~5.',
      ['Say snake_case, 2 * 3, 5*3 and ~5.'],
    ],
    ['escapes', '\\*not thin\\* and C:\\temp.', ['*not thin* and C:\\temp.']],
    ['headings', '# One #\n## Two **bold**\nThree\n===\nC#', ['One', 'Two bold', 'Three', 'C#']],
    ['lists', '- a\n* b\n+ c\n• d\n- [x] e\n1. f\n2) g', ['a', 'b', 'c', 'd', 'e', '1. f', '2) g']],
    ['quotes', '> One\n> two.\n>\n> Three.', ['One two.', 'Three.']],
    ['rules', 'One.\n\n---\n\n***\n\nTwo.', ['One.', 'Two.']],
    ['inline code', 'Run `npm  test` and ``a`b`` and `*c*`.', ['Run npm test and a`b and *c*.']],
    ['an unclosed backtick', 'An open ` tick. Next.', ['An open tick.', 'Next.']],
    ['links', 'See [the *docs*](https://a.org/x_(y) "T. T."), [b][1] and [c][].', ['See the docs, b and c.']],
    ['a link over two sentences', '[One. Two](https://example.com). Three.', ['One.', 'Two.', 'Three.']],
    ['images', 'Here: ![a cat](cat.png).', ['Here: a cat.']],
    ['link reference definitions', 'See [a][1].\n\n[1]: https://example.com "Title"\n', ['See a.']],
    [
      'footnotes',
      'Fact.[1] Note[^2] it【4:0†source】.[^3]\n\n[^3]: The note.',
      ['Fact.', 'Note it.', 'The note.'],
    ],
    ['brackets', 'It is x[0] and [sic] so.', ['It is x[0] and [sic] so.']],
    [
      'URLs',
      'Go to https://www.example.org/p?q=1. Or www.foo.com/bar!',
      ['Go to example.org.', 'Or foo.com!'],
    ],
    ['URLs in angle brackets', 'See <https://user@a.b.org:80/x>, <me@x.org>.', ['See a.b.org, me@x.org.']],
    ['e-mail addresses', 'Write to jane.doe@example.org.', ['Write to jane.doe@example.org.']],
    [
      'tags',
      'A <b class="x">bold</b> line<br>here, List<String>, 3 < 5 > 2.',
      ['A bold line here, List<String>, 3 < 5 > 2.'],
    ],
    ['comments', 'A <!-- No. No! --> B.', ['A B.']],
    ['entities', 'A &amp; B &#39;c&#39; &#x64; &nbsp; &lt;e&gt; &what;.', ["A & B 'c' d <e> &what;."]],
    ['emoji', 'Great 🎉! 👩‍👩‍👧 We, 🇩🇪 you ❤️ 1️⃣ one✅two ©.', ['Great!', 'We, you 1 one two ©.']],
    ['space', 'a  \n  b\tc\u00a0d\u200b.', ['a b c d.']],
    ['only punctuation', '...\n\n**\n\n— !', []],
    ['numbers and symbols', 'Price: $4.50 – 10% off.', ['Price: $4.50 – 10% off.']],
  ])('%s', (_, text, expected) => {
    expect(said(text)).toEqual(expected)
  })

  test.each([
    '```js\nlet a. B = 1\n\nc()\n```\n',
    '~~~\nlet a. B\n~~~\n',
    '\n    let a. B\n\n    c()\n\n',
    '1. ```\nlet a\n   ```\n',
  ])('skips, mentions or reads the code in %j', (code) => {
    const text = `Before.\n${code}After.`
    expect(said(text)).toEqual(['Before.', 'After.'])
    expect(said(text, { code: 'mention' })).toEqual(['Before.', 'Here is a block of code.', 'After.'])
    expect(said(text, { code: 'read' })).toContainEqual(expect.stringMatching(/^let a/))
  })

  test('code is mentioned in the language of the text, as soon as it starts', () => {
    const splitter = sentences({ code: 'mention' })
    const found = splitter.push('Das ist der Code, und er ist nicht lang:\n```js\nlet a')
    expect(found.map(({ speech }) => speech)).toEqual([
      'Das ist der Code, und er ist nicht lang:',
      'Hier steht ein Stück Code.',
    ])
    expect(splitter.flush()).toMatchObject([{ source: 'let a', speech: '' }])
  })

  test('an image whose text is split leaves no target', () => {
    expect(said('See ![One. Two](chart.png) now.')).toEqual(['See One.', 'Two now.'])
  })

  test.each(['Use <!-- here. ', 'Use ` here. ', 'See [it](a here. ', 'Is a <b here? '])(
    'the unclosed markup in %j becomes text after a while',
    (opening) => {
      const splitter = sentences()
      const found = splitter.push(opening + 'More words. '.repeat(20))
      expect(found.length).toBeGreaterThan(5)
      const spokenWords = [...found, ...splitter.flush()].flatMap(
        ({ speech }) => speech.match(/More words\./g) ?? [],
      )
      expect(spokenWords).toHaveLength(20)
    },
  )

  test('unclosed code is not read', () => {
    expect(said('Before.\n```\nlet a. B. C.\n\nD.')).toEqual(['Before.'])
  })

  test.each([
    ['a comment', `One <!-- ${'No. '.repeat(30)}--> two.`, ['One', 'two.']],
    ['code', `One \`${'a.b '.repeat(12)}\` two.`, [`One ${'a.b '.repeat(12).trim()}`, 'two.']],
    ['a link target', `See [it](https://example.com/${'a/'.repeat(60)}) now.`, ['See it', 'now.']],
    ['a URL', `See https://example.com/${'a/'.repeat(60)} now.`, ['See example.com', 'now.']],
  ])('%s that is too long is not split', (_, text, expected) => {
    expect(said(text, { maxChars: 30 })).toEqual(expected)
  })

  test('skips a table, or reads it row by row', () => {
    const text = 'Ages:\n\n| Name | Age |\n|:-----|----:|\n| **Bob** | 5. |\n| Al\\|ice | 6 |\n\nDone.'
    expect(said(text)).toEqual(['Ages:', 'Done.'])
    expect(said(text, { tables: 'read' })).toEqual(['Ages:', 'Name, Age', 'Bob, 5.', 'Al|ice, 6', 'Done.'])
  })
})

describe('the origin', () => {
  const mixed = 'A &amp; B. ![c](d) [e **f**](g) `h` https://www.i.org/j 🎉 k.\n> l\n> m'
  const texts = [...cases.map(([, text]) => text), mixed]
  const variants: SentenceOptions[] = [
    {},
    { minChars: 40 },
    { code: 'mention', tables: 'read' },
    { maxChars: 20, code: 'read' },
  ]

  test.each(variants)('is known for every character and for the end, in order, with %j', (options) => {
    for (const { source, speech, origins } of texts.flatMap((text) => split(text, options))) {
      expect(origins).toHaveLength(speech.length + 1)
      expect(origins).toEqual(origins.toSorted((a, b) => a - b))
      expect(origins[0]).toBeGreaterThanOrEqual(0)
      expect(origins.at(-1)).toBe(source.length)
    }
  })

  test.each([{}, { minChars: 40 }])('is the same letter, with %j', (options) => {
    for (const { source, speech, origins } of texts.flatMap((text) => split(text, options))) {
      const letters = [...speech.matchAll(/[\p{L}\p{N}]/gu)]
      const origin = letters.map(({ 0: letter, index }) =>
        source.slice(origins[index], (origins[index] ?? 0) + letter.length),
      )
      expect(origin.join('')).toBe(letters.join(''))
    }
  })
})
