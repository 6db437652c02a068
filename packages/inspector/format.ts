/** `430 ms`, `1.20 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function duration(ms: number): string {
  if (!(ms >= 0)) return '–'
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 9995) return `${(ms / 1000).toFixed(2)} s`
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([value]) => value > 0)
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ')
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

export function timeOfDay(at: number): string {
  return clock.format(at)
}

/** The time of day, with the date if it is not today. */
export function clockTime(at: number, now = Date.now()): string {
  const sameDay = new Date(at).toDateString() === new Date(now).toDateString()
  return sameDay ? clock.format(at) : `${day.format(at)}, ${clock.format(at)}`
}

/** `just now`, `5 min ago`; the date if it is a day or more ago. */
export function ago(at: number, now: number): string {
  const ms = now - at
  if (ms < 45_000) return 'just now'
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min ago`
  if (ms < 86_400_000) return `${Math.round(ms / 3_600_000)} h ago`
  return day.format(at)
}

const grouped = new Intl.NumberFormat()

export function number(value: number): string {
  return grouped.format(value)
}

/** `1 call`, `2 calls`. */
export function plural(count: number, one: string): string {
  return `${number(count)} ${count === 1 ? one : `${one}s`}`
}

/** `640 B`, `14 KB`, `2.1 MB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} KB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'undefined'
}
