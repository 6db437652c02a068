import type { Results } from './results.ts'
import type { Table } from './tables.ts'

/** The tables in fixed columns. Ours is marked. */
export function printed(results: Results, tables: readonly Table[]): string {
  const about = `Millrace bench, ${results.mode}, ${results.date}, Node ${results.node}, ${results.machine}
Smaller is better. × is the multiple of the reference; ranges are the least and the most of all repetitions.\n`
  const left = results.unmeasured.length
  const unmeasured = left === 0 ? '' : `\nThere was no time for all of: ${results.unmeasured.join(', ')}\n`
  return `\n${about}${tables.map(printedTable).join('')}${unmeasured}\n`
}

export function printedTable({ title, head, rows, notes }: Table): string {
  const lines = [head, ...rows.map(({ cells }) => cells)]
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: readonly string[], mark: string) =>
    `${mark} ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('   ')}`
  const body = rows.map(({ cells, ours }) => line(cells, ours ? '▶' : ' '))
  return `\n${title}\n${[line(head, ' '), ...body, ...notes.map((note) => `  (${note})`)].join('\n')}\n`
}
