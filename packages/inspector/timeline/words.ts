import { number } from '../format.ts'
import type { BarKind, Chart, Step } from './chart.ts'

/** What the colours mean, in the order in which things happen. */
export const legend: readonly (readonly [kind: BarKind | 'bad', words: string])[] = [
  ['wait', 'waiting'],
  ['think', 'thinking'],
  ['text', 'writing'],
  ['input', 'arguments'],
  ['person', 'on hold'],
  ['run', 'running'],
  ['bad', 'went wrong'],
]

/** The times of a step since the run began, and all of it in a sentence for those who cannot see it. */
export function wordsOf({ what, start, end, open, more }: Step, runStart: number) {
  const [from, to, took] = [exact(start - runStart), exact(end - runStart), exact(end - start)]
  const until = open ? 'and going on' : `to ${to}`
  return { from, to, took, label: [what, `from ${from} ${until}`, took, ...more].join(', ') }
}

/** Everything in the chart, as it is from top to bottom; what concerns the whole run comes first. */
export function rowsOf({ lanes, bands }: Chart) {
  return [
    ...bands.map((step) => ({ lane: 'Run', step })),
    ...lanes.flatMap(({ name, bars, marks }) => [...marks, ...bars].map((step) => ({ lane: name, step }))),
  ]
}

export function plural(count: number, one: string): string {
  return `${number(count)} ${count === 1 ? one : `${one}s`}`
}

const units: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
]

/** `630 ms`, `1.234 s`, `2 min 5.003 s`: to the millisecond, for those who want to know exactly. */
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
