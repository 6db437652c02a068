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
import { allowedOf, allowProblem } from './allowed.ts'
import { answerOf } from './answer.ts'
import { follow } from './follow.ts'
import { type HeadersOption, headersFor, headersProblem } from './headers.ts'
import type { Lookup } from './resolve.ts'
import { hostOf, quoted, targetOf } from './target.ts'

export interface WebFetchOptions {
  /** For all of it: the name, the redirects, the body. 20 seconds if absent. */
  readonly timeoutMs?: number | undefined
  /** How much of a body is read, as sent and as unpacked. 5 MiB if absent. */
  readonly maxBytes?: number | undefined
  /** How much of the text is shown by one call. 30,000 if absent. */
  readonly maxChars?: number | undefined
  /** 5 if absent. */
  readonly maxRedirects?: number | undefined
  /** Hosts, addresses and ranges that may be fetched although they are not public: `localhost`, `10.1.0.0/16`. */
  readonly allow?: readonly string[] | undefined
  /**
   * Sent to the page that is asked for and to others of its origin, `user-agent` and what is accepted to all. As a function it is
   * asked for every URL, also one that is redirected to, and may return secrets for those it knows.
   */
  readonly headers?: HeadersOption | undefined
  /** Finds the addresses of a name; `dns.lookup` if absent. */
  readonly lookup?: Lookup | undefined
}

/**
 * A tool that reads a page of the web: its text, or the image it is. It never leads into the network that it runs in, by whatever
 * name or redirect, except where `allow` says so.
 */
export function webFetch(options: WebFetchOptions = {}): Tool<unknown, 'web_fetch', Input> {
  const op = 'webFetch'
  if (!isObject(options as unknown))
    throw invalidInput(op, `webFetch() takes one object of options, not ${kindOf(options)}`)
  checkOptions(options, optionTable, { op, what: 'webFetch: the option' })
  const { timeoutMs = 20_000, maxBytes = 5 * 1024 * 1024, maxChars = 30_000, maxRedirects = 5 } = options
  const { lookup = systemLookup, allow = [], headers = {} } = options
  const route = { lookup, allowed: allowedOf(allow), headersFor: headersFor(headers), maxRedirects }

  return tool({
    name: 'web_fetch',
    description:
      'Reads a page of the web by its URL. Web pages come as Markdown, without what is hidden; other text as it is; PNG, JPEG, GIF and WebP images as images. Long text comes in parts: call again with the offset that is named. Only public pages, without any sign-in.',
    input,
    access: ({ url }) => accessOf(url),
    repeat: 'safe',
    // Its own limits hold: they know what to tell the model.
    timeoutMs: Number.POSITIVE_INFINITY,
    maxResultChars: maxChars + 20_000,
    run: ({ url, offset = 0, raw = false }, { signal, permits }: ToolContext) =>
      within(timeoutMs, { url, signal }, async (signal) => {
        const found = await follow(targetOf(url), { ...route, permits, signal })
        return answerOf(found.url, found.response, { maxBytes, maxChars, offset, raw, signal })
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
      url: { type: 'string', description: 'The whole address, with http:// or https://' },
      offset: {
        type: 'integer',
        minimum: 0,
        description: 'How many characters of the text to leave out: for the next part of a long page',
      },
      raw: { type: 'boolean', description: 'The HTML source of a web page instead of its text' },
    },
    required: ['url'],
    additionalProperties: false,
  },
}

/** Nothing for what is no address: the run will say so, and touch nothing. */
function accessOf(url: string): readonly Access[] {
  try {
    return [{ kind: 'fetch', host: hostOf(targetOf(url)) }]
  } catch {
    return []
  }
}

/** Does the work until it is done, cancelled or out of time, and leaves no connection behind in any case. */
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
    throw isLate ? new Error(`${quoted(url)} gave no whole answer within ${timeoutMs / 1000} seconds`) : error
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
