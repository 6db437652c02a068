import type { Results } from './results.ts'
import type { Table } from './tables.ts'

const opening = '<!-- results -->'
const closing = '<!-- /results -->'

/** What stands between the two markers of the README. */
export function markdown(results: Results, tables: readonly Table[]): string {
  const packages = Object.entries(results.packages).map(([name, version]) => `${name} ${version}`)
  const about = `A ${results.mode} run of ${results.date}, Node ${results.node.replace('v', '')}, ${results.machine}, seed ${results.seed}.

Packages: ${packages.join(', ')}.`
  return [about, ...tables.map(markdownTable)].join('\n\n')
}

export function markdownTable({ title, head, rows, notes }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`
  const ruler = `| ${head.map((_, at) => (at === 0 ? '---' : '---:')).join(' | ')} |`
  const body = rows.map(({ cells, ours }) => line(ours ? cells.map((cell) => `**${cell}**`) : cells))
  const remarks = notes.length > 0 ? `\n\n${notes.map((note) => `- ${escaped(note)}`).join('\n')}` : ''
  return `### ${title}\n\n${[line(head), ruler, ...body].join('\n')}${remarks}`
}

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')

/** The page with new results; undefined if it has no place for them. */
export function withResults(page: string, results: string): string | undefined {
  const start = page.indexOf(opening)
  const end = page.indexOf(closing)
  if (start < 0 || end < start) return undefined
  return `${page.slice(0, start + opening.length)}\n\n${results}\n\n${page.slice(end)}`
}
