import type { ThreadStore } from '../log/index.ts'
import { deadline } from '../log/index.ts'

/** A store whose calls fail if they take longer: one that hangs is one that failed. */
export function withDeadlines(store: ThreadStore, timeoutMs: number): ThreadStore {
  return new Proxy(store, {
    get(target, name: keyof ThreadStore) {
      const call = target[name] as (...args: unknown[]) => unknown
      // Packing takes as long as the log is, and nothing waits for it.
      if (name === 'watch' || name === 'close' || name === 'packDeltas') return call.bind(target)
      return (...args: unknown[]) => deadline(call.apply(target, args) as Promise<unknown>, name, timeoutMs)
    },
  })
}
