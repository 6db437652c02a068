import type { Attributes, Meter } from '@opentelemetry/api'

/** A counter that adds up locally and reports its totals when metrics are collected. */
export interface LocalCounter {
  /** Equal attributes must be the same object. */
  add(count: number, attributes: Attributes): void
}

/**
 * Adding to an SDK counter sorts and serializes the attributes each time, which costs more than
 * everything else at the end of a model call.
 */
export function localCounter(
  meter: Meter,
  name: string,
  options: { readonly unit: string; readonly description: string },
): LocalCounter {
  const totals = new Map<Attributes, number>()
  meter.createObservableCounter(name, options).addCallback((result) => {
    for (const [attributes, total] of totals) result.observe(total, attributes)
  })
  return {
    add: (count, attributes) => void totals.set(attributes, (totals.get(attributes) ?? 0) + count),
  }
}
