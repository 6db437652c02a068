import { expect, test } from 'vitest'
import type { UiStreamResults } from '../../bench/ui-stream/part.ts'
import { ways } from '../../bench/ui-stream/ways.ts'
import { bench, resultsOf } from './bench-run.ts'

test('every server of the benchmark of UI message streams sends the whole text', async () => {
  const { exit, stdout, stderr } = await bench('ui-stream', '--tiny')
  expect(exit, stderr).toBe(0)
  expect(stdout).toContain('Millrace, `serve()` with `aiSdkUi()`')
  const { measured }: UiStreamResults = resultsOf('ui-stream')
  for (const { sets } of measured) for (const { name } of ways) expect(sets[0]?.[name]).toBeGreaterThan(0)
})
