import type { BarKind, Chart, Step } from './chart.ts'

/** What the colors mean, in the order of a run. */
export const legend: readonly (readonly [kind: BarKind | 'bad', label: string])[] = [
  ['wait', 'waiting'],
  ['think', 'thinking'],
  ['text', 'writing'],
  ['input', 'arguments'],
  ['person', 'waiting for an answer'],
  ['run', 'running'],
  ['bad', 'failed'],
]

/** The times of a step since the start of the run, and its label for screen readers. */
export function labelsOf({ what, start, end, open, more }: Step, runStart: number) {
  const [from, to, took] = [exact(start - runStart), exact(end - runStart), exact(end - start)]
  const until = open ? ', still running' : ` to ${to}`
  return { from, to, took, label: [what, `from ${from}${until}`, took, ...more].join(', ') }
}

/** All steps of the chart from top to bottom, starting with those of the whole run. */
export function tableRows({ lanes, bands }: Chart) {
  return [
    ...bands.map((step) => ({ lane: 'Run', step })),
    ...lanes.flatMap(({ name, bars, marks }) => [...marks, ...bars].map((step) => ({ lane: name, step }))),
  ]
}

const units: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

/** `630 ms`, `1.234 s`, `2 min 5.003 s`: exact to the millisecond. */
export function exact(ms: number): string {
  let rest = Math.round(ms)
  if (rest < 1000) return `${rest} ms`
  const parts: string[] = []
  for (const [size, unit] of units) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${unit}`)
    rest %= size
  }
  if (rest > 0) parts.push(`${(rest / 1000).toFixed(3)} s`)
  return parts.join(' ')
}
