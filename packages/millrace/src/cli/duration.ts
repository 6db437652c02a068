import { invalidInput } from '../protocol/index.ts'

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/**
 * Parses `30s`, `2m`, `500ms`, `1h` or a bare number of seconds into milliseconds. Throws
 * `invalid_input` on anything else.
 */
export function readDuration(text: string, flag: string): number {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text.trim()) ?? []
  const ms = Number(count) * (units[unit] as number)
  if (!(ms > 0))
    throw invalidInput('millrace', `${flag} must be a time such as 30s, 2m or 500ms, not '${text}'`)
  return ms
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 120_000 ? `${Number((ms / 1000).toFixed(1))} s` : `${Math.round(ms / 60_000)} min`
}
