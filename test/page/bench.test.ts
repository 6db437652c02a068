import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { cut, lastWords, longAnswer } from '../../bench/page/answer.ts'
import { readOptions } from '../../bench/page/options.ts'
import { markdown, printed, withPage } from '../../bench/page/report.ts'
import type { PageResults } from '../../bench/page/results.ts'
import { rowOf } from '../../bench/page/results.ts'
import { plainEnv, run } from '../processes.ts'
import { root } from '../root.ts'

const executablePath = inject('chromium')
const bench = (...args: string[]) =>
  run(process.execPath, ['bench/page/main.ts', ...args], {
    cwd: root,
    env: { ...plainEnv(), CHROMIUM: executablePath },
  })

describe.skipIf(executablePath === '')('what the page costs', () => {
  it('is measured in a browser, beside the floors', async () => {
    const { exit, stderr, stdout } = await bench('--tiny')
    expect({ exit, stderr: exit === 0 ? '' : stderr }).toEqual({ exit: 0, stderr: '' })
    const { tables }: PageResults = JSON.parse(readFileSync(join(root, 'bench/.cache/page.json'), 'utf8'))
    expect(tables.map(({ name }) => name)).toEqual(['size', 'writing', 'opening', 'following'])
    for (const { name, title, rows } of tables) {
      expect(stdout).toContain(title)
      const names = rows.map((row) => row.name)
      expect(names).toEqual(expect.arrayContaining(name === 'size' ? ['ours', 'limit'] : ['ours', 'floor']))
      for (const row of rows) {
        expect(stdout).toContain(row.title)
        // What is only here to be beaten may not be installed.
        if (row.name === 'usual' && row.leftOut !== undefined) continue
        const medians = Object.values(row.figures).map(({ median }) => median)
        expect(medians.length).toBeGreaterThan(0)
        expect(medians.every((median) => median >= 0)).toBe(true)
      }
    }
  })

  it('says what is wrong with an option', async () => {
    const { exit, stdout, stderr } = await bench('--fast')
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toContain("Unknown option '--fast'")
  })
})

describe('the report of the page', () => {
  const results: PageResults = {
    version: 1,
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
          { name: 'usual', title: 'usual', figures: {}, leftOut: 'it is not there' },
        ],
      },
    ],
  }

  it('has medians with their range, and multiples of the floor', () => {
    for (const text of [markdown(results), printed(results)]) {
      expect(text).toContain('3.00 ms (2.00–4.00) 1.00×')
      expect(text).toContain('6.00 ms 2.00×')
      expect(text).toContain('1,234')
      expect(text).toContain('usual: left out, it is not there')
      expect(text).toContain('Chromium 150.0.1, Node 24.0.0, marked 18.2.0, two cores.')
    }
  })

  it('is put between the markers of a page, again and again', () => {
    const page = '# Bench\n\n<!-- page -->\nyesterday\n<!-- /page -->\n\nend\n'
    const once = withPage(page, markdown(results)) ?? ''
    expect(once).toContain('**Millrace**')
    expect(once).not.toContain('yesterday')
    expect(withPage(once, markdown(results))).toBe(once)
    expect(withPage('# Bench', '')).toBeUndefined()
  })

  it('is kept only of a full run, unless that is asked for', () => {
    expect(readOptions([])).toEqual({ mode: 'full', save: true })
    expect(readOptions(['--quick'])).toEqual({ mode: 'quick', save: false })
    expect(readOptions(['--quick', '--save'])?.save).toBe(true)
    expect(readOptions(['--help'])).toBeUndefined()
  })
})

describe('the answer that is shown', () => {
  it('is the same each time, as long as it is said to be, and whole in its pieces', () => {
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
