import type { Lane } from './chart.ts'
import { shapesOf } from './shapes.ts'
import { clamp } from './spans.ts'

/** A bar, and the number of its lane. */
export interface Place {
  readonly lane: number
  readonly key: string
}

/** The number of bars to move right and of lanes to move down. */
const moves: Readonly<Record<string, readonly [bars: number, lanes: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
  PageUp: [0, -10],
  PageDown: [0, 10],
}

/** The bar that a key moves to: in the same lane, or at the same time in another lane. */
export function placeAfter(
  key: string,
  from: Place,
  lanes: readonly Lane[],
  xOf: (at: number) => number,
): Place | undefined {
  const move = moves[key]
  const shapes = shapesOf(lanes[from.lane]?.bars ?? [], xOf)
  const index = shapes.findIndex(({ bars }) => bars.some((bar) => bar.key === from.key))
  const here = shapes[index]
  if (!move || !here) return undefined
  const lane = clamp(from.lane + move[1], 0, lanes.length - 1)
  const others = shapesOf((lanes[lane] as Lane).bars, xOf)
  const next =
    lane === from.lane
      ? others[clamp(index + move[0], 0, others.length - 1)]
      : (others.find(({ x, width }) => x + width > here.x) ?? others.at(-1))
  return next && { lane, key: next.bar.key }
}
