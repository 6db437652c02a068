import { httpError } from '../protocols/index.ts'
import type { Limits } from './options.ts'

/** All open streams, so that they can be counted and ended. */
export interface Streams {
  readonly size: number
  /**
   * Takes a slot. Throws 503 if the server has too many open streams, 429 if the caller has.
   * Returns a function that frees the slot.
   */
  open(caller: string | undefined, end: () => void): () => void
  /** How many streams a caller has open. */
  count(caller: string): number
  /** Asks each stream to end. Streams free their own slots. */
  endAll(): void
}

export interface StreamsOptions {
  readonly max: number
  readonly perCaller: number
  /** Called with the name of the limit that was reached. */
  readonly onRejected: (limit: keyof Limits) => void
}

export function openStreams({ max, perCaller, onRejected }: StreamsOptions): Streams {
  const open = new Set<() => void>()
  const counts = new Map<string, number>()
  return {
    get size() {
      return open.size
    },
    count: (caller) => counts.get(caller) ?? 0,
    open(caller, end) {
      if (open.size >= max) {
        onRejected('connections')
        throw httpError(503, 'overloaded', 'the server has too many open streams: try again later', {
          retryAfterMs: 5000,
        })
      }
      const count = caller === undefined ? 0 : (counts.get(caller) ?? 0)
      if (count >= perCaller) {
        onRejected('streams')
        throw httpError(429, 'rate_limit', `you have ${count} streams open: close one first`, {
          retryAfterMs: 1000,
        })
      }
      if (caller !== undefined) counts.set(caller, count + 1)
      // A new function, since `end` may be the same for several streams.
      const entry = () => end()
      open.add(entry)
      return () => {
        if (!open.delete(entry) || caller === undefined) return
        const left = (counts.get(caller) ?? 1) - 1
        if (left > 0) counts.set(caller, left)
        else counts.delete(caller)
      }
    },
    endAll() {
      for (const end of [...open]) end()
    },
  }
}
