import { expect, test } from 'vitest'
import type { GatewayResults } from '../../bench/gateway/part.ts'
import { ways } from '../../bench/gateway/ways.ts'
import { bench, resultsOf } from './bench-run.ts'

test('every gateway of the benchmark sends the whole text, in every format', async () => {
  const { exit, stdout, stderr } = await bench('gateway', '--tiny')
  expect(exit, stderr).toBe(0)
  expect(stdout).toContain('Millrace, SQLite and recordings')
  const { measured, leftOut }: GatewayResults = resultsOf('gateway')
  for (const { route, sets } of measured)
    for (const { name } of ways.filter((way) => way.routes.includes(route) && !leftOut.includes(way.name)))
      expect(sets[0]?.[name], `${name} ${route}`).toBeGreaterThan(0)
})
