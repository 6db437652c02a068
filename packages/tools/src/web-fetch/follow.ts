import type { IncomingMessage } from 'node:http'
import type { FetchAccess } from 'millrace/internal'
import { messageOf } from 'millrace/internal'
import { untilAborted } from '../until-aborted.ts'
import type { AllowList } from './allow-list.ts'
import { get } from './get.ts'
import type { Lookup } from './resolve.ts'
import { resolveHost } from './resolve.ts'
import { hostOf, parseTarget, quoted } from './target.ts'

export interface Route {
  readonly lookup: Lookup
  readonly allowed: AllowList
  readonly maxRedirects: number
  /** The request headers. Called for every redirect. */
  readonly headersFor: (url: URL, first: URL) => Readonly<Record<string, string>>
  readonly checkAccess: (access: FetchAccess) => Promise<string | undefined>
  readonly signal: AbortSignal
}

/** Follows redirects. Every URL has to pass the same checks as the first. */
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
        `${quoted(first.href)} redirects more than ${maxRedirects} times, last to ${quoted(location)}`,
      )
    try {
      url = parseTarget(location, url)
      // Before the DNS lookup, which alone could leak data.
      await checkPermission(url, route)
      addresses = await resolveHost(url, route)
      if (seen.has(url.href))
        throw new Error(
          'this is a redirect loop. It may need cookies or sign-in, which this tool does not support',
        )
    } catch (error) {
      throw new Error(`${quoted(first.href)} redirects to ${quoted(location)}: ${messageOf(error)}`)
    }
  }
}

async function checkPermission(url: URL, { checkAccess, signal }: Route): Promise<void> {
  const reason = await untilAborted(checkAccess({ kind: 'fetch', host: hostOf(url) }), signal)
  if (reason !== undefined) throw new Error(`this is not allowed: ${reason}`)
}

function redirectOf({ statusCode = 0, headers: { location } }: IncomingMessage): string | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || location === undefined) return undefined
  // Node decodes headers as Latin-1; servers send non-ASCII URLs as UTF-8.
  return Buffer.from(location, 'latin1').toString()
}
