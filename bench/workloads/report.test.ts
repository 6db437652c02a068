import { describe, expect, it } from 'vitest'
import type { Wire } from '../contract.ts'
import { markdown, printed, withSection } from '../harness/report.ts'
import { merged } from '../harness/write.ts'
import { chart } from './chart.ts'
import { workloadOf } from './index.ts'
import { clientsPart } from './part.ts'
import type { Known } from './plan.ts'
import { type Results, type Row, resultsOf, withWorks } from './results.ts'
import type { Measurement } from './run.ts'

describe('the report', () => {
  const spread = (of: number) => ({ median: of, low: of - 1, high: of + 1, values: [of - 1, of, of + 1] })
  const row = (client: string, work: string, wire: Wire, cpu: number, fields: Partial<Row> = {}): Row => ({
    work,
    case: 'small',
    client,
    wire,
    state: 'done',
    figures: { cpu: spread(cpu), fresh: spread(2 * cpu), warm: spread(cpu) },
    ratios: { cpu: cpu / 4, fresh: cpu / 8, warm: cpu / 4 },
    ...fields,
  })
  const results: Results = {
    date: '2026-01-02',
    mode: 'full',
    seed: 1,
    node: 'v24.0.0',
    machine: 'two cores',
    packages: { 'some-sdk': '1.2.3' },
    clients: {
      'floor-reference': { label: 'reference' },
      millrace: { label: 'Millrace', version: '0.1.0' },
      other: { label: 'Other <SDK>', version: '1.2.3' },
    },
    rows: [
      row('other', 'text', 'chat', 40),
      row('floor-reference', 'text', 'chat', 4),
      row('millrace', 'text', 'chat', 5),
      row('other', 'text', 'messages', 0, { state: 'failed', reason: 'no luck', figures: {}, ratios: {} }),
      row('floor-reference', 'arguments', 'chat', 4),
      row('other', 'arguments', 'chat', 0, { state: 'over', reason: '> 60 s', figures: {}, ratios: {} }),
    ],
    unmeasured: ['other responses'],
  }

  it('sorts clients, marks Millrace, and shows ranges, ratios, failures and unmeasured clients', () => {
    const out = printed(clientsPart, results)
    const lines = out.split('\n')
    const at = (start: string) => lines.findIndex((line) => line.startsWith(start))
    expect(at('  reference')).toBeLessThan(at('▶ Millrace'))
    expect(at('▶ Millrace')).toBeLessThan(at('  Other <SDK>'))
    expect(out).toContain('5.00 µs (4.00–6.00) 1.25×')
    expect(out).toContain('10.0 µs (9.00–11.0) 0.63×')
    expect(out).toContain('(Other <SDK> (messages) failed: no luck)')
    expect(out).toContain('> 60 s')
    expect(out).toContain('other responses')
  })

  it.each([
    [{ fresh: 30, warm: 5 }, 1.5],
    [{ fresh: 10, warm: 9 }, 1.8],
    [{ warm: 6 }, 1.2],
  ])('counts the worse ratio of fresh and warm processes: %j', (figures, worse) => {
    const work = workloadOf('text')
    const [one] = work?.cases('tiny') ?? []
    if (!work || !one) throw new Error('no workload')
    const client = (name: string): Known => ({
      name,
      label: name,
      packages: [],
      wires: ['chat'],
      module: undefined,
      only: undefined,
      without: {},
      problem: undefined,
    })
    const measurement = (name: string, of: Record<string, number>): Measurement => ({
      task: { work, case: one, client: client(name), wire: 'chat', repetition: 0 },
      outcome: { type: 'done', figures: of },
    })
    const { rows } = resultsOf({
      seed: 1,
      clients: [],
      measurements: [
        measurement('floor-reference', { fresh: 20, warm: 5 }),
        measurement('millrace', figures),
      ],
      unmeasured: [],
    })
    expect(rows.map(({ ratios }) => ratios.cpu)).toEqual([1, worse])
  })

  it('replaces the tables between the markers of a page', () => {
    const page = '# Bench\n\n<!-- clients -->\nold\n<!-- /clients -->\n\nend\n'
    const once = withSection(page, 'clients', markdown(clientsPart, results)) ?? ''
    expect(once).toContain('| **Millrace** | **5.00 µs (4.00–6.00) 1.25×** |')
    expect(once).toContain('some-sdk 1.2.3')
    expect(once).not.toContain('old')
    expect(withSection(once, 'clients', markdown(clientsPart, results))).toBe(once)
    expect(withSection('# Bench', 'clients', '')).toBeUndefined()
  })

  it('replaces only the saved results of the same workloads', () => {
    const [row] = results.rows
    if (!row) throw new Error('no row')
    const before = {
      ...results,
      rows: [
        { ...row, work: 'text' },
        { ...row, work: 'loop', client: 'old' },
      ],
    }
    const now = { ...results, rows: [{ ...row, work: 'loop', client: 'new' }] }
    expect(withWorks(before, now).rows).toEqual([before.rows[0], now.rows[0]])
    expect(merged(clientsPart, { ...before, mode: 'quick' }, { ...now, mode: 'full' })).toEqual(now)
  })

  it('draws a well-formed chart', () => {
    const svg = chart(results)
    expect(svg.match(/<g /g)).toHaveLength(svg.match(/<\/g>/g)?.length ?? 0)
    expect(svg).toContain('Other &lt;SDK>')
    expect(svg).toContain('1.3×')
    expect(svg).not.toContain('NaN')
  })

  it('reports required clients that failed', () => {
    const failed = { state: 'failed', reason: 'no luck', figures: {}, ratios: {} } as const
    const rows = [row('millrace', 'text', 'chat', 0, failed), row('other', 'text', 'chat', 0, failed)]
    expect(clientsPart.faults({ ...results, rows })).toEqual(['millrace failed at text over chat: no luck'])
  })
})
