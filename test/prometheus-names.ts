/** A metric before anything is recorded. */
export interface Metric {
  readonly name: string
  readonly unit: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
}

/**
 * The units that are used here. Units in braces are annotations and are dropped, and so is `1`, but
 * for gauges, which end in `ratio`.
 */
const units: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes' }

/**
 * The series of a metric, with the default names of the collector's exporter and Prometheus'
 * receiver: github.com/prometheus/otlptranslator with UnderscoreEscapingWithSuffixes.
 */
export function seriesOf({ name, unit, kind }: Metric): string[] {
  const words = name.split(/[^a-zA-Z0-9:]+/)
  const suffix = unitOf(unit)
  if (suffix !== undefined && !words.includes(suffix)) words.push(suffix)
  if (kind === 'counter') words.push('total')
  const whole = words.join('_')
  return kind === 'histogram' ? [`${whole}_bucket`, `${whole}_count`, `${whole}_sum`] : [whole]
}

export function labelOf(attribute: string): string {
  return attribute.replaceAll(/[^a-zA-Z0-9]/g, '_')
}

function unitOf(unit: string): string | undefined {
  if (/^\{.*\}$|^1$/.test(unit)) return undefined
  if (!Object.hasOwn(units, unit)) throw new Error(`add Prometheus' name of the unit '${unit}'`)
  return units[unit]
}
