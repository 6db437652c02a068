/** Measures when chunks arrive from a model. */
export interface ChunkClock {
  /** Undefined until the first chunk. */
  readonly firstAt: number | undefined
  received(): void
}

/** Calls `onInterval` with the time between two chunks. */
export function chunkClock(onInterval: (seconds: number) => void): ChunkClock {
  let firstAt: number | undefined
  let latestAt = 0
  let skipped = 0
  let recorded = 0
  return {
    get firstAt() {
      return firstAt
    },
    /**
     * Recording a value costs more than passing on a delta. So a long answer is sampled: of the
     * first 64 intervals all are recorded, of the next 128 every second, of the next 256 every
     * fourth, and so on.
     */
    received() {
      const now = performance.now()
      const seconds = (now - latestAt) / 1000
      latestAt = now
      if (firstAt === undefined) {
        firstAt = now
        return
      }
      if (++skipped < 2 ** Math.floor(recorded / 64)) return
      skipped = 0
      recorded++
      onInterval(seconds)
    },
  }
}
