import type { ThreadInfo } from '../protocol/index.ts'
import { invalidInput, textOf } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import type { CommandLine } from './args.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonLine } from './json-lines.ts'
import type { Output } from './output.ts'
import { cleanLine, clip } from './terminal/index.ts'
import { threadsAt } from './threads-at.ts'

/** Lists threads, those that changed last first. */
export async function listThreads({ flags }: CommandLine, output: Output): Promise<number> {
  const limit = flags.limit === undefined ? 20 : Number(flags.limit)
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw invalidInput('millrace', `--limit takes a whole number from 1 to 1000, not '${flags.limit}'`)
  const app = threadsAt(flags.data)
  try {
    const { threads, next } = await app.threads({ limit })
    const rows = await Promise.all(threads.map((info) => rowOf(app, info)))
    if (flags.json) for (const { info, title } of rows) output.say(jsonLine({ thread: { ...info, title } }))
    else {
      const widest = Math.max(...rows.map(({ info }) => info.id.length), 0)
      for (const row of rows) output.say(`${lineOf(row, widest)}\n`)
      if (next !== undefined) output.tell('there are more: millrace threads --limit N')
    }
    if (rows.length === 0) output.tell('there are no threads yet')
    return exitCodes.ok
  } finally {
    await app.close()
  }
}

interface Row {
  readonly info: ThreadInfo
  /** How it began. */
  readonly title: string
}

async function rowOf(app: App, info: ThreadInfo): Promise<Row> {
  const entries = await app.thread(info.id).read({ limit: 20 })
  const first = entries.find(({ event }) => event.type === 'input')?.event
  const title = first?.type === 'input' ? clip(cleanLine(textOf(first.message)), 200) : ''
  return { info, title }
}

function lineOf({ info, title }: Row, widest: number): string {
  const { id, status, agent, updatedAt } = info
  const line = `${id.padEnd(widest)}  ${whenOf(updatedAt)}  ${status.padEnd(7)}  ${cleanLine(agent)}  ${title}`
  const columns = process.stdout.isTTY ? process.stdout.columns || 80 : undefined
  return columns === undefined ? line : clip(line, columns - 1)
}

/** In the time of whoever reads it: `2026-11-15 09:30`. */
function whenOf(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return date.toISOString().slice(0, 16).replace('T', ' ')
}
