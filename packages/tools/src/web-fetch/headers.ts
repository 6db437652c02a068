import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { Problem } from 'millrace/internal'
import { isObject, kindOf, messageOf } from 'millrace/internal'
import { acceptEncoding } from './body.ts'

type Headers = Readonly<Record<string, string>>

/** The same for every page, or by where it is asked for. */
export type HeadersOption = Headers | ((url: URL) => Headers)

/** What says who may read: it must never go to whatever host a model happens to name. */
const secret = new Set(['authorization', 'cookie', 'proxy-authorization'])

/** What the connection itself depends on. */
const own = new Set(
  'host connection keep-alive accept-encoding content-length transfer-encoding te trailer upgrade expect'.split(
    ' ',
  ),
)

/** What may go on to another origin. */
const harmless = new Set(['user-agent', 'accept', 'accept-language'])

const usual = {
  'user-agent': 'millrace (web_fetch)',
  // Some sites have their pages in Markdown for those who ask.
  accept: 'text/markdown, text/html, application/xhtml+xml, */*;q=0.8',
}

/** What is sent to a page, and to those it redirects to. */
export function headersFor(option: HeadersOption): (url: URL, first: URL) => Headers {
  return (url, first) => ({ ...usual, ...given(option, url, first), 'accept-encoding': acceptEncoding })
}

export function headersProblem(value: unknown): Problem {
  if (typeof value === 'function') return undefined
  if (!isObject(value)) return `must be an object or a function of the URL, not ${kindOf(value)}`
  for (const [name, content] of Object.entries(value)) {
    if (secret.has(name.toLowerCase()))
      return `must not have '${name}', which every host that a model names would get: give a function of the URL that returns it for yours alone`
    const problem = headerProblem(name, content)
    if (problem) return problem
  }
}

function given(option: HeadersOption, url: URL, first: URL): Headers {
  const headers = Object.entries(typeof option === 'function' ? option(new URL(url)) : option)
  const lower = headers.map(([name, content]) => [name.toLowerCase(), content] as const)
  const isElsewhere = typeof option !== 'function' && url.origin !== first.origin
  return Object.fromEntries(lower.filter(([name]) => !own.has(name) && (!isElsewhere || harmless.has(name))))
}

function headerProblem(name: string, content: unknown): Problem {
  if (own.has(name.toLowerCase())) return `must not have '${name}', which the tool sets itself`
  try {
    validateHeaderName(name)
    validateHeaderValue(name, content as string)
  } catch (error) {
    return `has '${name}' wrong: ${messageOf(error)}`
  }
}
