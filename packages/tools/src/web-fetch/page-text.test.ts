import { describe, expect, test } from 'vitest'
import { pageText } from './page-text.ts'

const going = new AbortController().signal

async function read(html: string, limit = 5_000_000) {
  return pageText(html, { url: new URL('https://a.example/x/y'), limit, signal: going })
}

async function textOf(html: string): Promise<string> {
  return (await read(html)).text
}

describe('a page as Markdown', () => {
  test.each<[what: string, html: string, text: string]>([
    ['white space is one space', ' a  b\n\tc&nbsp;d&emsp;e ', 'a b c d e'],
    ['words of several elements stay together', 'a<b>b</b><i> c</i>d', 'ab cd'],
    [
      'entities are letters',
      '&lt;b&gt; &amp;amp; &#233;&#x1F600; &unknown; &copy',
      '<b> &amp; é😀 &unknown; ©',
    ],
    ['lines break where browsers break them', 'a<br>b<div>c</div>d<p>e</p>f', 'a\nb\nc\nd\n\ne\n\nf'],
    ['several breaks are one', 'a<p></p><p> </p><div><br><br></div><p>b', 'a\n\nb'],
    ['headings', '<h1>A</h1><h2> b <br> c </h2>d<h6>e</h6>', '# A\n\n## b c\n\nd\n\n###### e'],
    ['an empty heading is nothing', 'a<h2> </h2>b', 'a\n\nb'],
    ['lists', '<ul><li>a<li>b</ul>c<ol start=9><li>d</li><li>e</ol>', '- a\n- b\n\nc\n\n9. d\n10. e'],
    ['lists in lists', '<ul><li>a<ul><li>b<ol><li>c</ol></ul><li>d</ul>', '- a\n  - b\n    1. c\n- d'],
    ['items with paragraphs that are not closed', '<ul><li><p>a<li><p>b</ul>c', '- a\n\n- b\n\nc'],
    ['terms with paragraphs', '<dl><dt><p>a<dd><p>b<dt>c</dl>', 'a\n\n: b\n\nc'],
    ['blocks that end after inline text', '<span><div>a</span>b</div>c', 'ab\nc'],
    ['blocks that end a table too early', '<div><table><tr><td>a</div><td>b</table>c', 'a | b\n\nc'],
    ['text after the body', '<body><p>a</body></html>b', 'ab'],
    [
      'links that are not closed',
      '<a href=/b>c<p>d<a href=/e>f</a>',
      '[c d](https://a.example/b) [f](https://a.example/e)',
    ],
    ['paragraphs in lists', '<ul><li><p>a<p>b</ul>', '- a\n\n  b'],
    ['an empty item is nothing', '<ul><li></li><li>a</ul>', '- a'],
    ['quotes', '<blockquote>a<p>b<ul><li>c</ul></blockquote>d', '> a\n>\n> b\n>\n> - c\n\nd'],
    ['terms', '<dl><dt>a<dd>b<dd>c<dt>d</dl>', 'a\n: b\n: c\nd'],
    ['rules', 'a<hr>b', 'a\n\n---\n\nb'],
    ['code', 'a <code>b c</code>, <code> </code><kbd>d</kbd>', 'a `b c`, `d`'],
    ['deleted text', '<del>5</del> 4', '~~5~~ 4'],
    ['powers', '10<sup>6</sup>', '10^6'],
    ['links', 'a<a href="b?c=d"> e </a>f', 'a [e](https://a.example/x/b?c=d) f'],
    ['links with parentheses', '<a href="/a_(b)">c</a>', '[c](https://a.example/a_%28b%29)'],
    ['links around blocks', '<a href=/><h3>A</h3><p>b</p></a>c', '[A b](https://a.example/) c'],
    ['links around nothing', 'a<a href=/><i></i></a>b', 'ab'],
    ['links without a page', '<a href=#a>b</a> <a>c</a> <a href="javascript:d()">e</a>', 'b c e'],
    ['links to data', '<a href="data:text/html,x">a</a><a href=mailto:b@c.d>e</a>', 'a[e](mailto:b@c.d)'],
    ['links from another base', '<base href=//b.example/c/><a href=d>e</a>', '[e](https://b.example/c/d)'],
    ['images', 'a <img src=b.png alt="c d"> <img src=e>', 'a ![c d](https://a.example/x/b.png)'],
    ['images in links', '<a href=/><img src=b alt=c></a>', '[c](https://a.example/)'],
    ['data as images', '<img alt=a src="data:image/png;base64,xx">', 'a'],
    ['verbatim', 'a<pre>\n  b\n\n c\t<b>d</b><br>e\n</pre>f', 'a\n\n```\n  b\n\n c\td\ne\n```\n\nf'],
    ['verbatim in a language', '<pre><code class="hl language-ts">a</code></pre>', '```ts\na\n```'],
    ['verbatim with fences in it', '<pre>```\na\n```</pre>', '````\n```\na\n```\n````'],
    ['verbatim in a list', '<ul><li>a<pre>b\nc</pre></ul>', '- a\n\n  ```\n  b\n  c\n  ```'],
    [
      'tables of data',
      '<table><thead><tr><th>A<th>B</thead><tr><td>1<td><p>2|3<p>4<tr><td><td></table>',
      '| A | B |\n| --- | --- |\n| 1 | 2\\|3 4 |\n|  |  |',
    ],
    ['tables headed at the side', '<table><tr><th>A<td>1<tr><th>B<td>2</table>', '| A | 1 |\n| B | 2 |'],
    ['layout tables', '<table><tr><td>a<td><p>b<p>c<td><tr><td>d</table>', 'a\n\nb\n\nc\n\nd'],
    ['tables without headings', '<table><tr><td>a<td>b<tr><td>c<td> d</table>', 'a | b\nc | d'],
    ['tables in tables', '<table><tr><td><table><tr><td>a<td>b</table><td>c</table>', 'a | b\n\nc'],
    [
      'tables in tables of data',
      '<table><tr><th>A<tr><td><table><tr><th>b<td>c</table></table>',
      '| A |\n| --- |\n| b c |',
    ],
    ['unclosed elements', '<div><p>a<b>b<div>c', 'ab\n\nc'],
    ['unopened elements', 'a</div></p></b></table></li>b', 'a\n\nb'],
    ['text that is not a tag', 'a < b <3 c &', 'a < b <3 c &'],
    ['comments', 'a<!-- b -->c<!-- d', 'ac'],
  ])('%s', async (_, html, text) => {
    expect(await textOf(html)).toBe(text)
  })

  test('comes with the title', async () => {
    const { title, text } = await read('<title> A &amp;\n b</title><svg><title>d</title></svg>e')
    expect({ title, text }).toEqual({ title: 'A & b', text: 'e' })
  })
})

describe('hidden text', () => {
  test.each([
    '<script>x</script>',
    '<script>"</p>" < x</script>',
    '<style>x</style>',
    '<noscript>x</noscript>',
    '<template><p>x</p></template>',
    '<svg><text>x</text><path/></svg>',
    '<iframe>x</iframe>',
    '<object>x</object>',
    '<select><option>x<option>y</select>',
    '<textarea>x</textarea>',
    '<video>x</video>',
    '<dialog>x</dialog>',
    '<div hidden>x</div>',
    '<div HIDDEN="">x<p>y</div>',
    '<div hidden=until-found>x</div>',
    '<span aria-hidden=true>x</span>',
    '<span aria-hidden=" TRUE ">x</span>',
    '<span style=display:none>x</span>',
    '<span style="color: red; Display : NONE !important">x</span>',
    '<span style="visibility:hidden">x</span>',
    '<span style="opacity: 0.0">x</span>',
    '<span style="font-size:0px">x</span>',
    '<div hidden><div><main>x</main></div>y</div>',
    '<img hidden alt=x>',
    '<a href=/ hidden>x</a>',
    '<pre hidden>x</pre>',
    '<!-- x -->',
  ])('is left out: %s', async (html) => {
    expect(await textOf(`a${html}b`)).toMatch(/^a\s*b$/)
  })

  test.each([
    '<span aria-hidden=false>x</span>',
    '<span style="display:block; opacity:0.5; font-size:10px">x</span>',
    '<dialog open>x</dialog>',
    '<details><p>x</details>',
  ])('does not include %s', async (html) => {
    expect(await textOf(html)).toBe('x')
  })

  test('is left out at any depth', async () => {
    for (const depth of [10, 126, 127, 128, 129, 1000]) {
      const html = `${'<div>'.repeat(depth)}<p hidden>x<b>y</b></p>${'</div>'.repeat(depth)}b`
      expect(await textOf(`a${html}`), String(depth)).toBe('a\nb')
      const script = `${'<div>'.repeat(depth)}<script>x</script>c${'</div>'.repeat(depth)}b`
      expect(await textOf(`a${script}`), String(depth)).toBe('a\nc\nb')
    }
  })
})

describe('the main content', () => {
  const long = 'word '.repeat(50).trim()

  test.each([
    ['main', `<nav>a</nav><main>${long}</main><footer>b</footer>`, long],
    ['an element with that role', `<nav>a</nav><div role=main>${long}</div>b`, long],
    ['an article', `a<article><p>${long}</article>b`, long],
    ['several articles', `a<article>${long}</article>b<article>c</article>`, `${long}\n\nc`],
    ['main before articles', `<article>${long}</article><main>${long} x</main>`, `${long} x`],
    [
      'articles in main and in each other',
      `<main>a<article>b<article>${long}</article></article></main>c`,
      `a\n\nb\n\n${long}`,
    ],
  ])('is returned alone: %s', async (_, html, text) => {
    expect(await textOf(html)).toBe(text)
  })

  test('is not returned alone if it is short', async () => {
    expect(await textOf('<nav>a</nav><main>short</main><footer>b</footer>')).toBe('a\n\nshort\n\nb')
  })
})

describe('a malicious page', () => {
  const size = 256 * 1024
  test.each([
    '<div>',
    '<b></i>',
    '</p>',
    '<ul><li>x',
    '<blockquote>x',
    '<a href=b>x',
    '<table><tr><td>',
    '<table><th>x',
    '<pre>``` ',
    '<code>x',
    '<!--',
    '<',
    '&',
    '<form>',
    '<svg>',
    '<main>x',
    '<a b="',
    '<title>',
    ' ',
  ])('of only %s is read quickly', async (unit) => {
    const { text } = await read(unit.repeat(size / unit.length))
    // Depth must not multiply the output: no margin, fence or bracket per surrounding element.
    expect(text.length).toBeLessThanOrEqual(size * 5)
  })

  test('with unmatched end tags is read quickly', async () => {
    const half = size / 12
    expect(await textOf(`${'<div>'.repeat(half)}${'</dib>'.repeat(half)}x`)).toBe('x')
  })

  test('with repeated searches for a paragraph beyond a table is read quickly', async () => {
    const html = `<p>a<table>${'<b>'.repeat(20_000)}${'<hr>'.repeat(20_000)}`
    expect(await textOf(html)).toMatch(/^a\n\n---/)
  })

  test('with a long attribute, or many, is read quickly', async () => {
    expect(await textOf(`<div style="${';'.repeat(size)}">x`)).toBe('x')
    expect(await textOf(`<div ${'a=b '.repeat(size / 4)}>x`)).toBe('x')
  })

  test('that expands a small source is cut at the limit', async () => {
    const base = `<base href="https://x.example/${'p'.repeat(1900)}/">`
    const { text, cut } = await read(`${base}${'<a href=a>x</a>'.repeat(10_000)}`, 100_000)
    expect(cut).toBe(true)
    expect(text.length).toBeLessThan(110_000)
    expect((await read('short', 100_000)).cut).toBe(false)
  })

  test('is abandoned when the call is canceled', async () => {
    const stop = new AbortController()
    const reading = pageText('<p>'.repeat(size), {
      url: new URL('https://a.example'),
      limit: size,
      signal: stop.signal,
    })
    stop.abort(new Error('canceled'))
    await expect(reading).rejects.toThrow('canceled')
  })
})
