import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Wire } from '../contract.ts'
import { namesOption, numberOption } from '../harness/options.ts'
import type { Part } from '../harness/part.ts'
import { startChild } from '../harness/process.ts'
import type { ServerAnswers } from '../server/main.ts'
import { chart } from './chart.ts'
import { works } from './index.ts'
import { isNeeded, knownClient, planOf, referenceName } from './plan.ts'
import { type Results, resultsOf, withWorks } from './results.ts'
import { runBatches } from './run.ts'
import { tablesOf } from './tables.ts'
import { allWires } from './work.ts'

/** Every file in `clients/` is one. */
function clientNames(): string[] {
  const files = readdirSync(join(import.meta.dirname, '../clients'), { withFileTypes: true })
  return files
    .filter((file) => file.isFile() && file.name.endsWith('.ts'))
    .map(({ name }) => name.slice(0, -3))
    .toSorted()
}

interface Options {
  readonly work: readonly string[]
  readonly client: readonly string[]
  readonly wire: readonly Wire[]
  readonly repeat: number | undefined
  readonly seed: number | undefined
}

/** A quick run is over in two minutes, whatever the machine: what there was no time for is named. */
const budgets = { full: Number.POSITIVE_INFINITY, quick: 113_000, tiny: Number.POSITIVE_INFINITY }

export const clientsPart: Part<number, Options, Results> = {
  name: 'clients',
  title: 'Millrace beside its peers',
  about: 'Millrace beside its peers and floors; 45 minutes, two with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error', 'tsc -p bench'],
  sizes: budgets,
  options: {
    work: namesOption(
      works.map(({ name }) => name),
      'only these works',
    ),
    client: namesOption(
      clientNames(),
      'only these clients, beside the reference, or files by their paths',
      (name) => name.includes('/'),
    ),
    wire: namesOption(allWires, 'only these wires'),
    repeat: numberOption('how often everything is measured'),
    seed: numberOption('the order of a run before', false),
  },
  async run({ mode, size: budgetMs, options, signal, onStep }) {
    const { seed = Date.now() % 1_000_000, repeat } = options
    const clients = await Promise.all(Array.from(new Set([referenceName, ...options.client]), knownClient))
    const batches = planOf({ mode, works: options.work, wires: options.wire, repeat, seed }, clients)
    const server = startChild<ServerAnswers>('server/main.ts')
    try {
      const url = await server.ask('open')
      let begun = 0
      const output = await runBatches({
        batches,
        url,
        signal,
        budgetMs,
        onProgress: ({ work, case: one, client, wire, repetition }) => {
          const what = mode === 'full' ? `${work.name} ${one.name} #${repetition + 1}` : ''
          onStep(`${++begun}/${batches.length} ${client.name} ${wire} ${what}`)
        },
      })
      return resultsOf({ seed, clients, ...output })
    } finally {
      await server.stop()
    }
  },
  details: ({ seed }) => [`seed ${seed}`],
  tables: tablesOf,
  remarks: ({ unmeasured }) => [
    'Smaller is better. × is the multiple of the reference; ranges are the least and the most of all repetitions.',
    ...(unmeasured.length > 0 ? [`There was no time for all of: ${unmeasured.join(', ')}`] : []),
  ],
  faults: ({ rows }) =>
    rows.flatMap(({ client, work, wire, state, reason }) =>
      state === 'failed' && isNeeded(client) ? [`${client} failed at ${work} over ${wire}: ${reason}`] : [],
    ),
  merge: withWorks,
  files: (results) => ({ 'chart.svg': chart(results) }),
}
