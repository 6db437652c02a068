import { describe, expect, it } from 'vitest'
import { delaysIn, histogram } from '../harness/measure.ts'
import { markdown, withSection } from '../harness/report.ts'
import { faultsOf, type LoadResults } from './figures.ts'
import { frameReader, logCheck, pong, type SeenEntry, sseReader } from './follower.ts'
import { loadPart } from './part.ts'

describe('the check of what a follower received', () => {
  const word = '0'.repeat(18).concat(' ')
  const text = (seq: number, words = 1, from?: number): SeenEntry => ({
    seq,
    ...(from !== undefined && { from }),
    at: 0,
    event: { type: 'text', text: word.repeat(words) },
  })
  const received = (...entries: SeenEntry[]) => {
    const log = logCheck()
    for (const entry of entries) log.take(entry)
    const { head, words, faults } = log
    return { plan: { thread: 't0', transport: 'sse', stuck: false } as const, head, words, faults }
  }
  const truth = { heads: { t0: 3 }, words: { t0: 3 } }

  it('accepts a complete log, however its entries were joined', () => {
    expect(faultsOf([received(text(1), text(2), text(3))], truth)).toEqual([])
    expect(faultsOf([received(text(1), text(3, 2, 2))], truth)).toEqual([])
  })

  it.each([
    ['an entry is missing', received(text(1), text(3, 2)), 'after 1 came 3 to 3'],
    ['an entry is repeated', received(text(1), text(1), text(2), text(3)), 'after 1 came 1 to 1'],
    ['the log ends early', received(text(1), text(2, 2)), 'got entries up to 2 of 3'],
    ['a word is missing', received(text(1), text(3, 1, 2)), 'got 2 of 3 words'],
    [
      'a run failed',
      received(text(1), text(2, 2), { seq: 3, at: 0, event: { type: 'run-end', outcome: 'failed' } }),
      'a run was failed',
    ],
  ])('reports when %s', (_, log, fault) => {
    expect(faultsOf([log], truth)).toEqual([expect.stringContaining(fault)])
  })
})

describe('the readers of the load benchmark', () => {
  const pieces = (bytes: string, length: number) =>
    Array.from({ length: Math.ceil(bytes.length / length) }, (_, at) =>
      bytes.slice(at * length, (at + 1) * length),
    )

  it('read events in any split, and skip what is not an entry', () => {
    const bytes = 'retry: 1000\n\nid: 1\ndata: {"a":1}\n\n: \n\nid: 2\ndata: {"b":2}\n\n'
    for (let length = 1; length <= bytes.length; length++) {
      const seen: string[] = []
      const read = sseReader((json) => seen.push(json))
      for (const piece of pieces(bytes, length)) read(piece)
      expect(seen).toEqual(['{"a":1}', '{"b":2}'])
    }
  })

  it('read frames in any split, with any encoding of their length', () => {
    const middle = 'x'.repeat(300)
    const bytes = `\x81\x05short\x81\x7e\x01\x2c${middle}\x89\x02hi\x81\x7f\0\0\0\0\0\0\0\x04long\x88\x06\x03\xf5late`
    for (let length = 1; length <= bytes.length; length++) {
      const seen: unknown[] = []
      const read = frameReader({
        onText: (text) => seen.push(text),
        onPing: (payload) => seen.push(['ping', payload]),
        onClose: (code, reason) => seen.push([code, reason]),
      })
      for (const piece of pieces(bytes, length)) read(piece)
      expect(seen).toEqual(['short', middle, ['ping', 'hi'], 'long', [1013, 'late']])
    }
    expect(pong('hi')).toBe('\x8a\x82\0\0\0\0hi')
  })
})

describe('the report of the load benchmark', () => {
  it('counts delays in tenths of a millisecond', () => {
    const delays = histogram()
    expect(delaysIn(delays.counts())).toBeUndefined()
    for (let ms = 1; ms <= 99; ms++) delays.add(ms)
    delays.add(100_000)
    expect(delaysIn(delays.counts())).toEqual({ p50: 50.1, p99: 99.1, max: 100_000 })
  })

  it('replaces the table between the markers of a page', () => {
    const spread = { p50: 1, p99: 20.5, max: 300 }
    const delays = { sinceWritten: spread, sinceSaid: spread }
    const results: LoadResults = {
      date: '2026-01-02',
      mode: 'full',
      node: 'v24.0.0',
      machine: 'two cores',
      scenarios: [
        {
          scenario: 'followed',
          title: 'all read',
          threads: 200,
          followers: 1000,
          seconds: 60,
          runs: 20,
          words: 10_000,
          written: 9000,
          delivered: 45_000,
          frames: 45_000,
          stuck: { entries: 0, frames: 0 },
          delays: { sse: delays, socket: delays },
          cores: { server: 1, provider: 0.2, followers: 0.6 },
          memory: { start: 2 ** 26, peak: 2 ** 27, end: 2 ** 27, each: 20_480 },
          late: spread,
          database: 2 ** 23,
          faults: [],
        },
      ],
    }
    const page = '# Bench\n\n<!-- load -->\nyesterday\n<!-- /load -->\n\nend\n'
    const once = withSection(page, 'load', markdown(loadPart, results)) ?? ''
    expect(once).toContain('| entries delivered, per second | 45,000 |')
    expect(once).toContain('| 1.00 / 20.5 / 300 ms |')
    expect(once).toContain('| memory of one idle follower | 20.0 KB |')
    expect(once).not.toContain('yesterday')
    expect(withSection(once, 'load', markdown(loadPart, results))).toBe(once)
    expect(withSection('# Bench', 'load', '')).toBeUndefined()
  })
})
