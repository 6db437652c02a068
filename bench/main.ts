import { machine } from './report/machine.ts'
import { resultsOf } from './report/results.ts'
import { tablesOf } from './report/tables.ts'
import { printed } from './report/terminal.ts'
import { writeResults } from './report/write.ts'
import { isNeeded, knownClient, referenceName } from './runner/clients.ts'
import { runCommand } from './runner/command.ts'
import type { Options } from './runner/options.ts'
import { help, readOptions } from './runner/options.ts'
import { planOf } from './runner/plan.ts'
import { runBatches } from './runner/run.ts'
import { startServer } from './runner/server-process.ts'

/** A quick run is over in two minutes, whatever the machine: what there was no time for is named. */
const budgets = { full: Number.POSITIVE_INFINITY, quick: 113_000, tiny: Number.POSITIVE_INFINITY }

const say = (text: string) => process.stderr.write(text)
const sayProgress = (text: string) => say(process.stderr.isTTY ? `\r\x1b[2K${text}` : `${text}\n`)

async function bench(options: Options, signal: AbortSignal): Promise<number> {
  const names = new Set([referenceName, ...options.clients])
  const clients = await Promise.all(Array.from(names, knownClient))
  const batches = planOf(options, clients)
  const count = batches.flat().length
  const server = await startServer()
  say(`${count} measurements, seed ${options.seed}\n`)
  try {
    let begun = 0
    const { measurements, unmeasured } = await runBatches({
      batches,
      url: server.url,
      signal,
      budgetMs: budgets[options.mode],
      onProgress: ({ work, case: one, client, wire, repetition }) => {
        const what = options.mode === 'full' ? `${work.name} ${one.name} #${repetition + 1}` : ''
        sayProgress(`${++begun}/${batches.length} ${client.name} ${wire} ${what}`)
      },
    })
    sayProgress('')
    const results = resultsOf({ options, clients, measurements, unmeasured, machine: machine() })
    process.stdout.write(printed(results, tablesOf(results)))
    for (const path of await writeResults(results, options.save)) say(`wrote ${path}\n`)
    return results.rows.some((row) => row.state === 'failed' && isNeeded(row.client)) ? 1 : 0
  } finally {
    await server.stop()
  }
}

await runCommand({ help, readOptions, act: bench })
