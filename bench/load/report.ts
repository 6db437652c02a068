import { number } from '../report/format.ts'
import type { Spread } from './histogram.ts'
import type { Measured } from './measured.ts'
import type { Mode } from './size.ts'

/** What `results.json` holds. */
export interface LoadResults {
  readonly version: 1
  readonly date: string
  readonly mode: Mode
  readonly node: string
  readonly machine: string
  readonly scenes: readonly Measured[]
}

interface Line {
  readonly label: string
  cell(measured: Measured): string | undefined
}

const mb = (bytes: number) => `${number(bytes / 2 ** 20)} MB`
const rate = (value: number) => Math.round(value).toLocaleString('en')
const cores = (value: number) => value.toFixed(2)
const spread = (delays: Spread | undefined) =>
  delays && `${number(delays.p50)} / ${number(delays.p99)} / ${number(delays.max)} ms`

const lines: readonly Line[] = [
  { label: 'runs under way, followers', cell: ({ threads, followers }) => `${threads}, ${rate(followers)}` },
  { label: 'runs that ended, per second', cell: ({ runs }) => number(runs) },
  { label: 'words of the provider, per second', cell: ({ words }) => rate(words) },
  { label: 'entries written, per second', cell: ({ written }) => rate(written) },
  {
    label: 'entries delivered, per second',
    cell: ({ followers, delivered }) => (followers > 0 ? rate(delivered) : undefined),
  },
  {
    label: 'from written to follower, SSE: p50 / p99 / most',
    cell: ({ delays }) => spread(delays.sse?.sinceWritten),
  },
  {
    label: 'from written to follower, WebSocket',
    cell: ({ delays }) => spread(delays.socket?.sinceWritten),
  },
  { label: 'from provider to follower, SSE', cell: ({ delays }) => spread(delays.sse?.sinceSaid) },
  { label: 'from provider to follower, WebSocket', cell: ({ delays }) => spread(delays.socket?.sinceSaid) },
  { label: "server's timers, late by", cell: ({ late }) => spread(late) },
  {
    label: 'before the long thread was read: written to follower, SSE',
    cell: ({ beside }) => spread(beside?.delays.sse?.sinceWritten),
  },
  {
    label: 'before it, WebSocket',
    cell: ({ beside }) => spread(beside?.delays.socket?.sinceWritten),
  },
  { label: "before it, server's timers", cell: ({ beside }) => spread(beside?.late) },
  { label: 'p99 while it was read to p99 before: SSE, WebSocket', cell: p99Ratios },
  {
    label: 'states, pages, streams, messages of it, per second',
    cell: ({ beside, seconds }) =>
      beside?.reads.kinds.map(({ times }) => number(times.length / seconds)).join(', '),
  },
  {
    label: 'the longest of each took',
    cell: ({ beside }) =>
      beside && `${beside.reads.kinds.map(({ times }) => number(Math.max(0, ...times))).join(' / ')} ms`,
  },
  { label: 'cores: server', cell: ({ cores: used }) => cores(used.server) },
  {
    label: 'cores: provider, followers',
    cell: ({ cores: used }) => `${cores(used.provider)}, ${cores(used.followers)}`,
  },
  {
    label: "server's memory: at first / most / at last",
    cell: ({ memory }) => `${mb(memory.start)} / ${mb(memory.peak)} / ${mb(memory.end)}`,
  },
  {
    label: 'memory of one follower at rest',
    cell: ({ memory: { each } }) => (each === undefined ? undefined : `${number(each / 1024)} KB`),
  },
  {
    label: 'told to those that never read, when they did at last',
    cell: ({ stuck: { entries, frames } }) =>
      entries === 0 ? undefined : `${rate(entries)} entries in ${rate(frames)} frames`,
  },
  { label: 'database', cell: ({ database }) => mb(database) },
  {
    label: 'lost, repeated or broken',
    cell: ({ faults }) => (faults.length === 0 ? 'nothing' : `${faults.length} followers`),
  },
]

function p99Ratios({ delays, beside }: Measured): string | undefined {
  if (!beside) return undefined
  const ratio = (transport: 'sse' | 'socket') => {
    const [now, before] = [delays[transport], beside.delays[transport]]
    return now && before ? `${number(now.sinceWritten.p99 / before.sinceWritten.p99)}×` : '–'
  }
  return `${ratio('sse')}, ${ratio('socket')}`
}

const about = ({ mode, date, node, machine }: LoadResults) =>
  `A ${mode} run of ${date}, Node ${node.replace('v', '')}, ${machine}.`

function rowsOf({ scenes }: LoadResults): string[][] {
  const head = ['', ...scenes.map(({ title }) => title)]
  const body = lines.map(({ label, cell }) => [label, ...scenes.map((scene) => cell(scene) ?? '–')])
  // Some are of one scene only.
  return [head, ...body.filter(([, ...cells]) => cells.some((cell) => cell !== '–'))]
}

export function markdown(results: LoadResults): string {
  const [head = [], ...body] = rowsOf(results)
  const ruler = head.map((_, at) => (at === 0 ? '---' : '---:'))
  const table = [head, ruler, ...body].map((cells) => `| ${cells.join(' | ')} |`)
  return `${about(results)}\n\n${table.join('\n')}`
}

export function printed(results: LoadResults): string {
  const rows = rowsOf(results)
  const width = (column: number) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0))
  const widths = (rows[0] ?? []).map((_, column) => width(column))
  const padded = (cell: string, at: number) =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  const faults = results.scenes.flatMap(({ title, faults }) =>
    faults.slice(0, 10).map((fault) => `${title}: ${fault}`),
  )
  return `\nMillrace under load. ${about(results)}\n\n${[...rows.map((cells) => cells.map(padded).join('   ')), ...faults].join('\n')}\n`
}

const opening = '<!-- load -->'
const closing = '<!-- /load -->'

/** The page with new results; undefined if it has no place for them. */
export function withLoad(page: string, text: string): string | undefined {
  const start = page.indexOf(opening)
  const end = page.indexOf(closing)
  if (start < 0 || end < start) return undefined
  return `${page.slice(0, start + opening.length)}\n\n${text}\n\n${page.slice(end)}`
}
