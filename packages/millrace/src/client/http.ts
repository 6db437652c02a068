import { isObject, sleep, systemClock, toMillraceError } from '../protocol/index.ts'
import { reasonOf, responseError, streamError, timeoutError } from './errors.ts'
import type { ClientOptions, Fetch } from './options.ts'
import type { Retry } from './retry.ts'
import { delayAfter, withTimeout } from './retry.ts'

interface RequestOptions {
  readonly op: string
  readonly method?: 'GET' | 'POST' | 'DELETE' | 'PATCH'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: object
  /**
   * Whether the request is idempotent. Other requests are only retried if the server rejected them
   * without processing them: after a lost response it is unknown whether they took effect.
   */
  readonly repeatable: boolean
}

/** Sends requests to one server. All errors are `MillraceError`s. */
export interface Http {
  /**
   * Sends a request, with retries, and resolves with the JSON response; undefined if there is no
   * body.
   */
  request(call: RequestOptions): Promise<unknown>
  /**
   * Sends a request once and resolves with the response when its headers arrive. The signal aborts
   * the body too.
   */
  open(call: {
    op: string
    path: string
    query: NonNullable<RequestOptions['query']>
    signal: AbortSignal
  }): Promise<Response>
  /** The current token, if any. */
  token(op: string): Promise<string | undefined>
}

export interface HttpOptions extends Pick<ClientOptions, 'token' | 'headers' | 'onRetry'> {
  readonly base: string
  readonly fetch: Fetch
  readonly retry: Retry
  readonly timeoutMs: number
  readonly openMs: number
}

export function http({
  base,
  fetch,
  headers,
  retry,
  timeoutMs,
  openMs,
  onRetry,
  ...options
}: HttpOptions): Http {
  async function token(op: string) {
    if (typeof options.token !== 'function') return options.token
    try {
      return await options.token()
    } catch (thrown) {
      throw toMillraceError(thrown, { op, code: 'auth' })
    }
  }

  async function send(call: Omit<RequestOptions, 'repeatable'>, accept: string, signal: AbortSignal) {
    const { op, method = 'GET', path, query = {}, body } = call
    const bearer = await token(op)
    const init: RequestInit = {
      method,
      headers: {
        accept,
        ...(body && { 'content-type': 'application/json' }),
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      signal,
      ...(body && { body: JSON.stringify(body) }),
    }
    const response = await fetch(base + path + queryOf(query), init).catch((thrown: unknown) => {
      throw streamError(op, `cannot reach ${base}: ${reasonOf(thrown)}`, thrown)
    })
    if (!response.ok) throw await responseError(op, response)
    return response
  }

  async function requestOnce(call: RequestOptions): Promise<unknown> {
    const { op } = call
    const controller = new AbortController()
    const { signal } = controller
    const work = async () => {
      const response = await send(call, 'application/json', signal)
      if (response.status === 204) return undefined
      const value: unknown = await response.json().catch((thrown: unknown) => {
        throw streamError(op, `cannot read the server's response: ${reasonOf(thrown)}`, thrown)
      })
      if (!isObject(value)) throw streamError(op, "the server's response is not a JSON object: check the URL")
      return value
    }
    const onTimeout = () => timeoutError(op, 'the server did not answer', timeoutMs)
    try {
      return await withTimeout(work(), { op, ms: timeoutMs, signal, onTimeout })
    } finally {
      controller.abort()
    }
  }

  return {
    token,

    async request(call) {
      for (let failures = 1; ; failures++) {
        try {
          return await requestOnce(call)
        } catch (thrown) {
          const error = toMillraceError(thrown, { op: call.op, code: 'stream_error' })
          const { retryable, status, retryAfterMs = 0 } = error
          const isUnprocessed = status === 429 || status === 503
          const again = retryable && (call.repeatable || isUnprocessed)
          if (!again || failures >= retry.attempts || retryAfterMs > retry.maxDelayMs) throw error
          const delayMs = delayAfter(failures, retry, retryAfterMs)
          onRetry?.(error, delayMs)
          await sleep(delayMs, { clock: systemClock })
        }
      }
    },

    open({ signal, ...call }) {
      const onTimeout = () => timeoutError(call.op, 'the stream did not start', openMs)
      return withTimeout(send(call, 'text/event-stream', signal), {
        op: call.op,
        ms: openMs,
        signal,
        onTimeout,
      })
    },
  }
}

function queryOf(query: NonNullable<RequestOptions['query']>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}
