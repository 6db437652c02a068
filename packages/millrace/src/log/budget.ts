/**
 * Counts the bytes that a process holds for its clients: bodies being read, responses being sent,
 * entries waiting for followers. One caller may hold a quarter of the limit.
 */
export interface Budget {
  /** Set by the server from its option `limits.bufferBytes`. */
  limit: number
  readonly used: number
  /** Whether there is no room for this many more bytes, for this caller or overall. */
  isFull(caller?: string | undefined, bytes?: number): boolean
  heldBy(caller: string): number
  /** Adds bytes, even if there is no room. A negative number releases them. */
  add(bytes: number, caller?: string | undefined): void
  /** Calls `callback` once, when bytes were released and there is room for this many. */
  whenRoom(caller: string | undefined, bytes: number, callback: () => void): void
}

/** The share of the limit that one caller may hold. */
export const maxShareOfCaller = 1 / 4

export function budget(limit: number): Budget {
  const callers = new Map<string, number>()
  const waiting = new Set<Parameters<Budget['whenRoom']>>()
  let used = 0

  function wake() {
    for (const one of waiting) {
      const [caller, bytes, callback] = one
      if (self.isFull(caller, bytes)) continue
      waiting.delete(one)
      callback()
    }
  }

  const self: Budget = {
    limit,
    get used() {
      return used
    },
    isFull(caller, bytes = 1) {
      if (used + bytes > self.limit) return true
      return caller !== undefined && self.heldBy(caller) + bytes > self.limit * maxShareOfCaller
    },
    heldBy: (caller) => callers.get(caller) ?? 0,
    add(bytes, caller) {
      used += bytes
      if (caller !== undefined) {
        const held = (callers.get(caller) ?? 0) + bytes
        if (held > 0) callers.set(caller, held)
        else callers.delete(caller)
      }
      if (bytes < 0 && waiting.size > 0) wake()
    },
    whenRoom(...one) {
      waiting.add(one)
    },
  }
  return self
}
