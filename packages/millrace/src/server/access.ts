/** A stream that is open for a user. */
interface WatchedStream {
  readonly user: string
  /** Whether the user may keep the stream open. If it rejects, the stream stays open. */
  readonly isAllowed: () => Promise<boolean>
  readonly end: () => void
}

/** Open streams, which end when access is revoked. */
export interface Access {
  /**
   * How many times `signOut` was called. A user identified before the last call may have been
   * signed out by it.
   */
  readonly signOuts: number
  /**
   * Checks a stream periodically, and at once if `signOuts` is no longer `since`. Returns a
   * function that stops the checks.
   */
  watch(stream: WatchedStream, since: number): () => void
  /** Ends all streams of a user. Returns how many there were. */
  signOut(user: string): number
}

const maxTickMs = 1000

/**
 * Checks each stream once every `recheckMs`. One timer serves all streams: each tick checks the
 * share that is due, from the front of the queue, so that the checks are spread evenly over time.
 */
export function openAccess({ recheckMs }: { recheckMs: number }): Access {
  const queue = new Set<WatchedStream>()
  const checking = new Set<WatchedStream>()
  const tickMs = Math.min(maxTickMs, recheckMs / 4)
  let timer: ReturnType<typeof setTimeout> | undefined
  let due = 0
  let signOuts = 0

  async function check(stream: WatchedStream) {
    // If `auth` hangs, the stream is not checked a second time.
    if (checking.has(stream)) return
    checking.add(stream)
    const isAllowed = await stream.isAllowed().catch(() => true)
    checking.delete(stream)
    if (!isAllowed && queue.delete(stream)) stream.end()
  }

  function tick() {
    timer = undefined
    due += (queue.size * tickMs) / recheckMs
    // A checked stream moves to the back of the queue.
    for (const stream of queue) {
      if (due < 1) break
      due--
      queue.delete(stream)
      queue.add(stream)
      void check(stream)
    }
    scheduleTick()
  }

  function scheduleTick() {
    if (timer !== undefined || queue.size === 0) return
    timer = setTimeout(tick, tickMs)
    // The timer must not keep the process alive.
    if (typeof timer === 'object') timer.unref()
  }

  return {
    get signOuts() {
      return signOuts
    },
    watch(stream, since) {
      queue.add(stream)
      scheduleTick()
      if (since !== signOuts) void check(stream)
      return () => queue.delete(stream)
    },
    signOut(user) {
      signOuts++
      const streams = [...queue].filter((stream) => stream.user === user)
      for (const stream of streams) {
        queue.delete(stream)
        stream.end()
      }
      return streams.length
    },
  }
}
