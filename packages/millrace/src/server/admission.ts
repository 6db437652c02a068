import { httpError } from '../protocols/index.ts'
import type { Budget } from '../threads/index.ts'
import type { Connection } from './connection.ts'
import type { Limits } from './options.ts'
import type { Visitor } from './visitors.ts'

/** Keeps what callers have under way within the limits. */
export interface Admission {
  /**
   * Takes a place for a request and counts its body, of at most so many bytes. Throws 429 if the caller has too much under way, 503 if the server has.
   * Gives a function that frees both, which may be called twice.
   */
  begin(request: Request, caller: string | undefined, bodyBytes: number): () => void
  /** Counts the answer while it is being sent. */
  countAnswer(connection: Connection | undefined, visitor: Visitor): void
  /** How many requests of a caller are under way. */
  count(caller: string): number
}

export interface AdmissionOptions {
  readonly limits: Pick<Limits, 'requestsAtOnce'>
  readonly buffer: Budget
  readonly onRefused: (limit: keyof Limits) => void
}

/** A body of up to so many bytes is let in even when the buffer is full: a message, a decision, a stop. */
const small = 64 * 1024

export function admission({ limits, buffer, onRefused }: AdmissionOptions): Admission {
  const { requestsAtOnce } = limits
  const counts = new Map<string, number>()

  function takePlace(caller: string) {
    const count = counts.get(caller) ?? 0
    if (count >= requestsAtOnce) {
      onRefused('requestsAtOnce')
      const message = `you have ${count} requests under way: wait for one of them to end`
      throw httpError(429, 'rate_limit', message, { retryAfterMs: 1000 })
    }
    counts.set(caller, count + 1)
  }

  function freePlace(caller: string) {
    const left = (counts.get(caller) ?? 1) - 1
    if (left > 0) counts.set(caller, left)
    else counts.delete(caller)
  }

  function checkRoom(caller: string | undefined, bytes: number) {
    if (!buffer.isFull(caller, bytes)) return
    onRefused('bufferBytes')
    const retry = { retryAfterMs: 1000 }
    if (buffer.isFull(undefined, bytes))
      throw httpError(
        503,
        'overloaded',
        'the server is holding too much for its clients: try again later',
        retry,
      )
    const message = 'the server is holding too much for you: read the answers that you have asked for'
    throw httpError(429, 'rate_limit', message, retry)
  }

  return {
    begin(request, caller, bodyBytes) {
      const bytes = announced(request, bodyBytes)
      if (request.method === 'GET' || bytes > small) checkRoom(caller, bytes)
      if (caller !== undefined) takePlace(caller)
      buffer.add(bytes, caller)
      let isFree = false
      return () => {
        if (isFree) return
        isFree = true
        if (caller !== undefined) freePlace(caller)
        buffer.add(-bytes, caller)
      }
    },
    countAnswer(connection, visitor) {
      connection?.countAnswer((bytes) => {
        buffer.add(bytes, visitor.key)
        if (bytes > 0) visitor.payFor(bytes)
      })
    },
    count: (caller) => counts.get(caller) ?? 0,
  }
}

/** What a body may take: as much as its length says, or as much as is allowed where it does not say. */
export function announced({ method, headers }: Request, most: number): number {
  if (!/^P(?:OST|UT|ATCH)$/.test(method)) return 0
  const length = headers.get('content-length')
  if (length !== null) return Math.min(Number(length) || 0, most)
  return headers.has('transfer-encoding') ? most : 0
}
