import type { WriteStream } from 'node:tty'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { terminalOf } from './screen.test-kit.ts'
import { screenOn } from './screen.ts'

function open(size: { columns?: number; rows?: number } = {}) {
  const terminal = terminalOf(size)
  let sent = ''
  const out = {
    columns: terminal.columns,
    rows: terminal.rows,
    write(text: string) {
      sent = text
      return terminal.write(text)
    },
  }
  return { terminal, screen: screenOn(out as unknown as WriteStream), sent: () => sent, out }
}

describe('the live rows are redrawn in place', () => {
  test('rows above stay, live rows are replaced', () => {
    const { terminal, screen } = open()
    screen.show([], ['a', 'b'])
    screen.show(['done'], ['c'])
    screen.show([], ['c', 'd', 'e'])
    screen.show(['more'], [])
    expect(terminal.lines()).toEqual(['done', 'more'])
    screen.show([], ['f'])
    expect(terminal.lines()).toEqual(['done', 'more', 'f'])
  })

  test('the screen always shows all permanent rows and the last live ones', () => {
    const row = fc.constantFrom('', 'a', 'bb', '日本', 'same')
    const rows = fc.array(row, { maxLength: 6 })
    const step = fc.record({ above: rows, live: rows, at: fc.nat(7) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const { terminal, screen } = open({ columns: 20, rows: 8 })
        const kept: string[] = []
        for (const { above, live, at } of steps) {
          screen.show(above, live, { row: at, before: live[at] ?? '' })
          kept.push(...above)
          const lines = [...kept, ...live]
          expect(terminal.lines()).toEqual(lines.slice(0, lines.findLastIndex((line) => line !== '') + 1))
          if (at < live.length) expect(terminal.cursor().row).toBe(kept.length + at)
        }
      }),
    )
  })

  test('only rows that changed are sent', () => {
    const { screen, sent } = open()
    screen.show([], ['first', 'second', 'third'])
    screen.show([], ['first', 'changed', 'third'])
    expect(sent()).toContain('changed')
    expect(sent()).not.toContain('first')
  })

  test('of more rows than fit, the last are live, and none above is drawn twice', () => {
    const { terminal, screen } = open({ rows: 4 })
    const rows = ['1', '2', '3', '4', '5', '6']
    screen.show(['top'], rows, { row: 5, before: '6' })
    expect(terminal.lines()).toEqual(['top', '4', '5', '6'])
    expect(terminal.cursor()).toEqual({ row: 3, column: 1 })
    screen.show([], rows, { row: 4, before: '5' })
    expect(terminal.cursor()).toEqual({ row: 2, column: 1 })
    screen.show(rows, [])
    expect(terminal.lines()).toEqual(['top', ...rows])
  })

  test('the cursor is after its text, wide or not', () => {
    const { terminal, screen } = open()
    screen.show([], ['› 日本x', 'below'], { row: 0, before: '› 日本' })
    expect(terminal.cursor()).toEqual({ row: 0, column: 6 })
    screen.show(['above'], ['› 日本x', 'below'], { row: 0, before: '› ' })
    expect(terminal.cursor()).toEqual({ row: 1, column: 2 })
    expect(terminal.lines()).toEqual(['above', '› 日本x', 'below'])
  })

  test('wrapped rows are erased after the window got narrower', () => {
    const wide = 'x'.repeat(30)
    const { screen, out, sent } = open({ columns: 40 })
    screen.show(['kept'], [wide, 'prompt'])
    // The terminal has wrapped the wide row.
    out.columns = 20
    screen.clear()
    expect(sent()).toMatch(/^.\[2A\r.\[J$/)
  })

  test('it ends below the live rows', () => {
    const { terminal, screen } = open()
    screen.show([], ['a', 'b', 'c'], { row: 0, before: 'a' })
    screen.close()
    expect(terminal.cursor()).toEqual({ row: 3, column: 0 })
    expect(terminal.modes.has('25')).toBe(true)
  })

  test('a terminal of unknown size is treated as 80 by 24', () => {
    const { screen } = open({ columns: 0, rows: 0 })
    expect([screen.width, screen.height]).toEqual([79, 23])
  })
})
