import { expect, test } from 'vitest'
import type { CommandResults } from '../../bench/commands/part.ts'
import { ways } from '../../bench/commands/ways.ts'
import { bench, resultsOf } from './bench-run.ts'

test('every command of the benchmark answers', async () => {
  const { exit, stderr } = await bench('commands', '--tiny')
  expect(exit, stderr).toBe(0)
  const { measured }: CommandResults = resultsOf('commands')
  for (const { name } of ways) expect(measured[0]?.[name]?.cpu).toBeGreaterThan(0)
})
