import type { IncomingMessage } from 'node:http'
import type { FetchAccess } from 'millrace/internal'
import { messageOf } from 'millrace/internal'
import type { Allowed } from './allowed.ts'
import { get } from './get.ts'
import type { Lookup } from './resolve.ts'
import { resolveHost } from './resolve.ts'
import { hostOf, quoted, targetOf } from './target.ts'
import { untilAborted } from './until-aborted.ts'

export interface Route {
  readonly lookup: Lookup
  readonly allowed: Allowed
  readonly maxRedirects: number
  /** What to send there. Asked again at every stop. */
  readonly headersFor: (url: URL, first: URL) => Readonly<Record<string, string>>
  readonly permits: (access: FetchAccess) => Promise<string | undefined>
  readonly signal: AbortSignal
}

/** Goes where the redirects lead. Every stop is held against the same rules as the first. */
export async function follow(
  first: URL,
  route: Route,
): Promise<{ readonly url: URL; readonly response: IncomingMessage }> {
  const { maxRedirects, headersFor, signal } = route
  const seen = new Set<string>()
  let url = first
  let addresses = await resolveHost(url, route)
  for (;;) {
    seen.add(url.href)
    const response = await get(url, { addresses, headers: headersFor(url, first), signal })
    const location = redirectOf(response)
    if (location === undefined) return { url, response }
    response.destroy()
    if (seen.size > maxRedirects)
      throw new Error(
        `${quoted(first.href)} redirects more than ${maxRedirects} times, at last to ${quoted(location)}`,
      )
    try {
      url = targetOf(location, url)
      // Before its name is looked up: that alone would tell somebody.
      await checkPermission(url, route)
      addresses = await resolveHost(url, route)
      if (seen.has(url.href))
        throw new Error('that is a circle. It may want cookies or a sign-in, which this tool does not have')
    } catch (error) {
      throw new Error(`${quoted(first.href)} redirects to ${quoted(location)}: ${messageOf(error)}`)
    }
  }
}

async function checkPermission(url: URL, { permits, signal }: Route): Promise<void> {
  const reason = await untilAborted(permits({ kind: 'fetch', host: hostOf(url) }), signal)
  if (reason !== undefined) throw new Error(`that is not permitted: ${reason}`)
}

function redirectOf({ statusCode = 0, headers: { location } }: IncomingMessage): string | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return undefined
  // Node reads headers as Latin-1; those who put other letters into an address mean UTF-8.
  return Buffer.from(location, 'latin1').toString()
}
