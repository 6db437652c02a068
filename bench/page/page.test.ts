import { describe, expect, it } from 'vitest'
import { markdown, printed, withSection } from '../harness/report.ts'
import { cut, lastWords, longAnswer } from './answer.ts'
import { type PageResults, pagePart, rowOf } from './part.ts'

describe('the report of the page benchmark', () => {
  const results: PageResults = {
    date: '2026-01-02',
    mode: 'full',
    node: 'v24.0.0',
    chromium: '150.0.1',
    machine: 'two cores',
    packages: { marked: '18.2.0' },
    tables: [
      {
        name: 'writing',
        title: 'A long answer',
        rows: [
          rowOf('floor', 'floor', [{ perKb: 2 }, { perKb: 4 }, { perKb: 3 }]),
          rowOf('ours', 'Millrace', [{ perKb: 6, nodes: 1234 }]),
          { name: 'usual', title: 'usual', figures: {}, leftOut: 'it is not installed' },
        ],
      },
    ],
  }

  it('has medians with their range, and multiples of the floor', () => {
    for (const text of [markdown(pagePart, results), printed(pagePart, results)]) {
      expect(text).toContain('3.00 ms (2.00–4.00) 1.00×')
      expect(text).toContain('6.00 ms 2.00×')
      expect(text).toContain('1,234')
      expect(text).toContain('usual: left out, it is not installed')
      expect(text).toContain('Chromium 150.0.1, Node 24.0.0, marked 18.2.0, two cores.')
    }
  })

  it('is written between the markers of a page', () => {
    const page = '# Bench\n\n<!-- page -->\nyesterday\n<!-- /page -->\n\nend\n'
    const once = withSection(page, 'page', markdown(pagePart, results)) ?? ''
    expect(once).toContain('**Millrace**')
    expect(once).not.toContain('yesterday')
    expect(withSection(once, 'page', markdown(pagePart, results))).toBe(once)
    expect(withSection('# Bench', 'page', '')).toBeUndefined()
  })
})

describe('the answer', () => {
  it('is always the same, has the given length, and is complete in its pieces', () => {
    const text = longAnswer(20_000)
    expect(text).toHaveLength(20_000)
    expect(text).toBe(longAnswer(20_000))
    expect(text.endsWith(`${lastWords}\n`)).toBe(true)
    for (const mark of ['## ', '\n- ', '```ts', '|---|', '\n1. ', '\n> ', '**']) expect(text).toContain(mark)
    const pieces = cut(text, 977)
    expect(pieces).toHaveLength(977)
    expect(pieces.join('')).toBe(text)
  })
})
