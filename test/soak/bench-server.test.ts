import { expect, test } from 'vitest'
import type { ServerResults } from '../../bench/durable/part.ts'
import { scenarios } from '../../bench/durable/scenarios.ts'
import { missing, wayOf } from '../../bench/durable/ways.ts'
import { root } from '../root.ts'
import { bench, resultsOf } from './bench-run.ts'

test('every server of the benchmark sends its followers each word once, in order', async () => {
  const { exit, stdout, stderr } = await bench('server', '--tiny')
  expect(exit, stdout + stderr).toBe(0)
  const { measured }: ServerResults = resultsOf('server')
  expect(measured.map(({ scenario }) => scenario)).toEqual(scenarios.map(({ name }) => name))
  for (const [index, { ways, figures }] of scenarios.entries())
    for (const name of ways.filter((way) => missing(wayOf(way)) === undefined))
      expect(Object.keys(measured[index]?.sets[0]?.[name] ?? {})).toEqual(figures.map(({ key }) => key))
})

test('a build of another checkout can be measured by its path', async () => {
  const { exit, stdout, stderr } = await bench('server', '--tiny', '--scenario', 'steady', '--way', root)
  expect(exit, stdout + stderr).toBe(0)
})
