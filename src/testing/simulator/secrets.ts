import type { IncomingHttpHeaders } from 'node:http'

/** Never written down, whatever is in them. */
const secretHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'cookie',
  'set-cookie',
  'openai-organization',
  'openai-project',
  'anthropic-organization-id',
])

const secretParameters = /^(key|api[-_]?key|access[-_]?token|token|sig|signature|code)$/i

/** Header values as they may be written down. */
export function openHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(([name]) => !secretHeaders.has(name))
  return Object.fromEntries(entries.map(([name, value]) => [name, [value].flat().join(', ')]))
}

/** What a request proves itself with, wherever it stands: none of it may show up anywhere else either. */
export function secretsIn(headers: IncomingHttpHeaders, path: string): string[] {
  const values = [...secretHeaders].flatMap((name) => headers[name] ?? [])
  const parameters = [...new URL(path, 'http://localhost').searchParams].flatMap(([name, value]) =>
    secretParameters.test(name) ? [value] : [],
  )
  // Shorter ones are no secrets, and would blot out half a text.
  return [...values.map((value) => value.replace(/^\w+ /, '')), ...parameters].filter(
    ({ length }) => length >= 6,
  )
}

/** The path with its secret parameters blotted out. */
export function openPath(path: string): string {
  const [pathname = '', query] = path.split('?')
  if (query === undefined) return pathname
  const parts = query.split('&').map((part) => {
    const [name = ''] = part.split('=')
    return secretParameters.test(decodeURIComponent(name)) ? `${name}=[removed]` : part
  })
  return `${pathname}?${parts.join('&')}`
}

/** Stars over every secret, as many as it has bytes: nothing moves, and no cut between pieces with it. */
export function blot(bytes: Uint8Array, secrets: readonly string[]): Uint8Array {
  const blotted = Buffer.from(bytes)
  for (const secret of secrets) {
    const needle = Buffer.from(secret)
    for (let at = blotted.indexOf(needle); at >= 0; at = blotted.indexOf(needle, at + needle.length))
      blotted.fill('*', at, at + needle.length)
  }
  return blotted
}
