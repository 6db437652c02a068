import type { Bar } from './chart.ts'

/** A drawn bar, or several that are too thin to be drawn separately. In pixels. */
export interface Shape {
  /** The bar, or one that stands for all of `bars`. */
  readonly bar: Bar
  readonly bars: readonly Bar[]
  readonly x: number
  readonly width: number
}

/** Bars below this width are thin. */
const thinPx = 0.5
/** Thin bars within this distance are merged, so that the width bounds the number of shapes. */
const mergePx = 3
/** Every shape is visible. */
const minWidthPx = 2

/** The shapes of a lane, from left to right. */
export function shapesOf(bars: readonly Bar[], xOf: (at: number) => number): Shape[] {
  const groups: { bars: Bar[]; x: number; end: number; isThin: boolean }[] = []
  for (const bar of bars) {
    const x = xOf(bar.start)
    const end = xOf(bar.end)
    const isThin = end - x < thinPx
    const last = groups.at(-1)
    if (last?.isThin && isThin && end - last.x < mergePx) {
      last.bars.push(bar)
      last.end = end
    } else groups.push({ bars: [bar], x, end, isThin })
  }
  return groups.map(({ bars, x, end }) => ({
    bar: joined(bars),
    bars,
    x,
    width: Math.max(minWidthPx, end - x),
  }))
}

/** Merged bars get the kind of the longest one, and no details. */
function joined(bars: readonly Bar[]): Bar {
  const [first] = bars as [Bar]
  if (bars.length === 1) return first
  const longest = bars.reduce((most, bar) => (bar.end - bar.start > most.end - most.start ? bar : most))
  return {
    ...longest,
    key: first.key,
    what: `${bars.length} short steps`,
    more: ['click to zoom in'],
    bad: bars.some(({ bad }) => bad),
    of: undefined,
    start: first.start,
    end: (bars.at(-1) as Bar).end,
  }
}
