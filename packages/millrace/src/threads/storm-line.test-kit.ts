import { MillraceError } from '../protocol/index.ts'
import type { ThreadStore } from './index.ts'

/** A store as one app sees it: it can stand still, refuse, and fall silent for ever. */
export interface Line {
  readonly store: ThreadStore
  readonly isDead: boolean
  /** Every call is answered as it should be. */
  readonly isClear: boolean
  /** Holds up every call and every answer for so long. */
  freeze(ms: number): void
  thaw(): void
  /** The next calls of that name are refused, before they do anything. */
  refuse(name: keyof ThreadStore, times: number): void
  /** Nothing is heard of it any more, as if the process were gone. */
  kill(): void
  /** Refuses what a dead line was asked for, so that its app can be closed and leaves nothing behind. */
  bury(): void
}

export const injected = 'injected'

export function lineTo(store: ThreadStore): Line {
  const refusals = new Map<string, number>()
  const grave = Promise.withResolvers<never>()
  grave.promise.catch(() => {})
  let isDead = false
  let thawed: Promise<void> | undefined
  let thaw = () => {}

  async function pass(name: string, call: () => Promise<unknown>): Promise<unknown> {
    await thawed
    if (isDead) return grave.promise
    const times = refusals.get(name) ?? 0
    refusals.set(name, Math.max(0, times - 1))
    if (times > 0) throw refusal(name)
    const result = await call()
    // It is done, but who asked for it may not hear of it in time, or never.
    await thawed
    return isDead ? grave.promise : result
  }

  return {
    store: new Proxy(store, {
      get(target, name: keyof ThreadStore) {
        if (name === 'watch')
          return ((listener) =>
            target.watch((...news) => {
              if (!isDead) listener(...news)
            })) satisfies ThreadStore['watch']
        const call = target[name] as (...args: unknown[]) => Promise<unknown>
        return (...args: unknown[]) => pass(name, () => call(...args))
      },
    }),
    get isDead() {
      return isDead
    },
    get isClear() {
      return !isDead && !thawed && [...refusals.values()].every((times) => times === 0)
    },
    freeze(ms) {
      if (thawed) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(() => thaw(), ms)
      thawed = promise
      thaw = () => {
        clearTimeout(timer)
        thawed = undefined
        resolve()
      }
    },
    thaw: () => thaw(),
    refuse: (name, times) => refusals.set(name, times),
    kill() {
      isDead = true
    },
    bury: () => grave.reject(refusal('anything')),
  }
}

function refusal(name: string): MillraceError {
  return new MillraceError({ op: `store.${name}`, code: 'store_error', message: `${injected}: no ${name}` })
}
