import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Wire } from '../contract.ts'
import { namesOption, numberOption } from '../harness/options.ts'
import type { Part } from '../harness/part.ts'
import { startChild } from '../harness/process.ts'
import type { ServerAnswers } from '../server/main.ts'
import { chart } from './chart.ts'
import { workloads } from './index.ts'
import { isNeeded, knownClient, planOf, referenceName } from './plan.ts'
import { type Results, resultsOf, withWorks } from './results.ts'
import { runBatches } from './run.ts'
import { tablesOf } from './tables.ts'
import { allWires } from './workload.ts'

/** Every file in `clients/` is a client. */
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

/** A quick run ends within two minutes on any machine, and lists what it had no time for. */
const budgets = { full: Number.POSITIVE_INFINITY, quick: 113_000, tiny: Number.POSITIVE_INFINITY }

export const clientsPart: Part<number, Options, Results> = {
  name: 'clients',
  title: 'Millrace compared with its peers',
  about: 'Millrace compared with its peers and floors; 75 minutes, two with --quick',
  prepare: ['npm install --prefix bench --no-audit --no-fund --loglevel=error', 'tsc -p bench'],
  sizes: budgets,
  options: {
    work: namesOption(
      workloads.map(({ name }) => name),
      'only these workloads',
    ),
    client: namesOption(clientNames(), 'only these clients (names or paths) and the reference', (name) =>
      name.includes('/'),
    ),
    wire: namesOption(allWires, 'only these wires'),
    repeat: numberOption('repetitions of each measurement'),
    seed: numberOption('the seed of an earlier run, for the same order', false),
  },
  async run({ mode, size: budgetMs, options, signal, onStep }) {
    const { seed = Date.now() % 1_000_000, repeat } = options
    const clients = await Promise.all(Array.from(new Set([referenceName, ...options.client]), knownClient))
    const batches = planOf({ mode, works: options.work, wires: options.wire, repeat, seed }, clients)
    const server = startChild<ServerAnswers>('server/main.ts')
    try {
      const url = await server.ask('open')
      let started = 0
      const output = await runBatches({
        batches,
        url,
        signal,
        budgetMs,
        onProgress: ({ work, case: one, client, wire, repetition }) => {
          const what = mode === 'full' ? `${work.name} ${one.name} #${repetition + 1}` : ''
          onStep(`${++started}/${batches.length} ${client.name} ${wire} ${what}`)
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
    'Smaller is better. × is the multiple of the reference; ranges are the minimum and maximum of all repetitions.',
    ...(unmeasured.length > 0 ? [`Not measured completely, for lack of time: ${unmeasured.join(', ')}`] : []),
  ],
  faults: ({ rows }) =>
    rows.flatMap(({ client, work, wire, state, reason }) =>
      state === 'failed' && isNeeded(client) ? [`${client} failed at ${work} over ${wire}: ${reason}`] : [],
    ),
  merge: withWorks,
  files: (results) => ({ 'chart.svg': chart(results) }),
}
