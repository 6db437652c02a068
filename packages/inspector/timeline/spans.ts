/** A time span, in milliseconds since 1970 unless stated otherwise. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** The union of the spans, in order, without overlaps. */
export function merged(spans: readonly Span[]): Span[] {
  const result: { start: number; end: number }[] = []
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = result.at(-1)
    if (last && start <= last.end) last.end = Math.max(last.end, end)
    else result.push({ start, end })
  }
  return result
}

/** The parts of a span outside `others`, which are in order and do not overlap. */
export function without({ start, end }: Span, others: readonly Span[]): Span[] {
  const result: Span[] = []
  let from = start
  for (const other of [...others, { start: end, end }]) {
    if (other.end < from) continue
    const to = Math.min(other.start, end)
    if (to > from) result.push({ start: from, end: to })
    from = other.end
  }
  return result
}

export function total(spans: readonly Span[]): number {
  return spans.reduce((sum, { start, end }) => sum + end - start, 0)
}

export function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(value, high))
}
