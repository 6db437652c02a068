import { describe, expect, it } from 'vitest'
import { scenarios } from '../../bench/voice/part.ts'
import type { VoiceResults } from '../../bench/voice/tables.ts'
import { bench, resultsOf } from './bench-run.ts'

describe('the voice benchmark', () => {
  it('speaks many threads at once, in order, and readers get every word', async () => {
    const { exit, stderr, stdout } = await bench('voice', '--tiny')
    expect({ exit, stderr: exit === 0 ? '' : stderr + stdout }).toEqual({ exit: 0, stderr: '' })
    const results: VoiceResults = resultsOf('voice')
    const { speaking = [], sentences, parts = [] } = results
    expect(speaking.map(({ scenario }) => scenario)).toEqual(scenarios.map(({ name }) => name))
    for (const { title, faults, words, turns, firstAudio, threads } of speaking) {
      expect(stdout).toContain(title)
      expect(faults).toEqual([])
      expect(words?.p50).toBeGreaterThan(0)
      const isHeard = scenarios.some((scenario) => scenario.title === title && scenario.isHeard)
      expect({ turns, hasAudio: firstAudio !== undefined }).toEqual({
        turns: isHeard ? 2 * threads : 0,
        hasAudio: isHeard,
      })
    }
    const [ours, ...others] = sentences?.splitters ?? []
    expect(ours?.right).toEqual({ whole: sentences?.cases, streamed: sentences?.cases })
    for (const { right } of others) expect(right.whole).toBeLessThan(sentences?.cases ?? 0)
    expect(parts.flatMap(({ leftOut = [] }) => leftOut)).toEqual([])
    for (const { figures } of parts) expect(figures?.median).toBeGreaterThan(0)
  })
})
