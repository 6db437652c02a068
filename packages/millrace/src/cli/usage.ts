import type { SpendingKey, SpendingRow } from '../protocol/index.ts'
import { formatUsd } from '../protocol/index.ts'

import type { CommandLine } from './args.ts'
import { markOf } from './cost-line.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonLine } from './json-lines.ts'
import { openThreads } from './open-threads.ts'
import type { Output } from './output.ts'
import { cleanLine, widthOf } from './terminal/index.ts'

/** Shows what was spent, in a table or as JSON. */
export async function showUsage({ flags }: CommandLine, output: Output): Promise<number> {
  const { by: given = 'day', from, to, user, agent } = flags
  const by = given.split(',').map((key) => key.trim()) as SpendingKey[]
  const app = await openThreads(flags)
  try {
    const rows = await app.spending({ by, from, to, user, agent })
    if (flags.json) for (const row of rows) output.print(jsonLine({ spending: row }))
    else for (const line of tableOf(rows, by)) output.print(`${line}\n`)
    if (rows.length === 0) output.note('nothing was spent')
    return exitCodes.ok
  } finally {
    await app.close()
  }
}

/** What is shown for a row without this key. */
const without: Readonly<Record<SpendingKey, string>> = {
  day: '-',
  agent: '-',
  user: '(no user)',
  model: '(no model)',
  tool: '(no tool)',
}

type Cells = readonly string[]

function tableOf(rows: readonly SpendingRow[], by: readonly SpendingKey[]): string[] {
  if (rows.length === 0) return []
  const total = totalOf(rows)
  const shown = columns.filter(({ isOptional, count }) => !isOptional || count(total) > 0)
  const cellsOf = (row: SpendingRow, names: Cells): Cells => [
    ...names,
    costOf(row),
    ...shown.map(({ count }) => count(row).toLocaleString('en-US')),
  ]
  const table = [
    [...by, 'cost', ...shown.map(({ title }) => title)],
    ...rows.map((row) =>
      cellsOf(
        row,
        by.map((key) => cleanLine(row[key] ?? without[key])),
      ),
    ),
    ...(rows.length > 1 ? [cellsOf(total, ['total', ...by.slice(1).map(() => '')])] : []),
  ]
  const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((cells) => widthOf(cells[at] ?? ''))))
  return table.map((cells) => lineOf(cells, widths, by.length))
}

/** Names are on the left of their columns, numbers on the right. */
function lineOf(cells: Cells, widths: readonly number[], names: number): string {
  const padded = cells.map((cell, at) => {
    const space = ' '.repeat((widths[at] ?? 0) - widthOf(cell))
    return at < names ? cell + space : space + cell
  })
  return padded.join('  ').trimEnd()
}

function costOf({ usd, estimatedUsd, simulatedUsd, unknown }: SpendingRow): string {
  if (usd === 0 && unknown > 0) return 'unknown'
  const known = `${formatUsd(usd)}${markOf('estimated', estimatedUsd, usd)}${markOf('simulated', simulatedUsd, usd)}`
  return unknown > 0 ? `at least ${known}` : known
}

interface Column {
  readonly title: string
  readonly count: (row: SpendingRow) => number
  /** Only shown if a row has one. */
  readonly isOptional?: boolean
}

const columns: readonly Column[] = [
  { title: 'unknown price', count: ({ unknown }) => unknown, isOptional: true },
  { title: 'runs', count: ({ runs }) => runs },
  { title: 'rounds', count: ({ rounds }) => rounds },
  { title: 'tool calls', count: ({ toolCalls }) => toolCalls },
  { title: 'tokens in', count: ({ inputTokens }) => inputTokens },
  { title: 'cached', count: ({ cacheReadTokens }) => cacheReadTokens, isOptional: true },
  { title: 'tokens out', count: ({ outputTokens }) => outputTokens },
]

const amounts = [
  'usd',
  'estimatedUsd',
  'simulatedUsd',
  'unknown',
  'runs',
  'rounds',
  'toolCalls',
  'inputTokens',
  'outputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'ms',
] as const

function totalOf(rows: readonly SpendingRow[]): SpendingRow {
  const sums = amounts.map((name) => [name, rows.reduce((sum, row) => sum + row[name], 0)])
  return Object.fromEntries(sums) as unknown as SpendingRow
}
