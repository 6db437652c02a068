import type { CommandResults } from './commands/part.ts'
import { ratiosIn, type ServerResults, valuesIn } from './durable/part.ts'
import { median } from './harness/measure.ts'
import type { Saved } from './harness/part.ts'
import { number, type Table, withUnit } from './harness/report.ts'
import type { TelemetryResults } from './telemetry/figures.ts'
import { ourName, referenceName } from './workloads/plan.ts'
import type { Results, Row } from './workloads/results.ts'
import { allWires } from './workloads/workload.ts'

/** All saved results, by part. */
export type SavedResults = Readonly<Record<string, Saved>>

interface Finding {
  readonly text: string
  readonly isMet: boolean
}

interface Goal {
  readonly what: string
  readonly goal: string
  /** Undefined if it was not measured. */
  find(saved: SavedResults): Finding | undefined
}

/** Values in the order of the wires, if there are several. */
function atMost(most: number, values: readonly number[], unit = '×'): Finding | undefined {
  if (values.length === 0) return undefined
  const text = withUnit(0, unit).replace('0.00', values.map(number).join(' / '))
  return { text, isMet: values.every((value) => value <= most) }
}

function both(...all: readonly (Finding | undefined)[]): Finding | undefined {
  const found = all.filter((finding) => finding !== undefined)
  if (found.length < all.length) return undefined
  return { text: found.map(({ text }) => text).join('; '), isMet: found.every(({ isMet }) => isMet) }
}

/** The rows of a client, in the order of the wires. */
function rowsOf(saved: SavedResults, work: string, ends = '', name = ourName): readonly Row[] {
  const { rows = [] } = (saved.clients ?? {}) as Partial<Results>
  return allWires.flatMap(
    (wire) =>
      rows.find(
        (row) => row.client === name && row.work === work && row.wire === wire && row.case.endsWith(ends),
      ) ?? [],
  )
}

const ratios = (rows: readonly Row[], key = 'cpu') => rows.flatMap(({ ratios: all }) => all[key] ?? [])
const medians = (rows: readonly Row[], key: string) =>
  rows.flatMap(({ figures }) => figures[key]?.median ?? [])

const slower = (work: string, most: number): Goal => ({
  what: `\`${work}\`: CPU, fresh or warm, the worse`,
  goal: `≤ ${most} × the reference`,
  find: (saved) => atMost(most, ratios(rowsOf(saved, work))),
})

const crowded = '1,000 at once, each a delta every 20 ms'

function delayRatios(saved: SavedResults): number[] {
  const [ours, reference] = [ourName, referenceName].map((name) => rowsOf(saved, 'streams', crowded, name))
  return (ours ?? []).flatMap((row) => {
    const other = reference?.find(({ wire }) => wire === row.wire)?.figures.p99
    return row.figures.p99 && other ? [row.figures.p99.median / other.median] : []
  })
}

/** The median over all sets. */
const one = (values: readonly number[]) => (values.length > 0 ? [median(values)] : [])
const server = (saved: SavedResults) => saved.server as ServerResults | undefined
const ofServer = (saved: SavedResults, scenario: string, key: string) =>
  one(valuesIn(server(saved), scenario, 'millrace', key))
const overFloor = (saved: SavedResults, scenario: string, key: string, floor: string) =>
  one(ratiosIn(server(saved), scenario, 'millrace', key, floor))

const commands = (saved: SavedResults) => (saved.commands as CommandResults | undefined)?.measured ?? []

const goals: readonly Goal[] = [
  slower('text', 1),
  slower('varied', 1.2),
  slower('short', 0.7),
  slower('loop', 0.8),
  {
    what: '1,000 streams: delay p99; CPU; memory held by each',
    goal: '≤ 1 × the reference; ≤ 1 ×; ≤ 25 KB',
    find: (saved) =>
      both(
        atMost(1, delayRatios(saved)),
        atMost(1, ratios(rowsOf(saved, 'streams', crowded))),
        atMost(25, medians(rowsOf(saved, 'streams', crowded), 'memory'), 'KB'),
      ),
  },
  {
    what: 'durable server: CPU per delta',
    goal: '≤ 1.25 × the hub by hand',
    find: (saved) => atMost(1.25, overFloor(saved, 'steady', 'cpu', 'hub')),
  },
  {
    what: 'durable server: runs at once',
    goal: '≥ 0.85 × the hub with a thread',
    find(saved) {
      const [share] = overFloor(saved, 'capacity', 'runs', 'hub-worker')
      return share === undefined ? undefined : { text: `${number(share)}×`, isMet: share >= 0.85 }
    },
  },
  {
    what: '1,000 followers of one run: CPU of each per delta',
    goal: '≤ 3 µs',
    find: (saved) => atMost(3, ofServer(saved, 'crowd', 'cpu'), 'µs'),
  },
  {
    what: '300 followers reconnect under load',
    goal: '≤ 2 × the hub by hand',
    find: (saved) => atMost(2, overFloor(saved, 'reconnect', 'all', 'hub')),
  },
  {
    what: 'a slow disk: timers late, p99',
    goal: '≤ 5 ms',
    find: (saved) => atMost(5, ofServer(saved, 'slow-disk', 'late'), 'ms'),
  },
  {
    what: 'round 400 against round 1: more CPU per KB more sent',
    goal: '≤ 1 × the reference',
    find: (saved) => atMost(1, ratios(rowsOf(saved, 'rounds'), 'perKilobyte')),
  },
  {
    what: 'import of core and provider: CPU; size, gzipped',
    goal: '≤ 20 ms; ≤ 30 KB',
    find: (saved) =>
      both(
        atMost(20, medians(rowsOf(saved, 'import'), 'cpu'), 'ms'),
        atMost(30, medians(rowsOf(saved, 'import'), 'initial'), 'KB'),
      ),
  },
  {
    what: '`millrace "question"`: CPU, the first time',
    goal: '≤ 150 ms',
    find: (saved) => atMost(150, one(commands(saved).flatMap(({ millrace }) => millrace?.first ?? [])), 'ms'),
  },
  {
    what: '`millrace serve`: CPU to the first byte, the first time',
    goal: '≤ 1.1 × a bare Hono server',
    find: (saved) =>
      atMost(
        1.1,
        one(
          commands(saved).flatMap(({ 'millrace-serve': own, hono }) =>
            own && hono ? own.first / hono.first : [],
          ),
        ),
      ),
  },
  {
    what: '1,000 followers at rest: share of a core',
    goal: '≤ 0.3 %',
    find: (saved) => atMost(0.3, ofServer(saved, 'idle', 'share'), '%'),
  },
  {
    what: 'OpenTelemetry on `loop`: more CPU',
    goal: '≤ 12 %',
    find(saved) {
      const { figures = [] } = (saved.telemetry ?? {}) as Partial<TelemetryResults>
      const more = allWires.flatMap(
        (wire) =>
          figures.find((one) => one.work === 'loop' && one.way === 'otel' && one.wire === wire)?.more
            ?.median ?? [],
      )
      return atMost(
        12,
        more.map((part) => part * 100),
        '%',
      )
    },
  },
]

/** The parts that the goals are about. */
const parts = ['clients', 'commands', 'server', 'telemetry']

/** Each goal with what the saved results say about it. */
export const goalsTable = (saved: SavedResults): Table => ({
  title: '',
  head: ['', 'goal', 'result', ''],
  rows: goals.map(({ what, goal, find }) => {
    const found = find(saved)
    return {
      ours: false,
      cells: [what, goal, found?.text ?? '–', found ? (found.isMet ? 'met' : '**missed**') : 'not measured'],
    }
  }),
  notes: [
    `Node ${[...new Set(parts.flatMap((part) => saved[part]?.node ?? []))].join(', ').replaceAll('v', '')}`,
  ],
})
