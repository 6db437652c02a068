import { isObject, sleep, systemClock, toMillraceError } from '../protocol/index.ts'
import { broken, failureOf, reasonOf, tooSlow } from './failures.ts'
import type { ClientOptions, Fetch } from './options.ts'
import type { Retry } from './patience.ts'
import { delayAfter, within } from './patience.ts'

interface Call {
  readonly op: string
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly body?: object
  /**
   * Sending it twice is the same as once. Any other is sent again only if the server has refused it untouched: after an answer
   * that was lost nobody knows whether it was done.
   */
  readonly repeatable: boolean
}

/** Requests to one server. Everything that goes wrong rejects with a `MillraceError`. */
export interface Http {
  /** Sends, again if need be, and gives the JSON that comes back; undefined if there is none. */
  ask(call: Call): Promise<unknown>
  /** Sends once and gives the answer when its head is there, to be read by the caller; the signal ends that too. */
  open(call: {
    op: string
    path: string
    query: NonNullable<Call['query']>
    signal: AbortSignal
  }): Promise<Response>
  /** The token as it is now; undefined if there is none. */
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

  async function send(call: Omit<Call, 'repeatable'>, accept: string, signal: AbortSignal) {
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
      throw broken(op, `cannot reach ${base}: ${reasonOf(thrown)}`, thrown)
    })
    if (!response.ok) throw await failureOf(op, response)
    return response
  }

  async function once(call: Call): Promise<unknown> {
    const { op } = call
    const controller = new AbortController()
    const { signal } = controller
    const work = async () => {
      const response = await send(call, 'application/json', signal)
      if (response.status === 204) return undefined
      const value: unknown = await response.json().catch((thrown: unknown) => {
        throw broken(op, `the server's answer is not to be read: ${reasonOf(thrown)}`, thrown)
      })
      if (!isObject(value)) throw broken(op, "the server's answer is not an object: is the address right?")
      return value
    }
    const tooLong = () => tooSlow(op, 'the server has not answered', timeoutMs)
    try {
      return await within(work(), { op, ms: timeoutMs, signal, tooLong })
    } finally {
      controller.abort()
    }
  }

  return {
    token,

    async ask(call) {
      for (let failures = 1; ; failures++) {
        try {
          return await once(call)
        } catch (thrown) {
          const error = toMillraceError(thrown, { op: call.op, code: 'stream_error' })
          const { retryable, status, retryAfterMs = 0 } = error
          const untouched = status === 429 || status === 503
          const again = retryable && (call.repeatable || untouched)
          if (!again || failures >= retry.attempts || retryAfterMs > retry.maxDelayMs) throw error
          const delayMs = delayAfter(failures, retry, retryAfterMs)
          onRetry?.(error, delayMs)
          await sleep(delayMs, { clock: systemClock })
        }
      }
    },

    open({ signal, ...call }) {
      const tooLong = () => tooSlow(call.op, 'no stream has begun', openMs)
      return within(send(call, 'text/event-stream', signal), { op: call.op, ms: openMs, signal, tooLong })
    },
  }
}

function queryOf(query: NonNullable<Call['query']>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return given.length > 0 ? `?${given.join('&')}` : ''
}
