import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Measured, measureEverything } from './measured.ts'
import { metricRows } from './metric-tables.ts'
import { labelOf, type Metric, seriesOf } from './prometheus-names.ts'
import { readPromql } from './promql.ts'
import { root } from './root.ts'

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly datasource?: unknown
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly {
    readonly refId: string
    readonly expr: string
    readonly legendFormat: string
    readonly datasource?: unknown
  }[]
}

interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly schemaVersion: number
  readonly templating: {
    readonly list: readonly {
      readonly name: string
      readonly type: string
      readonly definition?: string
      readonly datasource?: unknown
    }[]
  }
  readonly panels: readonly Panel[]
}

const text = readFileSync(join(root, 'docs', 'grafana-dashboard.json'), 'utf8')
const dashboard: Dashboard = JSON.parse(text)
const graphs = dashboard.panels.filter(({ type }) => type !== 'row')
const targets = graphs.flatMap(({ title, targets: its = [] }) => its.map((target) => ({ title, ...target })))
const variables = dashboard.templating.list
const prometheus = { type: 'prometheus', uid: '$datasource' }

const rows = metricRows(readFileSync(join(root, 'docs', 'production', 'observability.md'), 'utf8'))

let current: readonly Measured[] = []
let both: readonly Measured[] = []
beforeAll(async () => {
  current = await measureEverything('current')
  both = await measureEverything('both')
})

describe('the dashboard', () => {
  test('has panels with unique ids that do not overlap', () => {
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every((id) => Number.isInteger(id) && id > 0)).toBe(true)
    const outside = dashboard.panels.filter(
      ({ gridPos: { x, y, w, h } }) => x < 0 || y < 0 || x + w > 24 || h < 1,
    )
    expect(outside.map(({ title }) => title)).toEqual([])
    expect(overlaps(dashboard.panels)).toEqual([])
    expect(dashboard.schemaVersion).toBe(42)
    expect(dashboard.uid).toMatch(/^[a-zA-Z0-9_-]{1,40}$/)
  })

  test('has a description, a unit and queries in every panel', () => {
    expect(graphs.filter(({ targets: its = [] }) => its.length === 0).map(({ title }) => title)).toEqual([])
    for (const { title, description, fieldConfig, targets: its = [] } of graphs) {
      expect(`${title}: ${description ?? ''}`).toMatch(/: \S.*\.$/)
      expect(fieldConfig?.defaults.unit, title).toMatch(/^(s|short|percentunit|bytes|currencyUSD)$/)
      const refs = its.map(({ refId }) => refId)
      expect(new Set(refs).size, title).toBe(refs.length)
    }
  })

  test('queries only the selected data source', () => {
    expect(variables.find(({ name }) => name === 'datasource')).toMatchObject({
      type: 'datasource',
      query: 'prometheus',
    })
    const asking = [...graphs, ...targets, ...variables.filter(({ definition }) => definition)]
    expect(asking.filter(({ datasource }) => !isDeepStrictEqual(datasource, prometheus))).toEqual([])
    expect(text).not.toMatch(/instance|localhost|127\.0\.0\.1/)
  })

  test('uses the variables it has, and no others', () => {
    const known = variables.map(({ name }) => name)
    const used = [...text.matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name)
    expect(new Set(used.filter((name) => !name.startsWith('__')))).toEqual(new Set(known))
  })

  test('queries valid PromQL, with rates over at least two points', () => {
    expect(targets.length).toBeGreaterThan(20)
    for (const { expr } of targets) {
      expect(readPromql(filled(expr)).faults, expr).toEqual([])
      expect(expr).not.toMatch(/\[(?!\$__rate_interval\])/)
    }
    expect(readPromql('sum by (le) (rate(a_bucket{b="c"}[5m])').faults).not.toEqual([])
  })

  test('queries metrics of otel(), by their attributes', () => {
    for (const { expr } of targets) expect(unmeasured(filled(expr), current), expr).toEqual([])
    expect(unmeasured('sum by (le, a) (rate(millrace_flush_size_bucket{b="c"}[5m]))', current)).toEqual([
      'b',
      'a',
    ])
    expect(unmeasured('rate(millrace_flush_size_seconds[5m])', current)).toEqual([
      'millrace_flush_size_seconds',
    ])
  })

  test('shows every metric of otel()', () => {
    const asked = new Set(
      targets.flatMap(({ expr }) => readPromql(filled(expr)).asked.map(({ series }) => series)),
    )
    const unseen = current.filter((metric) => !seriesOf(metric).some((series) => asked.has(series)))
    expect(unseen.map(({ name }) => name)).toEqual([])
  })

  test('names series by labels that the sums keep', () => {
    for (const { expr, legendFormat } of targets) {
      const { groups } = readPromql(filled(expr))
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name)
      expect(named, `${legendFormat} for ${expr}`).toEqual(
        [...new Set(groups)].filter((label) => label !== 'le'),
      )
    }
  })

  test('lists agents and models from existing series', () => {
    const queries = variables.flatMap(({ definition }) => definition ?? [])
    expect(queries).toHaveLength(2)
    for (const query of queries) {
      const [, series = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []
      expect(unmeasured(`${series}{${label}!=""}`, current), query).toEqual([])
    }
  })
})

describe('the tables of docs/production/observability.md', () => {
  test('have exactly the metrics of otel(), with their kinds and units', () => {
    const older = both.filter(({ name }) => !current.some((one) => one.name === name))
    expect(
      rows
        .filter(({ isOlder }) => !isOlder)
        .map(plain)
        .toSorted(),
    ).toEqual(current.map(plain).toSorted())
    expect(
      rows
        .filter(({ isOlder }) => isOlder)
        .map(plain)
        .toSorted(),
    ).toEqual(older.map(plain).toSorted())
  })

  test('name exactly the attributes of the metrics', () => {
    for (const { name, attributes } of rows.filter(({ isOlder }) => !isOlder)) {
      const measured = current.find((metric) => metric.name === name)?.attributes
      expect([...(measured ?? [])].toSorted(), name).toEqual(attributes.toSorted())
    }
  })

  test("list the 'older' names of all renamed metrics", async () => {
    const older = await measureEverything('older')
    const renamed = current.filter(({ name }) => name.startsWith('gen_ai.client.inference.'))
    expect(older.filter(({ name }) => renamed.some((one) => one.name === name))).toEqual([])
    expect(older.length).toBe(both.length - renamed.length)
  })
})

test('names are converted as in Prometheus', () => {
  const duration: Metric = { name: 'gen_ai.client.inference.duration', unit: 's', kind: 'histogram' }
  expect(seriesOf(duration)[0]).toBe('gen_ai_client_inference_duration_seconds_bucket')
  expect(seriesOf({ name: 'millrace.runs', unit: '{run}', kind: 'counter' })).toEqual(['millrace_runs_total'])
  expect(seriesOf({ name: 'millrace.queue.depth', unit: '{thread}', kind: 'gauge' })).toEqual([
    'millrace_queue_depth',
  ])
})

/** Replaces the variables of Grafana. */
function filled(expr: string): string {
  return expr.replaceAll('$__rate_interval', '5m')
}

/** The series and labels of an expression that are not measured. */
function unmeasured(expr: string, measured: readonly Measured[]): string[] {
  const { asked, groups } = readPromql(expr)
  return asked.flatMap(({ series, labels }) => {
    const metric = measured.find((one) => seriesOf(one).includes(series))
    if (!metric) return [series]
    const known = new Set([...metric.attributes].map(labelOf))
    if (series.endsWith('_bucket')) known.add('le')
    return [...labels, ...groups].filter((label) => !known.has(label))
  })
}

function overlaps(panels: readonly Panel[]): string[] {
  return panels.flatMap(({ title, gridPos: a }, index) =>
    panels
      .slice(index + 1)
      .filter(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
      .map((other) => `${title} and ${other.title}`),
  )
}

function plain({ name, kind, unit }: Metric): string {
  return `${name} ${kind} ${unit}`
}
