import { describe, expect, it } from 'vitest'
import { markdown, withSection } from '../harness/report.ts'
import { estimate, faultsOf, figureOf, type TelemetryResults } from './figures.ts'
import { counted } from './otlp-count.ts'
import { telemetryPart } from './part.ts'
import type { Received } from './receiver.ts'
import { type WayName, ways, workloadOf } from './ways.ts'

describe('the receiver of the benchmark', () => {
  const field = (number: number, ...parts: Buffer[]) => {
    const content = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([(number << 3) | 2, content.length]), content])
  }
  const name = (text: string) => field(1, Buffer.from(text))

  it('counts every item of every scope, whatever other fields there are', () => {
    const other = Buffer.from([
      (3 << 3) | 0,
      0xff,
      0x01,
      (4 << 3) | 1,
      1,
      2,
      3,
      4,
      5,
      6,
      7,
      8,
      (5 << 3) | 5,
      1,
      2,
      3,
      4,
    ])
    const scope = (...items: Buffer[]) => field(2, field(1, name('scope')), ...items)
    const body = Buffer.concat([
      field(1, scope(field(2, other, name('a')), field(2, name('b'), other)), other),
      field(1, field(1, name('resource')), scope(field(2, name('c')))),
    ])
    expect(counted(body, 'application/x-protobuf')).toEqual({ count: 3, names: ['a', 'b', 'c'] })
  })

  it('counts the same in JSON', () => {
    const json = (value: unknown) => counted(Buffer.from(JSON.stringify(value)), 'application/json')
    const spans = { scopeSpans: [{ spans: [{}, {}] }, { spans: [{}] }] }
    expect(json({ resourceSpans: [spans, spans] })).toEqual({ count: 6, names: [] })
    const metrics = { scopeMetrics: [{ metrics: [{ name: 'a' }, { name: 'b' }] }] }
    expect(json({ resourceMetrics: [metrics] })).toEqual({ count: 2, names: ['a', 'b'] })
  })
})

describe('the check of the telemetry that arrived', () => {
  const duration = 'gen_ai.client.inference.duration'
  const chunks = 'gen_ai.client.inference.time_per_output_chunk'
  const all = { spans: 20, metrics: [duration, chunks] }
  const nothing = { spans: 0, metrics: [] }
  function faults(name: WayName, received: Received, lines?: number) {
    const way = ways.find((one) => one.name === name)
    return way && faultsOf(workloadOf('text'), way, { plays: 10, lines, flushMs: 1 }, received)
  }

  it.each<[WayName, Received, number?]>([
    ['none', nothing],
    ['otel', all],
    ['tenth', { spans: 2, metrics: [duration] }],
    ['without-chunks', { spans: 20, metrics: [duration] }],
    ['no-sdk', nothing],
    ['logs', nothing, 10],
  ])('accepts complete telemetry of %s', (name, received, lines) => {
    expect(faults(name, received, lines)).toEqual([])
  })

  it.each<[string, WayName, Received, number | undefined, string]>([
    ['a span is lost', 'otel', { ...all, spans: 19 }, undefined, '19 of 20 spans arrived'],
    ['all traces arrived despite sampling', 'tenth', all, undefined, '20 of 20 spans arrived'],
    ['a trace is incomplete', 'tenth', { ...all, spans: 3 }, undefined, '3 of 20 spans arrived'],
    ['metrics are missing', 'otel', { ...all, metrics: [chunks] }, undefined, `no ${duration} arrived`],
    [
      'times between chunks are missing',
      'otel',
      { ...all, metrics: [duration] },
      undefined,
      `no ${chunks} arrived`,
    ],
    ['dropped metrics arrived', 'without-chunks', all, undefined, `${duration}, ${chunks} arrived`],
    [
      'telemetry arrived that was not enabled',
      'no-sdk',
      { ...nothing, metrics: [duration] },
      undefined,
      `${duration} arrived`,
    ],
    ['a line is missing', 'logs', nothing, 9, '9 lines were written for 10 runs'],
  ])('reports when %s', (_, name, received, lines, fault) => {
    expect(faults(name, received, lines)).toEqual([fault])
  })
})

describe('a figure of the telemetry benchmark', () => {
  const set = (none: number, otel: number) => ({ cpu: { none, otel }, flush: { otel: 7 }, faults: [] })

  it('is the median of the extra cost over the base of the same set', () => {
    const sets = [set(10, 11), set(20, 24), set(40, 42)]
    const place = { work: 'text', wire: 'chat' } as const
    const figure = figureOf({ ...place, way: 'otel' }, sets)
    expect(figure).toMatchObject({ cpu: 24, flushMs: 7 })
    expect(figure?.more?.median).toBeCloseTo(0.1)
    expect(figureOf({ ...place, way: 'none' }, sets)).toEqual({ ...place, way: 'none', cpu: 20 })
    expect(figureOf({ ...place, way: 'logs' }, sets)).toBeUndefined()
  })

  it('has the confidence interval of the sign test', () => {
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
    // Of ten coins, one or fewer show heads 11 times in 1024; two or fewer 56 times, which is too
    // often.
    expect(estimate(upTo(10))).toMatchObject({ median: 5.5, low: 2, high: 9 })
    expect(estimate(upTo(5))).toMatchObject({ median: 3, low: 1, high: 5 })
    expect(estimate([2])).toMatchObject({ median: 2, low: 2, high: 2 })
  })

  it('is written between the markers of a page', () => {
    const results: TelemetryResults = {
      date: '2026-01-02',
      mode: 'full',
      sets: 3,
      node: 'v24.0.0',
      machine: 'two cores',
      packages: { '@opentelemetry/api': '1.2.3' },
      figures: [
        { work: 'loop', wire: 'chat', way: 'none', cpu: 1000 },
        {
          work: 'loop',
          wire: 'chat',
          way: 'otel',
          cpu: 1100,
          more: { median: 0.1, low: -0.012, high: 0.2, values: [] },
          flushMs: 7,
        },
      ],
      faults: ['a span is lost'],
    }
    const page = '# Bench\n\n<!-- telemetry -->\nyesterday\n<!-- /telemetry -->\n\nend\n'
    const once = withSection(page, 'telemetry', markdown(telemetryPart, results)) ?? ''
    expect(once).toContain('3 sets of processes, Node 24.0.0, @opentelemetry/api 1.2.3, two cores.')
    expect(once).toContain('| no telemetry | 1,000 µs |')
    expect(once).toContain('| **`otel()`** | **1,100 µs +10.0 % (-1.2 to 20.0)** |')
    expect(once).toContain('takes 7.00 ms')
    expect(once).toContain('- a span is lost')
    expect(once).not.toContain('yesterday')
    expect(withSection(once, 'telemetry', markdown(telemetryPart, results))).toBe(once)
    expect(withSection('# Bench', 'telemetry', '')).toBeUndefined()
  })
})
