import { httpError } from '../protocols/index.ts'
import type { Limits } from './options.ts'

/** The streams that are open, so that they can be counted and ended. */
export interface Streams {
  readonly size: number
  /** Takes a place. Throws 503 if all are taken, 429 if this caller has all of its own. Gives a function that frees it. */
  open(caller: string | undefined, end: () => void): () => void
  /** How many a caller has open. */
  count(caller: string): number
  /** Asks each to end. They free their places themselves. */
  endAll(): void
}

export interface StreamsOptions {
  readonly most: number
  readonly perCaller: number
  /** Told the name of the limit that refused one. */
  readonly onRefused: (limit: keyof Limits) => void
}

export function openStreams({ most, perCaller, onRefused }: StreamsOptions): Streams {
  const open = new Set<() => void>()
  const counts = new Map<string, number>()
  return {
    get size() {
      return open.size
    },
    count: (caller) => counts.get(caller) ?? 0,
    open(caller, end) {
      if (open.size >= most) {
        onRefused('connections')
        throw httpError(503, 'overloaded', 'too many streams are open here: try again later', {
          retryAfterMs: 5000,
        })
      }
      const count = caller === undefined ? 0 : (counts.get(caller) ?? 0)
      if (count >= perCaller) {
        onRefused('streams')
        throw httpError(429, 'rate_limit', `you have ${count} streams open: close one first`, {
          retryAfterMs: 1000,
        })
      }
      if (caller !== undefined) counts.set(caller, count + 1)
      // Each has an entry of its own, whatever it is ended by.
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
