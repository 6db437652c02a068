import { describe, expect, it } from 'vitest'
import type { LoadResults } from '../../bench/load/figures.ts'
import { scenes } from '../../bench/load/part.ts'
import { bench, resultsOf } from './bench-run.ts'

describe('a server under load', () => {
  it('tells every follower everything, those too that did not read', async () => {
    const { exit, stderr, stdout } = await bench('load', '--tiny')
    expect({ exit, stderr: exit === 0 ? '' : stderr }).toEqual({ exit: 0, stderr: '' })
    const results: LoadResults = resultsOf('load')
    expect(results.scenes.map(({ scene }) => scene)).toEqual(scenes.map(({ name }) => name))
    for (const { title, threads, followers, faults, words, runs, ...scene } of results.scenes) {
      const { written, delivered, delays } = scene
      expect(stdout).toContain(title)
      expect(faults).toEqual([])
      for (const figure of [words, runs, written]) expect(figure).toBeGreaterThan(0)
      expect(delivered > 0).toBe(followers > 0)
      if (followers > threads) expect(delivered).toBeGreaterThan(written)
      expect(Object.keys(delays)).toEqual(followers > 0 ? ['sse', 'socket'] : [])
    }
    const [, , stuck, long] = results.scenes
    expect(stuck?.stuck.frames).toBeLessThan(stuck?.stuck.entries ?? 0)
    expect(long?.beside?.reads.kinds.map(({ kind }) => kind)).toEqual(['state', 'page', 'stream', 'message'])
    for (const { times } of long?.beside?.reads.kinds ?? []) expect(times).not.toEqual([])
  })
})
