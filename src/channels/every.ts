import { systemClock } from '../protocol/index.ts'

/** Calls back again and again, for ever if need be. Gives a function that ends it. */
export function every(ms: number, callback: () => void): () => void {
  const tick = () => {
    cancel = systemClock.after(ms, tick)
    callback()
  }
  let cancel = systemClock.after(ms, tick)
  return () => cancel()
}
