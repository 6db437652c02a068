import { repeatEvery } from '../protocol/index.ts'

/** Clients with the same interval share a timer, which wakes the process this often per interval. */
const ticks = 8

interface Wheel {
  /** Callbacks by the tick at which they are due. */
  readonly slots: readonly Set<() => void>[]
  /** The last tick. */
  at: number
  count: number
  readonly stop: () => void
}

const wheels = new Map<number, Wheel>()

/**
 * Calls `beat` every `ms`, the first time up to an eighth earlier. Waking up costs more than a beat,
 * so a timer for each of a thousand clients would cost several times as much as all their beats.
 * Returns a function that stops it.
 */
export function beatEvery(ms: number, beat: () => void): () => void {
  const wheel = wheels.get(ms) ?? openWheel(ms)
  // The one that was called last: it is called again after a whole interval.
  const slot = wheel.slots[wheel.at] as Set<() => void>
  // A new function, since `beat` may be the same for several clients.
  const entry = () => beat()
  slot.add(entry)
  wheel.count++
  return () => {
    if (!slot.delete(entry) || --wheel.count > 0) return
    wheel.stop()
    wheels.delete(ms)
  }
}

function openWheel(ms: number): Wheel {
  const slots = Array.from({ length: ticks }, () => new Set<() => void>())
  const stop = repeatEvery(ms / ticks, () => {
    wheel.at = (wheel.at + 1) % ticks
    for (const beat of slots[wheel.at] as Set<() => void>) beat()
  })
  const wheel: Wheel = { slots, at: 0, count: 0, stop }
  wheels.set(ms, wheel)
  return wheel
}
