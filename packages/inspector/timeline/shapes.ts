import type { Bar } from './chart.ts'

/** What is drawn: a bar, or several that are too thin to be told apart. In pixels. */
export interface Shape {
  /** All of it in one. */
  readonly bar: Bar
  readonly bars: readonly Bar[]
  readonly x: number
  readonly width: number
}

/** Thinner than this nobody sees what it is. */
const thin = 0.5
/** Thin bars so close to each other are drawn as one, so that a lane has only so many shapes as it is wide. */
const near = 3
/** Everything can be seen, if not told apart. */
const least = 2

/** The shapes of a lane, from left to right. */
export function shapesOf(bars: readonly Bar[], xOf: (at: number) => number): Shape[] {
  const groups: { bars: Bar[]; x: number; end: number; isThin: boolean }[] = []
  for (const bar of bars) {
    const x = xOf(bar.start)
    const end = xOf(bar.end)
    const isThin = end - x < thin
    const last = groups.at(-1)
    if (last?.isThin && isThin && end - last.x < near) {
      last.bars.push(bar)
      last.end = end
    } else groups.push({ bars: [bar], x, end, isThin })
  }
  return groups.map(({ bars, x, end }) => ({ bar: joined(bars), bars, x, width: Math.max(least, end - x) }))
}

/** Several are of the kind that took the most time, and have no details: only when one looks closer. */
function joined(bars: readonly Bar[]): Bar {
  const [first] = bars as [Bar]
  if (bars.length === 1) return first
  const longest = bars.reduce((most, bar) => (bar.end - bar.start > most.end - most.start ? bar : most))
  return {
    ...longest,
    key: first.key,
    what: `${bars.length} short steps`,
    more: ['click to look closer'],
    bad: bars.some(({ bad }) => bad),
    of: undefined,
    start: first.start,
    end: (bars.at(-1) as Bar).end,
  }
}
