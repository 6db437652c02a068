import type { Delta, GrowingDelta, RunEvent } from '../protocol/index.ts'
import { growDelta, joinedEvent, relate, startDelta, textOfDelta } from '../protocol/index.ts'

/**
 * The end of a log: events as they are appended. Deltas are joined as they come in, so each text is
 * stored once.
 */
export interface DeltaBuffer {
  /** Complete events, in order. A group commit takes them from the front. */
  readonly settled: RunEvent[]
  /**
   * One delta for each text that is being generated at the same time: the model's own, the
   * arguments of each call, each sub-agent's.
   */
  readonly growing: readonly GrowingDelta[]
  /** Takes constant time, however long the log is. */
  push(event: RunEvent): void
  /** Completes the growing deltas. */
  settle(): void
}

/** The maximum number of growing texts, since each delta is compared with all of them. */
const maxGrowing = 64

/** Calls `onSettled` once with each complete event. */
export function deltaBuffer(onSettled: (event: RunEvent) => void): DeltaBuffer {
  const settled: RunEvent[] = []
  const growing: GrowingDelta[] = []

  function add(event: RunEvent) {
    settled.push(event)
    onSettled(event)
  }

  function settle() {
    if (growing.length === 0) return
    // One piece may be many deltas: pieces are joined as they come in.
    for (const delta of growing.splice(0))
      add(delta.latest === delta.first ? delta.first : joinedEvent(delta))
  }

  function pushDelta(event: Delta, text: string) {
    for (const delta of growing) {
      const relation = relate(delta.first, event)
      if (relation === 'continues') return growDelta(delta, event, text)
      if (relation === 'follows') {
        settle()
        break
      }
    }
    if (growing.length === maxGrowing) settle()
    growing.push(startDelta(event, text))
  }

  return {
    settled,
    growing,
    push(event) {
      const text = textOfDelta(event)
      if (text !== undefined) return pushDelta(event as Delta, text)
      settle()
      add(event)
    },
    settle,
  }
}
