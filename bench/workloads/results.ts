import { join } from 'node:path'
import type { Wire } from '../contract.ts'
import { rounded, type Spread, spreadOf } from '../harness/measure.ts'
import type { Saved } from '../harness/part.ts'
import { versionIn, versionOf } from '../harness/report.ts'
import { type Known, ourName, referenceName, type Task } from './plan.ts'
import type { Measurement } from './run.ts'

/** One client at one size of one workload over one wire. */
export interface Row {
  readonly work: string
  readonly case: string
  readonly client: string
  readonly wire: Wire
  readonly state: 'done' | 'left-out' | 'failed' | 'over'
  /** Why there are no figures, or the time limit that was exceeded. */
  readonly reason?: string
  readonly figures: Readonly<Record<string, Spread & { readonly values: readonly number[] }>>
  /** The medians, as multiples of the reference's. */
  readonly ratios: Readonly<Record<string, number>>
}

export interface Results extends Saved {
  readonly seed: number
  readonly packages: Readonly<Record<string, string>>
  readonly clients: Readonly<Record<string, { readonly label: string; readonly version?: string }>>
  readonly rows: readonly Row[]
  /** Clients and wires that were not, or not completely, measured for lack of time. */
  readonly unmeasured: readonly string[]
}

export interface ResultsInput {
  readonly seed: number
  readonly clients: readonly Known[]
  readonly measurements: readonly Measurement[]
  readonly unmeasured: readonly Task[]
}

export function resultsOf({
  seed,
  clients,
  measurements,
  unmeasured,
}: ResultsInput): Omit<Results, Exclude<keyof Saved, 'packages'>> {
  const cells = Map.groupBy(measurements, ({ task }) => cellOf(task))
  const rows = Array.from(cells.values(), rowOf)
  const find = (like: Row) =>
    rows.find(
      (row) =>
        row.client === referenceName &&
        row.work === like.work &&
        row.case === like.case &&
        row.wire === like.wire,
    )
  return {
    seed,
    packages: packagesOf(clients),
    clients: Object.fromEntries(clients.map((client) => [client.name, shown(client)])),
    rows: rows.map((row) => slower({ ...row, ratios: ratiosOf(row, find(row)) })),
    unmeasured: [...new Set(unmeasured.map(({ client, wire }) => `${client.name} ${wire}`))],
  }
}

/**
 * Replaces the results of the measured workloads. Ratios are those of the run that measured them.
 */
export function withWorks(before: Results, now: Results): Results {
  const measured = new Set(now.rows.map(({ work }) => work))
  return {
    ...now,
    packages: { ...before.packages, ...now.packages },
    clients: { ...before.clients, ...now.clients },
    rows: [...before.rows.filter(({ work }) => !measured.has(work)), ...now.rows],
  }
}

const cellOf = ({ work, case: one, client, wire }: Task) =>
  [work.name, one.name, client.name, wire].filter(Boolean).join(' ')

function rowOf(measurements: readonly Measurement[]): Row {
  const [first] = measurements
  if (!first) throw new Error('a cell without measurements')
  const { work, case: one, client, wire } = first.task
  const place = { work: work.name, case: one.name, client: client.name, wire, ratios: {} }
  const bad = measurements.map(({ outcome }) => outcome).find(({ type }) => type !== 'done')
  if (bad?.type === 'over')
    return { ...place, state: 'over', reason: `> ${bad.limitMs / 1000} s`, figures: {} }
  if (bad && bad.type !== 'done') return { ...place, state: bad.type, reason: bad.reason, figures: {} }
  const all = measurements.flatMap(({ outcome }) => (outcome.type === 'done' ? [outcome.figures] : []))
  const keys = new Set(all.flatMap((figures) => Object.keys(figures)))
  const figures = Array.from(keys, (key) => {
    const values = rounded(
      all.flatMap((one) => one[key] ?? []),
      5,
    )
    return [key, { ...spreadOf(values), values }] as const
  })
  return { ...place, state: 'done', figures: Object.fromEntries(figures) }
}

function ratiosOf({ figures }: Row, reference: Row | undefined): Record<string, number> {
  const pairs = Object.entries(figures).flatMap(([key, { median: own }]) => {
    const base = reference?.figures[key]?.median
    return base ? [[key, Number((own / base).toPrecision(4))] as const] : []
  })
  return Object.fromEntries(pairs)
}

/**
 * Where a client was measured in a fresh process and warm, the worse one of the two counts. The
 * reference has no worse one: its figure is that of the fresh process.
 */
function slower(row: Row): Row {
  const { fresh, warm } = row.figures
  const { fresh: first = 1, warm: later = 1 } = row.ratios
  const worse = fresh && (!warm || first >= later) ? 'fresh' : 'warm'
  const cpu = row.figures[worse]
  if (!cpu) return row
  return {
    ...row,
    figures: { cpu, ...row.figures },
    ratios: { ...row.ratios, ...(row.ratios[worse] !== undefined && { cpu: row.ratios[worse] }) },
  }
}

function packagesOf(clients: readonly Known[]): Record<string, string> {
  const names = [...new Set(clients.flatMap(({ packages }) => packages))].toSorted()
  return Object.fromEntries(names.flatMap((name) => [[name, versionOf(name) ?? 'not installed'] as const]))
}

function shown({ name, label, packages: [first] }: Known): { label: string; version?: string } {
  const version =
    name === ourName
      ? versionIn(join(import.meta.dirname, '../..'))
      : first === undefined
        ? undefined
        : versionOf(first)
  return { label, ...(version !== undefined && { version }) }
}
