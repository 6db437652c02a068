import { refusal } from './refusal.ts'

/** The streams that are open, so that they can be counted and ended. */
export interface Streams {
  readonly size: number
  /** Takes a place. Throws 503 if there is none, 429 if this user has all of its own. Gives a function that frees it. */
  open(user: string | undefined, end: () => void): () => void
  /** Asks each to end. They free their places themselves. */
  endAll(): void
}

export function openStreams({ most, perUser }: { most: number; perUser: number }): Streams {
  const open = new Set<() => void>()
  const counts = new Map<string, number>()
  return {
    get size() {
      return open.size
    },
    open(user, end) {
      if (open.size >= most)
        throw refusal(503, 'overloaded', 'too many streams are open here: try again later', {
          retryAfterMs: 5000,
        })
      const count = user === undefined ? 0 : (counts.get(user) ?? 0)
      if (count >= perUser)
        throw refusal(429, 'rate_limit', `you have ${count} streams open: close one first`, {
          retryAfterMs: 1000,
        })
      if (user !== undefined) counts.set(user, count + 1)
      // Each has an entry of its own, whatever it is ended by.
      const entry = () => end()
      open.add(entry)
      return () => {
        if (!open.delete(entry) || user === undefined) return
        const left = (counts.get(user) ?? 1) - 1
        if (left > 0) counts.set(user, left)
        else counts.delete(user)
      }
    },
    endAll() {
      for (const end of [...open]) end()
    },
  }
}
