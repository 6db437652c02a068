import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../../test/size.ts'
import { markdown } from './markdown.ts'
import { widthOf } from './width.ts'

const esc = String.fromCharCode(27)

/** Rows with their styles written as `<1;4>…<0>`. */
function render(text: string, { width = 60, color = true, pieces = [text] }: RenderOptions = {}): string[] {
  const view = markdown({ width: () => width, color })
  for (const piece of pieces) view.push(piece)
  view.end()
  return view.take().map((row) => row.replaceAll(new RegExp(`${esc}\\[([\\d;]+)m`, 'g'), '<$1>'))
}

interface RenderOptions {
  readonly width?: number
  readonly color?: boolean
  readonly pieces?: readonly string[]
}

const bare = (rows: readonly string[]) => rows.map((row) => row.replace(/<[\d;]+>/g, ''))

describe('within a line', () => {
  test.each([
    ['**bold** and *italic* and ***both***', '<1>bold<0> and <3>italic<0> and <1;3>both<0>'],
    ['__bold__ and _italic_', '<1>bold<0> and <3>italic<0>'],
    ['**bold with *italic* inside**', '<1>bold with <0><1;3>italic<0><1> inside<0>'],
    ['**bold *and italic***', '<1>bold <0><1;3>and italic<0>'],
    ['~~gone~~', '<9>gone<0>'],
    ['`code` and ``a ` tick``', '<36>code<0> and <36>a ` tick<0>'],
    ['**`code` in bold**', '<1;36>code<0><1> in bold<0>'],
    ['`**not bold**`', '<36>**not bold**<0>'],
    ['[a page](https://a.example/x_y_z)', '<4>a page<0><2> (https://a.example/x_y_z)<0>'],
    [
      '![a picture](https://a.example/b.png "title")',
      '<4>image: a picture<0><2> (https://a.example/b.png)<0>',
    ],
    ['https://a.example or <https://b.example/>', '<4>https://a.example<0> or <4>https://b.example/<0>'],
    ['[https://a.example](https://b.example)', '<4>https://a.example<0><2> (https://b.example/)<0>'],
    ['a &amp; b&#27;[31m&#x202e;&#x200f;', 'a & b[31m'],
    ['[x](https://a.example/(paren))', '<4>x<0><2> (https://a.example/(paren))<0>'],
    ['\\*no\\* \\a', '*no* \\a'],
  ])('%s', (text, row) => {
    expect(render(text)).toEqual([row])
  })

  test.each([
    '2 * 3 * 4 and a ** b',
    'snake_case_name and __init',
    '**never closed',
    '`never closed',
    '[no link] and [half](http',
    'array[0](x y z) and f[i]',
    '![a picture](b.png)',
    'a * b*c ~ d ~~ e',
    '5 > 3 and 2 < 4 & so on',
    '!important',
  ])('%s is unchanged', (text) => {
    expect(render(text)).toEqual([text])
  })

  test('a mark that is closed too far away is plain text', () => {
    const far = `**${'far '.repeat(600)}**`
    expect(bare(render(far, { width: 5000 }))).toEqual([far])
  })
})

describe('lines', () => {
  test('headings', () => {
    expect(render('# One\n## Two\n#hashtag\n####### seven')).toEqual([
      '<1;4>One<0>',
      '<1>Two<0>',
      '#hashtag',
      '####### seven',
    ])
  })

  test('lists, nested, wrapped below their first word', () => {
    const rows = render('- one two three\n  * four\n10. ten eleven\n\n-no list\n1.no list', { width: 11 })
    expect(bare(rows)).toEqual([
      '• one two',
      '  three',
      '  • four',
      '10. ten',
      '    eleven',
      '',
      '-no list',
      '1.no list',
    ])
  })

  test('quotes, nested, with lists', () => {
    expect(bare(render('> said *so*\n>> and so\n> - one'))).toEqual(['│ said so', '│ │ and so', '│ • one'])
  })

  test('of deeply nested quotes and lists, only as many are shown as leave room for text', () => {
    expect(bare(render(`${'> '.repeat(9)}a`, { width: 12 }))).toEqual(['│ │ │ a'])
    expect(bare(render(`${'- '.repeat(9)}a`, { width: 12 }))).toEqual(['• • • a'])
  })

  test('blocks in items are indented, and an empty item has its mark', () => {
    const rows = render('1. **a\n   b**\n\n   ```\n   c\n   ```\n2.\n3. > d\n\n   | e |\n   |---|\n   | f |')
    expect(bare(rows)).toEqual([
      '1. a',
      '   b',
      '',
      '   ┌──',
      '   │ c',
      '   └──',
      '2.',
      '3. │ d',
      '',
      '   e',
      '   ─',
      '   f',
    ])
  })

  test('fenced code is unchanged, with its language', () => {
    const rows = render('```ts\nconst a = **b**\n\n  # no heading\n``\n```\nafter')
    expect(bare(rows)).toEqual([
      '┌── ts',
      '│ const a = **b**',
      '│',
      '│   # no heading',
      '│ ``',
      '└──',
      'after',
    ])
  })

  test('a tilde fence can contain a backtick fence, and the end of the text closes it', () => {
    expect(bare(render('~~~\n```\nx'))).toEqual(['┌──', '│ ```', '│ x', '└──'])
  })

  test('wide code wraps, and nothing is lost', () => {
    expect(bare(render('```\nabcdefghij klm\n```', { width: 10 }))).toEqual([
      '┌──',
      '│ abcdefgh',
      '│ ij klm',
      '└──',
    ])
  })

  test('a rule, and lines that only look like one', () => {
    expect(bare(render('---\n**\n- - -\n-----x'))).toEqual(['─'.repeat(40), '**', '─'.repeat(40), '-----x'])
  })

  test('empty lines are kept; a newline at the end adds none', () => {
    expect(render('a\n\n\nb\n')).toEqual(['a', '', '', 'b'])
    expect(render('')).toEqual([])
  })
})

describe('tables', () => {
  const table = '| Name | Price |\n|:-----|---:|\n| a **lamp** | 49 |\n| 日本 | 5 |\n'

  test('are aligned when they are complete', () => {
    expect(bare(render(`${table}after`))).toEqual([
      'Name   │ Price',
      '───────┼──────',
      'a lamp │    49',
      '日本   │     5',
      'after',
    ])
  })

  test('give wide columns the remaining room', () => {
    const rows = render('| key | words |\n|---|---|\n| a | one two three four |', { width: 20 })
    expect(bare(rows)).toEqual(['key │ words', '────┼───────────────', 'a   │ one two three', '    │ four'])
    for (const row of bare(rows)) expect(widthOf(row)).toBeLessThanOrEqual(20)
  })

  test('that do not fit, or are not tables, are unchanged', () => {
    const wide = `|${' word |'.repeat(8)}`
    const lines = `${wide}\n|${'---|'.repeat(8)}\n${wide}`
    expect(
      bare(render(lines, { width: 20 }))
        .join('')
        .replace(/\s/g, ''),
    ).toBe(lines.replace(/\s/g, ''))
    expect(bare(render('| no table\n| at all'))).toEqual(['| no table', '| at all'])
    expect(bare(render('| a |\n|---|\n| b | two words |\n'))).toEqual(['| a |', '|---|', '| b | two words |'])
  })

  test('are shown while they stream', () => {
    const view = markdown({ width: () => 60, color: true })
    view.push('| a | b |\n|---|---|\n| 1 |')
    expect(view.take()).toEqual([])
    expect(view.live().map((row) => row.replaceAll(/.\[\d+m/g, ''))).toEqual([
      '| a | b |',
      '|---|---|',
      '| 1 |',
    ])
  })
})

describe('while the text streams', () => {
  test('a mark takes effect before it is closed', () => {
    const view = markdown({ width: () => 60, color: true })
    view.push('so **bo')
    expect(view.live()).toEqual([`so ${esc}[1mbo${esc}[0m`])
    view.push('ld** `co')
    expect(view.live()).toEqual([`so ${esc}[1mbold${esc}[0m ${esc}[36mco${esc}[0m`])
  })

  test('full rows are returned once', () => {
    const view = markdown({ width: () => 10, color: true })
    view.push('one two three fo')
    expect([view.take(), view.live()]).toEqual([['one two'], ['three fo']])
    view.push('ur')
    expect([view.take(), view.live()]).toEqual([[], ['three four']])
  })
})

const scraps = fc.array(
  fc.constantFrom(
    ...[
      '**',
      '*',
      '_',
      '`',
      '```',
      '~~',
      '~~~',
      '[',
      '](',
      ')',
      '!',
      '\\',
      '|',
      '|---|',
      '# ',
      '- ',
      '1. ',
      '> ',
    ],
    ...[
      '\n',
      '\n',
      '\n\n',
      ' ',
      '  ',
      'word',
      'two words',
      'a',
      '日本',
      '👍',
      'e\u0301',
      '\t',
      '---',
      '"',
      '<',
    ],
  ),
  { maxLength: 60 },
)

test('no word is lost or moved', () => {
  const words = (text: string) => text.match(/[\p{L}👍]/gu)?.join('') ?? ''
  fc.assert(
    fc.property(scraps, fc.integer({ min: 10, max: 40 }), (pieces, width) => {
      const text = pieces.join('')
      expect(words(bare(render(text, { width, pieces })).join(''))).toBe(words(text))
    }),
    { numRuns: sized(1000) },
  )
})

test('no row is wider than the window', () => {
  fc.assert(
    fc.property(scraps, fc.integer({ min: 10, max: 40 }), (pieces, width) => {
      for (const row of bare(render(pieces.join(''), { width })))
        expect(widthOf(row)).toBeLessThanOrEqual(width + 1)
    }),
  )
})

test('without color the source is unchanged', () => {
  const text = '# Title\n\n- **a** `b`\n\n```ts\nx\n```\n| a |\n|---|\n'
  expect(render(text, { color: false, pieces: [...text] })).toEqual(text.slice(0, -1).split('\n'))
})

test('of a very long text of any kind, only the end is still live', () => {
  // One line, an unclosed mark, only marks, an open fence, a table row.
  for (const start of ['', '**', '```\n', '| a |\n|---|\n| ']) {
    for (const text of ['word ', '**', '*a ', '`', '[', '\\', '-', '|', 'x\u0301']) {
      const view = markdown({ width: () => 80, color: true })
      view.push(start)
      for (let count = 0; count < 6000; count++) view.push(text)
      expect(bare(view.live()).join('').length).toBeLessThan(4500)
      expect(bare(view.take()).join('').length).toBeGreaterThan(text.length * 300)
    }
  }
})
