import type { ThreadInfo } from '../protocol/index.ts'
import { invalidInput } from '../protocol/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonLine } from './json-lines.ts'
import { openThreads } from './open-threads.ts'
import type { Output } from './output.ts'
import { cleanLine, clip } from './terminal/index.ts'

/** Lists threads, most recently changed first. */
export async function listThreads({ flags }: CommandLine, output: Output): Promise<number> {
  const limit = flags.limit === undefined ? 20 : Number(flags.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalidInput('millrace', `--limit must be a whole number from 1 to 1000, not '${flags.limit}'`)
  const { search } = flags
  if (search !== undefined && !search.trim())
    throw invalidInput('millrace', '--search needs words, such as --search "order 42"')
  const app = await openThreads(flags)
  try {
    const threads: ThreadInfo[] = []
    let next: string | undefined
    do {
      const page = await app.threads({ limit: limit - threads.length, search, cursor: next })
      threads.push(...page.threads)
      next = page.next
      // A search that takes long returns a page that is not full.
    } while (next !== undefined && threads.length < limit)
    if (flags.json) for (const thread of threads) output.print(jsonLine({ thread }))
    else {
      const widest = Math.max(...threads.map(({ id }) => id.length), 0)
      for (const thread of threads) output.print(`${lineOf(thread, widest)}\n`)
      if (next !== undefined) output.note('there are more threads; list them with --limit N')
    }
    if (threads.length === 0)
      output.note(search === undefined ? 'no threads yet' : 'no thread contains all of these words')
    return exitCodes.ok
  } finally {
    await app.close()
  }
}

function lineOf(thread: ThreadInfo, widest: number): string {
  const { id, title = '', agent, updatedAt } = thread
  const line = `${id.padEnd(widest)}  ${whenOf(updatedAt)}  ${stateOf(thread).padEnd(7)}  ${cleanLine(agent)}  ${cleanLine(title)}`
  const columns = process.stdout.isTTY ? process.stdout.columns || 80 : undefined
  return columns === undefined ? line : clip(line, columns - 1)
}

/** The status, or why the last run did not complete. */
function stateOf({ status, outcome }: ThreadInfo): string {
  if (status !== 'idle') return status
  if (outcome === 'failed') return 'failed'
  return outcome === 'canceled' ? 'stopped' : status
}

/** In local time: `2026-11-15 09:30`. */
function whenOf(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return date.toISOString().slice(0, 16).replace('T', ' ')
}
