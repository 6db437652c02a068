import type { Delays, Spread } from '../../harness/measure.ts'
import type { Saved } from '../../harness/part.ts'
import { delayCell, grouped, linesTable, megabytes, number, type Table, times } from '../../harness/report.ts'
import type { StorePlace } from '../open-store.ts'

export type StoreName = StorePlace['kind']

/** In the order of the tables. */
export const stores: readonly StoreName[] = ['floor', 'postgres', 'sqlite']

/** Rates are per second, times in milliseconds, sizes in bytes. */
export interface AppendFigures {
  readonly store: StoreName
  readonly processes: number
  /** How many threads a group has, and how many events each of them. */
  readonly threads: number
  readonly events: number
  readonly entries: Spread
  /** As a ratio to plain inserts in the same turn. */
  readonly ofFloor: Spread
  /** The CPU time of all processes and the PostgreSQL server, as such a ratio. */
  readonly cpuOfFloor: Spread
  /** How long a group took. */
  readonly times: Delays | undefined
  /** Of the processes and of the PostgreSQL server, in microseconds per entry. */
  readonly cpu: number
  readonly postgresCpu?: number
  /** Of the write-ahead log, per entry. */
  readonly walBytes?: number
}

export interface AppFigures {
  readonly scenario: 'steady' | 'saturated' | 'crowd'
  readonly store: StoreName
  readonly processes: number
  readonly threads: number
  readonly followers: number
  readonly seconds: number
  readonly words: number
  readonly entries: number
  readonly delivered: number
  /** Since the entry was written, to followers at the process that runs the thread and at others. */
  readonly delays: { readonly same: Delays | undefined; readonly other: Delays | undefined }
  /** Since the provider sent the word. */
  readonly sinceSaid: { readonly same: Delays | undefined; readonly other: Delays | undefined }
  readonly cores: {
    readonly servers: number
    readonly postgres: number | undefined
    readonly provider: number
    readonly followers: number
  }
  /** The share of rounds that the process ran which was sent the message. */
  readonly atHome: number | undefined
  readonly faults: readonly string[]
}

/** What calls cost with this many idle threads. */
export interface IdleFigures {
  readonly threads: number
  readonly calls: readonly { readonly name: string; readonly min: number; readonly median: number }[]
}

export interface SizeFigures {
  readonly store: StoreName
  readonly messages: number
  readonly words: number
  /** Entries per 1,000 messages, before and after their deltas were joined. */
  readonly entries: { readonly written: number; readonly packed: number }
  /** Bytes per 1,000 messages: as written, after packing and VACUUM, and rewritten without gaps. */
  readonly bytes: { readonly written: number; readonly packed: number; readonly rewritten: number }
}

export interface PostgresResults extends Saved {
  readonly append: readonly AppendFigures[]
  readonly app: readonly AppFigures[]
  readonly idle: readonly IdleFigures[]
  readonly size: readonly SizeFigures[]
}

const names: Readonly<Record<StoreName, string>> = {
  floor: 'plain inserts',
  postgres: 'PostgreSQL',
  sqlite: 'SQLite',
}
const cores = (value: number | undefined) => value?.toFixed(2)
const percent = (ratio: number) => `${Math.round(ratio * 100)} %`
const spread = ({ median, low, high }: Spread, show: (value: number) => string) =>
  low === high ? show(median) : `${show(median)} (${show(low)}–${show(high)})`

interface Line<Figures> {
  readonly label: string
  cell(figures: Figures): string | undefined
}

/** A column for each number of processes, and for each line a row for each store. */
function byProcesses<Figures extends { readonly store: StoreName; readonly processes: number }>(
  title: string,
  all: readonly Figures[],
  lines: readonly Line<Figures>[],
): Table[] {
  if (all.length === 0) return []
  const columns = [...new Set(all.map(({ processes }) => processes))]
  const of = (processes: number, store: StoreName) =>
    all.find((figures) => figures.processes === processes && figures.store === store)
  return [
    linesTable(
      title,
      columns.map((processes) => ({
        title: processes === 1 ? '1 process' : `${processes} processes`,
        of: processes,
      })),
      lines.flatMap(({ label, cell }) =>
        stores.map((store) => ({
          label: `${label}: ${names[store]}`,
          cell(processes: number) {
            const figures = of(processes, store)
            return figures && cell(figures)
          },
        })),
      ),
    ),
  ]
}

const appendLines: readonly Line<AppendFigures>[] = [
  { label: 'entries per second', cell: ({ entries }) => spread(entries, grouped) },
  {
    label: 'of plain inserts',
    cell: ({ store, ofFloor }) => (store === 'floor' ? undefined : spread(ofFloor, percent)),
  },
  { label: 'time of a group, p50 / p99 / max', cell: (figures) => delayCell(figures.times) },
  {
    label: 'CPU per entry, processes + PostgreSQL server',
    cell: ({ cpu, postgresCpu }) =>
      postgresCpu === undefined ? `${number(cpu)} µs` : `${number(cpu)} + ${number(postgresCpu)} µs`,
  },
  {
    label: 'CPU, as a multiple of plain inserts',
    cell: ({ store, cpuOfFloor }) => (store === 'floor' ? undefined : spread(cpuOfFloor, times)),
  },
  {
    label: 'bytes of write-ahead log per entry',
    cell: ({ walBytes }) => (walBytes === undefined ? undefined : grouped(walBytes)),
  },
]

const lost = ({ faults }: AppFigures) => (faults.length === 0 ? 'nothing' : `${faults.length} followers`)

const appLines: readonly Line<AppFigures>[] = [
  { label: 'words from the provider, per second', cell: ({ words }) => grouped(words) },
  { label: 'entries written, per second', cell: ({ entries }) => grouped(entries) },
  {
    label: 'entries delivered, per second',
    cell: ({ followers, delivered }) => (followers > 0 ? grouped(delivered) : undefined),
  },
  { label: 'from written to follower, same process', cell: ({ delays }) => delayCell(delays.same) },
  { label: 'from written to follower, another process', cell: ({ delays }) => delayCell(delays.other) },
  { label: 'from provider to follower, same process', cell: ({ sinceSaid }) => delayCell(sinceSaid.same) },
  {
    label: 'from provider to follower, another process',
    cell: ({ sinceSaid }) => delayCell(sinceSaid.other),
  },
  { label: 'cores of the servers', cell: ({ cores: { servers } }) => cores(servers) },
  { label: 'cores of the PostgreSQL server', cell: ({ cores: { postgres } }) => cores(postgres) },
  {
    label: 'cores of provider, followers',
    cell: ({ cores: { provider, followers } }) => `${cores(provider)}, ${cores(followers)}`,
  },
  {
    label: 'rounds at the process that got the message',
    cell: ({ atHome }) => (atHome === undefined ? undefined : percent(atHome)),
  },
  { label: 'lost, repeated or out of order', cell: lost },
]

function idleTable(idle: readonly IdleFigures[]): Table[] {
  const calls = idle[0]?.calls.map(({ name }) => name) ?? []
  if (calls.length === 0) return []
  const columns = idle.map((of) => ({ title: `${grouped(of.threads)} threads`, of }))
  return [
    linesTable(
      'What calls cost next to idle threads, in milliseconds: median (min)',
      columns,
      calls.map((label) => ({
        label,
        cell(figures: IdleFigures) {
          const call = figures.calls.find(({ name }) => name === label)
          return call && `${number(call.median)} (${number(call.min)})`
        },
      })),
    ),
  ]
}

function sizeTable(size: readonly SizeFigures[]): Table[] {
  const [first] = size
  if (!first) return []
  return [
    linesTable(
      `Size of 1,000 messages, each with an answer of ${first.words} words`,
      size.map((of) => ({ title: names[of.store], of })),
      [
        {
          label: 'entries: as written, packed',
          cell: ({ entries }) => `${grouped(entries.written)}, ${grouped(entries.packed)}`,
        },
        { label: 'as written', cell: ({ bytes }) => megabytes(bytes.written) },
        { label: 'packed, after VACUUM', cell: ({ bytes }) => megabytes(bytes.packed) },
        { label: 'rewritten without gaps', cell: ({ bytes }) => megabytes(bytes.rewritten) },
      ],
    ),
  ]
}

/** Several processes, one database. */
export function tablesOf({ append, app, idle, size }: PostgresResults): Table[] {
  const scenario = (name: AppFigures['scenario']) => app.filter((one) => one.scenario === name)
  const runs = (all: readonly AppFigures[]) => `${grouped(all[0]?.threads ?? 0)} runs`
  const [steady, saturated, crowd] = [scenario('steady'), scenario('saturated'), scenario('crowd')]
  return [
    ...[...new Set(append.map(({ events }) => events))].flatMap((events) => {
      const some = append.filter((figures) => figures.events === events)
      const title = `The store alone, in groups of ${some[0]?.threads} threads × ${events} ${events === 1 ? 'entry' : 'entries'}`
      return byProcesses(title, some, appendLines)
    }),
    ...byProcesses(`The whole app, ${runs(steady)} at an even pace`, steady, appLines),
    ...byProcesses(`The whole app, ${runs(saturated)} with more words than it can take`, saturated, appLines),
    ...byProcesses(
      `The whole app, ${runs(crowd)} with ${grouped(crowd[0]?.followers ?? 0)} followers`,
      crowd,
      appLines,
    ),
    ...idleTable(idle),
    ...sizeTable(size),
  ]
}

export function faultsIn({ app }: PostgresResults): string[] {
  return app.flatMap((one) =>
    one.faults.map((fault) => `${names[one.store]}, ${one.processes} processes: ${fault}`),
  )
}
