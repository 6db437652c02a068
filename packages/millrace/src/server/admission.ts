import { httpError } from '../protocols/index.ts'
import type { Budget } from '../threads/index.ts'
import type { ServerCaller } from './callers.ts'
import type { Connection } from './connection.ts'
import type { Limits } from './options.ts'

/** Limits the concurrent requests and the buffered bytes of callers. */
export interface Admission {
  /**
   * Reserves a slot for a request and counts its body, at most `bodyBytes`. Throws 429 if the
   * caller is over its limit, 503 if the server is. Returns a function that frees both; calling it
   * twice is fine.
   */
  admit(request: Request, caller: string | undefined, bodyBytes: number): () => void
  /** Counts the response while it is being sent. */
  countResponse(connection: Connection | undefined, caller: ServerCaller): void
  /** How many requests of a caller are in progress. */
  count(caller: string): number
}

export interface AdmissionOptions {
  readonly limits: Pick<Limits, 'requestsAtOnce'>
  readonly buffer: Budget
  readonly onRejected: (limit: keyof Limits) => void
}

/** A body up to this size is accepted even if the buffer is full: a message, a decision, a stop. */
const alwaysAdmittedBytes = 64 * 1024

export function admission({ limits, buffer, onRejected }: AdmissionOptions): Admission {
  const { requestsAtOnce } = limits
  const counts = new Map<string, number>()

  function takeSlot(caller: string) {
    const count = counts.get(caller) ?? 0
    if (count >= requestsAtOnce) {
      onRejected('requestsAtOnce')
      const message = `you have ${count} requests in progress: wait for one to finish`
      throw httpError(429, 'rate_limit', message, { retryAfterMs: 1000 })
    }
    counts.set(caller, count + 1)
  }

  function freeSlot(caller: string) {
    const left = (counts.get(caller) ?? 1) - 1
    if (left > 0) counts.set(caller, left)
    else counts.delete(caller)
  }

  function checkBuffer(caller: string | undefined, bytes: number) {
    if (!buffer.isFull(caller, bytes)) return
    onRejected('bufferBytes')
    const retry = { retryAfterMs: 1000 }
    if (buffer.isFull(undefined, bytes))
      throw httpError(503, 'overloaded', "the server's buffers are full: try again later", retry)
    const message = 'your buffer is full: read the responses you have requested'
    throw httpError(429, 'rate_limit', message, retry)
  }

  return {
    admit(request, caller, bodyBytes) {
      const bytes = declaredBodyBytes(request, bodyBytes)
      if (request.method === 'GET' || bytes > alwaysAdmittedBytes) checkBuffer(caller, bytes)
      if (caller !== undefined) takeSlot(caller)
      buffer.add(bytes, caller)
      let isFreed = false
      return () => {
        if (isFreed) return
        isFreed = true
        if (caller !== undefined) freeSlot(caller)
        buffer.add(-bytes, caller)
      }
    },
    countResponse(connection, caller) {
      connection?.countResponse((bytes) => {
        buffer.add(bytes, caller.key)
        if (bytes > 0) caller.countBytes(bytes)
      })
    },
    count: (caller) => counts.get(caller) ?? 0,
  }
}

/** How many bytes a body may have: its declared length, or the maximum if it declares none. */
export function declaredBodyBytes({ method, headers }: Request, maxBytes: number): number {
  if (!/^P(?:OST|UT|ATCH)$/.test(method)) return 0
  const length = headers.get('content-length')
  if (length !== null) return Math.min(Number(length) || 0, maxBytes)
  return headers.has('transfer-encoding') ? maxBytes : 0
}
