import { describe, expect, it } from 'vitest'
import type { TelemetryResults } from '../../bench/telemetry/figures.ts'
import { ways, workloads } from '../../bench/telemetry/ways.ts'
import { bench, resultsOf } from './bench-run.ts'

describe('the telemetry benchmark', () => {
  it('measures every kind of telemetry, and all of it arrives', async () => {
    const { exit, stderr, stdout } = await bench('telemetry', '--tiny')
    expect({ exit, stderr: exit === 0 ? '' : stderr + stdout }).toEqual({ exit: 0, stderr: '' })
    const results: TelemetryResults = resultsOf('telemetry')
    expect(results.faults).toEqual([])
    const expected = workloads.flatMap(({ name: work }) =>
      ways.flatMap(({ name: way, wires, only = work }) =>
        only === work ? wires.map((wire) => [work, wire, way].join(' ')) : [],
      ),
    )
    const measured = results.figures.map(({ work, wire, way }) => [work, wire, way].join(' '))
    expect(measured.toSorted()).toEqual(expected.toSorted())
    for (const { way, cpu, more } of results.figures) {
      expect(cpu).toBeGreaterThan(0)
      expect(more === undefined).toBe(way === 'none')
    }
    for (const { title } of ways) expect(stdout).toContain(title)
  })
})
