import { lookup as systemLookup } from 'node:dns'
import type { Access, JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import {
  aFunction,
  checkOptions,
  duration,
  invalidInput,
  isObject,
  kindOf,
  systemClock,
  wholeNumber,
} from 'millrace/internal'
import { callDisplay } from '../display.ts'
import { allowListOf, allowProblem } from './allow-list.ts'
import { type HeadersOption, headersFor, headersProblem } from './headers.ts'
import type { Lookup } from './resolve.ts'
import { hostOf, parseTarget, quoted } from './target.ts'

export interface WebFetchOptions {
  /** For the whole request: lookup, redirects, body. 20 seconds by default. */
  readonly timeoutMs?: number | undefined
  /** How much of a body is read, compressed and decompressed. 5 MiB by default. */
  readonly maxBytes?: number | undefined
  /** How many characters one call returns. 30,000 by default. */
  readonly maxChars?: number | undefined
  /** 5 by default. */
  readonly maxRedirects?: number | undefined
  /**
   * Hosts, addresses and ranges to allow although they are not public: `localhost`, `10.1.0.0/16`.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * Sent to the requested page and others of the same origin; `user-agent`, `accept` and
   * `accept-language` also to other origins. A function is called for every URL, including redirects, and
   * can return credentials for known hosts.
   */
  readonly headers?: HeadersOption | undefined
  /** Looks up the addresses of a name; `dns.lookup` by default. */
  readonly lookup?: Lookup | undefined
}

/**
 * A tool that fetches a web page as text, or an image. It never reaches the local network, through any
 * name or redirect, except for hosts in `allow`.
 */
export function webFetch(options: WebFetchOptions = {}): Tool<unknown, 'web_fetch', Input> {
  const op = 'webFetch'
  if (!isObject(options as unknown))
    throw invalidInput(op, `webFetch() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, optionTable, { op, what: 'webFetch: the option' })
  const { timeoutMs = 20_000, maxBytes = 5 * 1024 * 1024, maxChars = 30_000, maxRedirects = 5 } = options
  const { lookup = systemLookup, allow = [], headers = {} } = options
  const route = { lookup, allowed: allowListOf(allow), headersFor: headersFor(headers), maxRedirects }

  return tool({
    name: 'web_fetch',
    description:
      'Fetch a web page by URL. HTML is returned as Markdown without hidden parts, other text unchanged, and PNG, JPEG, GIF and WebP images as images. Long text is returned in parts: call again with the given offset. Works only for public pages without sign-in.',
    input,
    access: ({ url }) => accessOf(url),
    display: ({ url }) => callDisplay({ kind: 'fetch', title: `Fetch ${url}` }),
    repeat: 'safe',
    // The tool has its own timeout, with a better message for the model.
    timeoutMs: Number.POSITIVE_INFINITY,
    maxResultChars: maxChars + 20_000,
    run: ({ url, offset = 0, raw = false }, { signal, checkAccess }: ToolContext) =>
      within(timeoutMs, { url, signal }, async (signal) => {
        const { follow } = await import('./follow.ts')
        const { renderResponse } = await import('./render-response.ts')
        const found = await follow(parseTarget(url), { ...route, checkAccess, signal })
        return renderResponse(found.url, found.response, { maxBytes, maxChars, offset, raw, signal })
      }),
  })
}

interface Input {
  readonly url: string
  readonly offset?: number
  readonly raw?: boolean
}

const input: JsonSchema<Input> = {
  jsonSchema: {
    type: 'object',
    properties: {
      url: { type: 'string', description: 'The complete URL, with http:// or https://' },
      offset: {
        type: 'integer',
        minimum: 0,
        description: 'How many characters of the text to skip, to get the next part of a long page',
      },
      raw: { type: 'boolean', description: 'Return the HTML source instead of the text' },
    },
    required: ['url'],
    additionalProperties: false,
  },
}

/** Empty for an invalid URL: the run reports the error and accesses nothing. */
function accessOf(url: string): readonly Access[] {
  try {
    return [{ kind: 'fetch', host: hostOf(parseTarget(url)) }]
  } catch {
    return []
  }
}

/** Runs `work` until it is done, canceled or timed out, and closes all connections in any case. */
async function within<T>(
  timeoutMs: number,
  { url, signal }: { url: string; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController()
  let isLate = false
  const stopClock = systemClock.after(timeoutMs, () => {
    isLate = true
    end.abort()
  })
  try {
    return await work(AbortSignal.any([signal, end.signal]))
  } catch (error) {
    signal.throwIfAborted()
    throw isLate
      ? new Error(`${quoted(url)} did not return a complete response within ${timeoutMs / 1000} seconds`)
      : error
  } finally {
    stopClock()
    end.abort()
  }
}

const optionTable: OptionTable<WebFetchOptions> = {
  timeoutMs: duration,
  maxBytes: wholeNumber(1),
  maxChars: wholeNumber(1),
  maxRedirects: wholeNumber(0),
  allow: allowProblem,
  headers: headersProblem,
  lookup: aFunction,
}
