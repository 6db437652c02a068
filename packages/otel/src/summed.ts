import type { Attributes, Meter } from '@opentelemetry/api'

/** A counter that is summed up here, and told when somebody collects. */
export interface Sum {
  /** The same attributes must be the same object. */
  add(count: number, attributes: Attributes): void
}

/**
 * To add to a counter of an SDK means to sort and write out its attributes each time: that costs more than all else that is done
 * when a call is over.
 */
export function summed(
  meter: Meter,
  name: string,
  options: { readonly unit: string; readonly description: string },
): Sum {
  const totals = new Map<Attributes, number>()
  meter.createObservableCounter(name, options).addCallback((result) => {
    for (const [attributes, total] of totals) result.observe(total, attributes)
  })
  return {
    add: (count, attributes) => void totals.set(attributes, (totals.get(attributes) ?? 0) + count),
  }
}
