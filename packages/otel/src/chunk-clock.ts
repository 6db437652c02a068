/** When what comes from a model comes. */
export interface ChunkClock {
  /** Undefined as long as nothing has come. */
  readonly firstAt: number | undefined
  received(): void
}

/** `tell` is told how long each pause was. */
export function chunkClock(tell: (seconds: number) => void): ChunkClock {
  let firstAt: number | undefined
  let latestAt = 0
  let skipped = 0
  let told = 0
  return {
    get firstAt() {
      return firstAt
    },
    /**
     * To record a value costs more than to pass a word on. So of a long answer not every pause is recorded: of the first 64 each, of
     * the next 128 every second, of the next 256 every fourth, and so on.
     */
    received() {
      const now = performance.now()
      const seconds = (now - latestAt) / 1000
      latestAt = now
      if (firstAt === undefined) {
        firstAt = now
        return
      }
      if (++skipped < 2 ** Math.floor(told / 64)) return
      skipped = 0
      told++
      tell(seconds)
    },
  }
}
