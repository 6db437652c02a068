import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { agent, millrace } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { expect, test } from 'vitest'
import { readServerOptions } from '../packages/millrace/src/server/options.ts'
import { defaultRunLimits } from '../packages/millrace/src/threads/app.ts'
import { root } from './root.ts'

const units: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, s: 1000 }

/** The defaults in the tables of docs/production/limits.md, by the names in their first column. */
function documented(): Map<string, number> {
  const rows = readFileSync(join(root, 'docs/production/limits.md'), 'utf8').matchAll(
    /^\| `([\w.]+)` +\| ([\d,]+)(?: (\w+))? +\|/gm,
  )
  return new Map(
    Array.from(rows, ([, name = '', figure = '', unit = '']) => {
      return [name.replace(/^limits\./, ''), Number(figure.replaceAll(',', '')) * (units[unit] ?? 1)]
    }),
  )
}

test('the page on limits has every limit with its default', async () => {
  const { limits, stuckMs, recheckMs } = readServerOptions({}, 'test')
  const app = millrace({ agents: agent({ model: scriptedModel([]) }) })
  const usage = await app.usage('ada')
  await app.close()
  const quotas = Object.entries(usage).map(([name, { limit }]) => [name, limit] as const)
  const known = documented()
  const options = Object.entries({ ...limits, ...defaultRunLimits, stuckMs, recheckMs })
  expect(known).toEqual(new Map([...quotas, ...options]))
})
