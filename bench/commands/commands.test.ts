import { expect, it } from 'vitest'
import { markdown } from '../harness/report.ts'
import { type CommandResults, commandsPart } from './part.ts'

it('compares each command with the floor of its kind in the same set', () => {
  const figures = (cpu: number) => ({ first: 2 * cpu, cpu, wall: cpu })
  const results: CommandResults = {
    date: '2026-01-02',
    mode: 'full',
    node: 'v24.0.0',
    machine: 'two cores',
    ways: [
      { name: 'fetch', title: 'fetch', ours: false, kind: 'answer' },
      { name: 'hono', title: 'Hono', ours: false, kind: 'serve' },
      { name: 'millrace-serve', title: 'serve', ours: true, kind: 'serve' },
    ],
    measured: [
      { fetch: figures(50), hono: figures(100), 'millrace-serve': figures(120) },
      { fetch: figures(50), hono: figures(200), 'millrace-serve': figures(200) },
    ],
  }
  expect(markdown(commandsPart, results)).toContain('**160 ms (120–200) 1.10×**')
})
