import type { Problem } from 'millrace/internal'
import { isObject, kindOf, messageOf } from 'millrace/internal'
import { nodeHttp } from '../node-http.ts'

type Headers = Readonly<Record<string, string>>

/** Headers for every page, or a function of the URL. */
export type HeadersOption = Headers | ((url: URL) => Headers)

/** Must never be sent to an arbitrary host that a model names. */
const credentials = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** Set by the HTTP client itself. */
const reserved = new Set(
  'host connection keep-alive accept-encoding content-length transfer-encoding te trailer upgrade expect'.split(
    ' ',
  ),
)

/** May be sent to another origin. */
const harmless = new Set(['user-agent', 'accept', 'accept-language'])

const defaults = {
  'user-agent': 'millrace (web_fetch)',
  // Some sites serve Markdown on request.
  accept: 'text/markdown, text/html, application/xhtml+xml, */*;q=0.8',
}

/** The request headers for a page and for redirects, without `accept-encoding`. */
export function headersFor(option: HeadersOption): (url: URL, first: URL) => Headers {
  return (url, first) => ({ ...defaults, ...customHeaders(option, url, first) })
}

export function headersProblem(value: unknown): Problem {
  if (typeof value === 'function') return undefined
  if (!isObject(value)) return `must be an object or a function of the URL, not ${kindOf(value)}`
  for (const [name, content] of Object.entries(value)) {
    if (credentials.has(name.toLowerCase()))
      return `must not have '${name}', which would be sent to any host that a model names: pass a function of the URL that returns it only for your hosts`
    const problem = headerProblem(name, content)
    if (problem) return problem
  }
}

function customHeaders(option: HeadersOption, url: URL, first: URL): Headers {
  const headers = Object.entries(typeof option === 'function' ? option(new URL(url)) : option)
  const lower = headers.map(([name, content]) => [name.toLowerCase(), content] as const)
  const isOtherOrigin = typeof option !== 'function' && url.origin !== first.origin
  return Object.fromEntries(
    lower.filter(([name]) => !reserved.has(name) && (!isOtherOrigin || harmless.has(name))),
  )
}

function headerProblem(name: string, content: unknown): Problem {
  if (reserved.has(name.toLowerCase())) return `must not have '${name}', which the tool sets itself`
  const { validateHeaderName, validateHeaderValue } = nodeHttp()
  try {
    validateHeaderName(name)
    validateHeaderValue(name, content as string)
  } catch (error) {
    return `has an invalid '${name}': ${messageOf(error)}`
  }
}
