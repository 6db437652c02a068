/** A stream that is open for a user. */
interface Held {
  readonly user: string
  /** Whether the user may still have it. What rejects is not an answer: the stream stays. */
  readonly mayStay: () => Promise<boolean>
  readonly end: () => void
}

/** Streams that end when access is taken back. */
export interface Access {
  /** How often `signOut` was called. A user identified before the last call may have been signed out by it. */
  readonly signOuts: number
  /** Checks a stream again and again, at once if a user was signed out since `since`. Gives a function that lets go of it. */
  hold(stream: Held, since: number): () => void
  /** Ends all streams of a user. Gives their number. */
  signOut(user: string): number
}

const longestTickMs = 1000

/**
 * Checks each stream once in `recheckMs`. One timer serves all: with each tick it takes the share that is due from the front
 * of the line, so that any number of streams is spread evenly over the time.
 */
export function openAccess({ recheckMs }: { recheckMs: number }): Access {
  const line = new Set<Held>()
  const checking = new Set<Held>()
  const tickMs = Math.min(longestTickMs, recheckMs / 4)
  let timer: ReturnType<typeof setTimeout> | undefined
  let due = 0
  let signOuts = 0

  async function check(stream: Held) {
    // An `auth` that hangs is not asked about the same stream twice.
    if (checking.has(stream)) return
    checking.add(stream)
    const stays = await stream.mayStay().catch(() => true)
    checking.delete(stream)
    if (!stays && line.delete(stream)) stream.end()
  }

  function tick() {
    timer = undefined
    due += (line.size * tickMs) / recheckMs
    // Those that were checked stand last in the line from then on.
    for (const stream of line) {
      if (due < 1) break
      due--
      line.delete(stream)
      line.add(stream)
      void check(stream)
    }
    tickLater()
  }

  function tickLater() {
    if (timer !== undefined || line.size === 0) return
    timer = setTimeout(tick, tickMs)
    // No reason to keep a process that has nothing else to do.
    if (typeof timer === 'object') timer.unref()
  }

  return {
    get signOuts() {
      return signOuts
    },
    hold(stream, since) {
      line.add(stream)
      tickLater()
      if (since !== signOuts) void check(stream)
      return () => line.delete(stream)
    },
    signOut(user) {
      signOuts++
      const streams = [...line].filter((stream) => stream.user === user)
      for (const stream of streams) {
        line.delete(stream)
        stream.end()
      }
      return streams.length
    },
  }
}
