/** What is needed of a response's headers, so that a plain object does too. */
export interface HeaderLookup {
  get(name: string): string | null
}

/**
 * How long the provider asked to wait, in milliseconds. Looks at `retry-after-ms` (OpenAI, Azure), `retry-after` as seconds or
 * as a date, then at what was said in the body. Nothing if there is no such wish, or none that makes sense.
 */
export function retryAfterOf(
  headers: HeaderLookup | undefined,
  message: string,
  now = Date.now(),
): number | undefined {
  const exact = number(headers?.get('retry-after-ms'))
  if (exact !== undefined) return exact
  const header = headers?.get('retry-after') ?? undefined
  const seconds = number(header)
  if (seconds !== undefined) return seconds * 1000
  const date = header === undefined ? Number.NaN : Date.parse(header)
  if (!Number.isNaN(date)) return Math.max(0, date - now)
  return waitIn(message)
}

function number(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text.trim() === '') return undefined
  const value = Number(text)
  return Number.isFinite(value) && value >= 0 ? value : undefined
}

/**
 * `Please try again in 1m2.5s.` (OpenAI, Groq), `try again in 450ms`, `retry in 34.07s` and `"retryDelay":"34s"` (Gemini),
 * which stand in the body where the header is missing.
 */
function waitIn(message: string): number | undefined {
  const found =
    /(?:try again in|retry in|retryDelay"?\s*:\s*"?)\s*(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)(ms|s))?/i.exec(
      message,
    )
  if (!found?.slice(1).some(Boolean)) return undefined
  const [, hours = 0, minutes = 0, amount = 0, unit] = found
  const ms =
    Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(amount) * (unit === 'ms' ? 1 : 1000)
  return Number.isFinite(ms) ? ms : undefined
}
