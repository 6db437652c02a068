import type { Delta, Growing, RunEvent } from '../protocol/index.ts'
import { beginGrowing, grow, joinedEvent, relate, textOfDelta } from '../protocol/index.ts'

/** The end of a log: events as they are appended. Deltas are joined as they come in, so each text is held once. */
export interface Tail {
  /** In order, deltas as long as they became. A group commit takes them from the front. */
  readonly settled: RunEvent[]
  /** One for each text that is being generated at the same time: the model's own, the arguments of each call, each sub-agent's. */
  readonly growing: readonly Growing[]
  /** Constant cost, whatever came before. */
  push(event: RunEvent): void
  /** Ends the deltas that are growing. */
  settle(): void
}

/** Each delta is compared with all texts that are growing, so only so many of them do at the same time. */
const mostGrowing = 64

/** `onSettled` is called with each event once, deltas as long as they became. */
export function tail(onSettled: (event: RunEvent) => void): Tail {
  const settled: RunEvent[] = []
  let growing: Growing[] = []

  function add(event: RunEvent) {
    settled.push(event)
    onSettled(event)
  }

  function settle() {
    if (growing.length === 0) return
    const ended = growing
    growing = []
    for (const delta of ended) add(delta.pieces.length === 1 ? delta.latest : joinedEvent(delta))
  }

  function pushDelta(event: Delta, text: string) {
    for (const delta of growing) {
      const relation = relate(delta.first, event)
      if (relation === 'goes-on') return grow(delta, event, text)
      if (relation === 'follows') {
        settle()
        break
      }
    }
    if (growing.length === mostGrowing) settle()
    growing.push(beginGrowing(event, text))
  }

  return {
    settled,
    get growing() {
      return growing
    },
    push(event) {
      const text = textOfDelta(event)
      if (text !== undefined) return pushDelta(event as Delta, text)
      settle()
      add(event)
    },
    settle,
  }
}
