import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import type { PageResults } from '../../bench/page/part.ts'
import { plainEnv, run } from '../processes.ts'
import { root } from '../root.ts'

const executablePath = inject('chromium')
const bench = (...args: string[]) =>
  run(process.execPath, ['bench/main.ts', 'page', ...args], {
    cwd: root,
    env: { ...plainEnv(), CHROMIUM: executablePath },
  })

describe.skipIf(executablePath === '')('the page benchmark', () => {
  it('measures the page and the floors in a browser', async () => {
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
        // The package of a peer may not be installed.
        if (row.name === 'usual' && row.leftOut !== undefined) continue
        const medians = Object.values(row.figures).map(({ median }) => median)
        expect(medians.length).toBeGreaterThan(0)
        expect(medians.every((median) => median >= 0)).toBe(true)
      }
    }
  })

  it('rejects an unknown option', async () => {
    const { exit, stdout, stderr } = await bench('--fast')
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toContain("Unknown option '--fast'")
  })
})
