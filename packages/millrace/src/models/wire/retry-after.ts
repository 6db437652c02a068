/** The part of `Headers` that is needed here, so that a plain object works too. */
export interface HeaderLookup {
  get(name: string): string | null
}

/**
 * How long the provider's headers ask to wait, in milliseconds: `retry-after-ms` (OpenAI, Azure),
 * or `retry-after` as seconds or as a date. Undefined if the headers are missing or invalid.
 */
export function retryAfterOf(headers: HeaderLookup | undefined, now = Date.now()): number | undefined {
  const exact = parseNumber(headers?.get('retry-after-ms'))
  if (exact !== undefined) return exact
  const header = headers?.get('retry-after') ?? ''
  const seconds = parseNumber(header)
  if (seconds !== undefined) return seconds * 1000
  // `Date.parse` turns `-5` into a day in 2001, so the text must look like a date.
  const date = /^\s*([a-z]{3,9}|\d{4}-\d\d)\b.*\d\d:\d\d/i.test(header) ? Date.parse(header) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function parseNumber(text: string | null | undefined): number | undefined {
  if (!text || !/^\s*\d+(\.\d+)?\s*$/.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

const lead = /(?:(?:try again|retry) (?:in|after)|retryDelay[\\"]*\s*:[\\"\s]*)\s*/i
const amount =
  /(?:(\d+)\s*h(?:ours?)?)?\s*(?:(\d+)\s*m(?:in(?:ute)?s?)?(?![a-z]))?\s*(?:(\d+(?:\.\d+)?)\s*(ms|s)(?:econds?)?)?/i
const wait = new RegExp(lead.source + amount.source, 'i')

/**
 * The wait named in a body, for when the header is missing: `Please try again in 1m2.5s.` (OpenAI,
 * Groq), `in 450ms`, `Please retry after 20 seconds.` (Azure), `please try again after 1 seconds`
 * (Moonshot), `retry in 34.07s` and `"retryDelay":"34s"` (Gemini).
 */
export function waitInText(text: string): number | undefined {
  const found = wait.exec(text)
  if (!found?.slice(1).some(Boolean)) return undefined
  const [, hours = 0, minutes = 0, count = 0, unit] = found
  const ms = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(count) * (unit === 'ms' ? 1 : 1000)
  return Number.isFinite(ms) ? Math.round(ms) : undefined
}
