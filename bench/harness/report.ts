import { readFileSync } from 'node:fs'
import { arch, cpus, platform, totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import type { Delays } from './measure.ts'
import type { AnyPart, Saved } from './part.ts'

export interface Table {
  /** Empty if the part has only this table. */
  readonly title: string
  /** Column headings; the first is empty. */
  readonly head: readonly string[]
  readonly rows: readonly { readonly cells: readonly string[]; readonly ours: boolean }[]
  /** Why some cells are empty. */
  readonly notes: readonly string[]
}

/** A table with a column for each item. Lines without a value are left out. */
export function linesTable<Item>(
  title: string,
  items: readonly { readonly title: string; readonly of: Item }[],
  lines: readonly { readonly label: string; cell(item: Item): string | undefined }[],
): Table {
  const rows = lines.map(({ label, cell }) => [label, ...items.map(({ of }) => cell(of) ?? '–')])
  return {
    title,
    head: ['', ...items.map((item) => item.title)],
    rows: rows
      .filter(([, ...cells]) => cells.some((cell) => cell !== '–'))
      .map((cells) => ({ cells, ours: false })),
    notes: [],
  }
}

/** Three significant digits. */
export function number(value: number): string {
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export const grouped = (count: number) => Math.round(count).toLocaleString('en')
export const times = (ratio: number) => `${number(ratio)}×`
export const megabytes = (bytes: number) => `${number(bytes / 2 ** 20)} MB`

/** Delays as a table cell. */
export const delayCell = (delays: Delays | undefined) =>
  delays && `${number(delays.p50)} / ${number(delays.p99)} / ${number(delays.max)} ms`

export const withUnit = (value: number, unit: string) =>
  unit === '×' || unit === '' ? `${number(value)}${unit}` : `${number(value)} ${unit}`

/** A description without host name or address. */
export function machine(): string {
  const cores = cpus()
  const model = cores[0]?.model.trim()
  const memory = Math.round(totalmem() / 2 ** 30)
  const named = model && model !== 'unknown' ? `, ${model}` : ''
  return `${platform()} on ${arch()}, ${cores.length} cores${named}, ${memory} GB of memory`
}

/** The installed version of a package as Node resolves it from here; undefined if not installed. */
export function versionOf(name: string): string | undefined {
  for (let folder = import.meta.dirname; ; folder = dirname(folder)) {
    const version = versionIn(join(folder, 'node_modules', name))
    if (version !== undefined || folder === dirname(folder)) return version
  }
}

/** Versions of the installed ones among these packages. */
export const versionsOf = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    names.flatMap((name) => [versionOf(name) ?? []].flat().map((version) => [name, version])),
  )

export function versionIn(folder: string): string | undefined {
  try {
    const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    return version
  } catch {
    return undefined
  }
}

/** Up to this many packages are listed in the line about a run; more get their own line. */
const fewPackages = 8
const mostFaults = 20

function aboutOf(part: AnyPart, results: Saved): string {
  const packages = Object.entries(results.packages ?? {}).map(([name, version]) => `${name} ${version}`)
  const isFew = packages.length <= fewPackages
  const words = [
    `A ${results.mode} run of ${results.date}`,
    ...(part.details?.(results) ?? []),
    `Node ${results.node.replace('v', '')}`,
    ...(isFew ? packages : []),
    results.machine,
  ]
  return `${words.join(', ')}.${isFew ? '' : `\n\nPackages: ${packages.join(', ')}.`}`
}

function faultLines(part: AnyPart, results: Saved): string[] {
  const faults = part.faults(results)
  const more = faults.length - mostFaults
  return [...faults.slice(0, mostFaults), ...(more > 0 ? [`and ${more} more`] : [])]
}

/** The tables in fixed columns, with Millrace marked. */
export function printed(part: AnyPart, results: Saved): string {
  const tables = part.tables(results).map(printedTable).join('')
  const lines = [...(part.remarks?.(results) ?? []), ...faultLines(part, results)]
  return `\n${part.title}. ${aboutOf(part, results)}\n${tables}${lines.map((line) => `\n${line}\n`).join('')}\n`
}

function printedTable({ title, head, rows, notes }: Table): string {
  const lines = [head, ...rows.map(({ cells }) => cells)]
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)))
  const padded = (cell: string, at: number) =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  const line = (cells: readonly string[], mark: string) => `${mark} ${cells.map(padded).join('   ')}`
  const body = rows.map(({ cells, ours }) => line(cells, ours ? '▶' : ' '))
  return `\n${title}\n${[line(head, ' '), ...body, ...notes.map((note) => `  (${note})`)].join('\n')}\n`
}

export function markdown(part: AnyPart, results: Saved): string {
  const faults = faultLines(part, results)
  const sections = part.tables(results).map(markdownTable)
  const about = aboutOf(part, results)
    .split('\n\n')
    .map((text) => wrapped(text))
  return [...about, ...sections, ...(faults.length > 0 ? [listOf(faults)] : [])].join('\n\n')
}

/** Wraps prose at 100 columns. */
function wrapped(text: string, indent = ''): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line.trim() === '') lines[lines.length - 1] = line + word
    else if (line.length + 1 + word.length > 100) lines.push(indent + word)
    else lines[lines.length - 1] = `${line} ${word}`
  }
  return lines.join('\n')
}

export function markdownTable({ title, head, rows, notes }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`
  const ruler = `| ${head.map((_, at) => (at === 0 ? '---' : '---:')).join(' | ')} |`
  const body = rows.map(({ cells, ours }) => line(ours ? cells.map((cell) => `**${cell}**`) : cells))
  const table = [line(head), ruler, ...body].join('\n')
  return [...(title ? [`### ${title}`] : []), table, ...(notes.length > 0 ? [listOf(notes)] : [])].join(
    '\n\n',
  )
}

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
const listOf = (lines: readonly string[]) =>
  lines.map((line) => wrapped(`- ${escaped(line)}`, '  ')).join('\n')

/** The page with new text between the markers of this name; undefined if it has no markers. */
export function withSection(page: string, name: string, text: string): string | undefined {
  const opening = `<!-- ${name} -->`
  const start = page.indexOf(opening)
  const end = page.indexOf(`<!-- /${name} -->`)
  if (start < 0 || end < start) return undefined
  return `${page.slice(0, start + opening.length)}\n\n${text}\n\n${page.slice(end)}`
}
