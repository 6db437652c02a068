import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { fragments } from './fragments.test-kit.ts'
import { markdownParser } from './parser.ts'
import { recordingSink } from './recording-sink.test-kit.ts'

function drawn(...pieces: string[]) {
  const sink = recordingSink()
  const parser = markdownParser(sink)
  for (const piece of pieces) parser.write(piece)
  parser.end()
  return sink
}

const xml = (...pieces: string[]) => drawn(...pieces).xml()

const web = 'href=https://a.b/ title=https://a.b/'

/** `~` marks a loose list. */
const examples: [what: string, text: string, drawn: string][] = [
  ['a word with underscores', 'snake_case_name _is_ one', '<p>snake_case_name <em>is</em> one</p>'],
  ['stars and multiplication', '2*3*4 and 2 * 3 and 2**8', '<p>2*3*4 and 2 * 3 and 2**8</p>'],
  [
    'emphasis',
    '*a* **b** ***c*** ~~d~~',
    '<p><em>a</em> <strong>b</strong> <em><strong>c</strong></em> <s>d</s></p>',
  ],
  [
    'emphasis in emphasis',
    '**a *b* c** ***d** e*',
    '<p><strong>a <em>b</em> c</strong> <em><strong>d</strong> e</em></p>',
  ],
  ['emphasis that never ends', '**a *b ~~c\n\nd', '<p>**a *b ~~c</p><p>d</p>'],
  [
    'emphasis that ends too late',
    `**a *b*${'c'.repeat(2000)}** **d**`,
    `<p>**a <em>b</em>${'c'.repeat(2000)}** <strong>d</strong></p>`,
  ],
  ['a mark inside another', '**b*c** *d **e* f**', '<p><strong>b*c</strong> <em>d **e</em> f**</p>'],
  [
    'emphasis without blanks',
    '这是**重要**的 **注意：**请',
    '<p>这是<strong>重要</strong>的 <strong>注意：</strong>请</p>',
  ],
  ['marks before punctuation', '**Note:** 5*(x) (*a*).', '<p><strong>Note:</strong> 5*(x) (<em>a</em>).</p>'],
  ['an escape', '\\*a\\* \\q \\\\', '<p>*a* \\q \\</p>'],
  ['code', '`a*b*` ``c`d`` `` `e` `` `', '<p><code>a*b*</code> <code>c`d</code> <code>`e`</code> `</p>'],
  ['code over lines', '`a\nb`', '<p><code>a b</code></p>'],
  ['money and mathematics', 'from $5 to $x_1$ or $$y$$', '<p>from $5 to $x_1$ or $$y$$</p>'],
  ['entities', '&amp; &lt;b&gt; &#65;&#x42; &nope; &', '<p>& <b> AB &nope; &</p>'],
  ['entities for control characters', 'a&#27;[1m&#x202e;&#0;b', '<p>a[1m\ufffdb</p>'],
  ['html', '<b onclick="x">a</b> <br> <!-- c -->', '<p><b onclick="x">a</b> <br> <!-- c --></p>'],
  [
    'a link',
    '[*a* b](https://a.b "c")',
    '<p><a href=https://a.b/ title=https://a.b/ (c)><em>a</em> b</a></p>',
  ],
  ['a link with brackets', '[a [b]](<https://a.b>)', `<p><a ${web}>a [b]</a></p>`],
  ['brackets that are not links', 'see [1], a[i] and [x] (y)', '<p>see [1], a[i] and [x] (y)</p>'],
  ['a reference', '[a][b]\n\n[b]: https://a.b', `<p>[a][b]</p><p>[b]: <a ${web}>https://a.b</a></p>`],
  ['an image', '![a cat](https://a.b)', `<p><a ${web}>image: a cat</a></p>`],
  [
    'bare addresses',
    '(see https://a.b). <https://a.b>',
    `<p>(see <a ${web}>https://a.b</a>). <a ${web}>https://a.b</a></p>`,
  ],
  ['an address in emphasis', '**https://a.b**', `<p><strong><a ${web}>https://a.b</a></strong></p>`],
  ['incomplete addresses', 'http:// xhttps://a.b', '<p>http:// xhttps://a.b</p>'],
  ['lines', 'a\nb  \nc\\\nd', '<p>a\nb<br></br>c<br></br>d</p>'],
  ['blanks', '  a  b  ', '<p>a  b</p>'],
  ['headings', '# a\n### b ##\n#c\n# #', '<h1>a</h1><h3>b</h3><p>#c</p><h1></h1>'],
  ['hashes in a heading', '# a# #b #\n#  \n## # \t', '<h1>a# #b</h1><h1></h1><h2></h2>'],
  ['a long heading', `# ${'a '.repeat(1100)}##`, `<h1>${'a '.repeat(1099)}a</h1>`],
  ['a line of dashes', 'a\n---\nb\n* * *', '<p>a</p><hr></hr><p>b</p><hr></hr>'],
  ['a list', '- a\n- b\n\nc', '<ul><li><p>a</p></li><li><p>b</p></li></ul><p>c</p>'],
  ['a loose list', '- a\n\n- b', '<ul>~<li><p>a</p></li><li><p>b</p></li></ul>'],
  ['a list that starts at 3', '3) a\n4) b', '<ol start=3><li><p>a</p></li><li><p>b</p></li></ol>'],
  ['a year at the start of a line', 'It was in\n1986. Or so.', '<p>It was in\n1986. Or so.</p>'],
  [
    'lists in lists',
    '1. a\n   - b\n     - c\n   - d\n2. e',
    '<ol><li><p>a</p><ul><li><p>b</p><ul><li><p>c</p></li></ul></li><li><p>d</p></li></ul></li><li><p>e</p></li></ol>',
  ],
  [
    'blocks in an item',
    '1. a\n\n   b\n\n   ```\n   c\n     d\n   ```\n2. e',
    '<ol>~<li><p>a</p><p>b</p><pre info=>c\n  d</pre></li><li><p>e</p></li></ol>',
  ],
  [
    'tasks',
    '- [ ] a\n- [x] b\n- [c] d',
    '<ul><li><p><task done=false></task>a</p></li><li><p><task done=true></task>b</p></li><li><p>[c] d</p></li></ul>',
  ],
  [
    'a quote',
    '> a\nb\n> - c\n>\n> d\n\ne',
    '<quote><p>a\nb</p><ul><li><p>c</p></li></ul><p>d</p></quote><p>e</p>',
  ],
  ['a quote in a quote', '> a\n>> b', '<quote><p>a</p><quote><p>b</p></quote></quote>'],
  [
    'code with backticks in it',
    '````md x="y"\na`b```\n```\n````\nc',
    '<pre info=md x="y">a`b```\n```</pre><p>c</p>',
  ],
  ['code that never ends', '~~~\n\ta\n\n\tb\n', '<pre info=>\ta\n\n\tb</pre>'],
  ['code in a quote that ends', '> ```\n> a\nb', '<quote><pre info=>a</pre></quote><p>b</p>'],
  ['indented code', '    a\n\n      b\n\nc', '<pre>a\n\n  b</pre><p>c</p>'],
  [
    'a table',
    'x\n| a | b |\n|---|:-:|\n| 1 | `2\\|3` | 4 |\n|  | a<br>b\nc',
    '<p>x</p><table><head><th align=left>a</th><th align=center>b</th></head>' +
      '<row><td align=left>1</td><td align=center><code>2|3</code></td><td align=left>4</td></row>' +
      '<row><td align=left></td><td align=center>a<br></br>b</td></row></table><p>c</p>',
  ],
  ['pipes that are not a table', '| a | b |\n| c |', '<p>| a | b |\n| c |</p>'],
  ['escape sequences', 'a\x1b[31mb\x1b[0m \x1b]0;title\x07c\x1b(B \x9bd\x07', '<p>ab c d</p>'],
  ['an escape sequence that never ends', 'a\x1b]0;b\nc', '<p>a]0;b\nc</p>'],
  ['direction overrides', 'a\u202eb\u2066c \u05d0\u200f', '<p>abc \u05d0\u200f</p>'],
  ['line ends', 'a\r\nb\rc', '<p>a\nb\nc</p>'],
  ['half a surrogate pair', '*\ud83d', '<p>*\ud83d</p>'],
  ['nothing', '', ''],
  ['only blanks', ' \n\n  \n', ''],
]

describe('streaming Markdown', () => {
  test.each(examples)('%s', (_, text, expected) => {
    expect(xml(text)).toBe(expected)
  })

  test.each(examples)('%s is drawn the same wherever it is split', (_, text, expected) => {
    expect(xml(...text.split(''))).toBe(expected)
    for (let at = 1; at < text.length; at++) expect(xml(text.slice(0, at), text.slice(at))).toBe(expected)
  })

  const text = fc.array(fragments, { maxLength: 60 }).map((parts) => parts.join(''))

  test('loses and changes no words', () => {
    const wordsOf = (some: string): string[] => some.match(/w[a-z]/g) ?? []
    fc.assert(
      fc.property(text, (some) => {
        // A bare address appears a second time, in its title.
        const shown = wordsOf(drawn(some).words())
        let at = 0
        for (const word of wordsOf(some)) {
          at = shown.indexOf(word, at) + 1
          expect(at, JSON.stringify(some)).toBeGreaterThan(0)
        }
      }),
      { numRuns: sized(3000) },
    )
  })

  test('shows the words of a paragraph as they arrive', () => {
    const sink = recordingSink()
    const parser = markdownParser(sink)
    const seen: string[] = []
    for (const piece of ['He', 'llo **wo', 'rld', '** an', 'd `co', 'de` [li', 'nk](https://a.b)', ' so']) {
      parser.write(piece)
      seen.push(sink.words().replace(/\s+/g, ' ').trim())
    }
    expect(seen).toEqual([
      'He',
      'Hello wo',
      'Hello world',
      'Hello world an',
      'Hello world and',
      'Hello world and code',
      'Hello world and code link https://a.b/',
      'Hello world and code link https://a.b/ so',
    ])
  })

  test.each([
    ['brackets', '['],
    ['backticks', '`a '],
    ['stars', '*a '],
    ['quotes', '> '],
    ['items', '- '],
    ['hashes', '#'],
    ['hashes with blanks', '# '],
    ['headings with many blanks', `# ${' '.repeat(1990)}x`],
    ['blanks', ' '],
    ['dashes', '- - '],
    ['pipes', '| a '],
    ['addresses', 'https://'],
    ['escapes', '\x1b]'],
    ['fences', '```a'],
  ])('reads a long row of %s, character by character, without deep nesting', (_, what) => {
    const text = what.repeat(20_000 / what.length)
    const sink = recordingSink()
    const parser = markdownParser(sink)
    for (const char of text) parser.write(char)
    parser.end()
    expect(sink.maxDepth()).toBeLessThan(60)
  })
})
