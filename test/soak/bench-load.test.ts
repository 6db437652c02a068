import { describe, expect, it } from 'vitest'
import type { LoadResults } from '../../bench/load/figures.ts'
import { scenarios } from '../../bench/load/part.ts'
import type { PostgresResults } from '../../bench/load/postgres/figures.ts'
import { bench, resultsOf } from './bench-run.ts'

describe('a server under load', () => {
  it('sends every follower everything, including followers that did not read', async () => {
    const { exit, stderr, stdout } = await bench('load', '--tiny')
    expect({ exit, stderr: exit === 0 ? '' : stderr }).toEqual({ exit: 0, stderr: '' })
    const results: LoadResults = resultsOf('load')
    expect(results.scenarios.map(({ scenario }) => scenario)).toEqual(scenarios.map(({ name }) => name))
    for (const { title, threads, followers, faults, words, runs, ...scenario } of results.scenarios) {
      const { written, delivered, delays } = scenario
      expect(stdout).toContain(title)
      expect(faults).toEqual([])
      for (const figure of [words, runs, written]) expect(figure).toBeGreaterThan(0)
      expect(delivered > 0).toBe(followers > 0)
      if (followers > threads) expect(delivered).toBeGreaterThan(written)
      expect(Object.keys(delays)).toEqual(followers > 0 ? ['sse', 'socket'] : [])
    }
    const [, , stuck, long] = results.scenarios
    expect(stuck?.stuck.frames).toBeLessThan(stuck?.stuck.entries ?? 0)
    expect(long?.baseline?.reads.kinds.map(({ kind }) => kind)).toEqual([
      'state',
      'page',
      'stream',
      'message',
    ])
    for (const { times } of long?.baseline?.reads.kinds ?? []) expect(times).not.toEqual([])
  })
  it('sends every follower everything from several processes with one PostgreSQL', async () => {
    const only = 'append,crowd,idle,size'
    const { exit, stderr } = await bench('load', '--store', 'postgres', '--tiny', '--scenario', only)
    expect({ exit, stderr: exit === 0 ? '' : stderr }).toEqual({ exit: 0, stderr: '' })
    const { append, app, idle, size }: PostgresResults = resultsOf('load-postgres')
    expect(append.map(({ store }) => store)).toEqual(['floor', 'postgres', 'sqlite'])
    for (const { entries, cpu } of append)
      for (const figure of [entries.low, cpu]) expect(figure).toBeGreaterThan(0)
    expect(app.map(({ store, processes }) => [store, processes])).toEqual([
      ['postgres', 2],
      ['sqlite', 2],
    ])
    for (const { words, entries, delivered, delays, faults } of app) {
      expect(faults).toEqual([])
      for (const figure of [words, entries]) expect(figure).toBeGreaterThan(0)
      expect(delivered).toBeGreaterThan(entries)
      for (const group of [delays.same, delays.other]) expect(group).toBeDefined()
    }
    expect(idle.map(({ threads }) => threads)).toEqual([100, 1000])
    for (const { calls } of idle) for (const { min } of calls) expect(min).toBeGreaterThan(0)
    expect(size.map(({ store }) => store)).toEqual(['postgres', 'sqlite'])
  })
})
