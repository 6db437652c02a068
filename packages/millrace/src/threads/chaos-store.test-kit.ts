import { MillraceError } from '../protocol/index.ts'
import type { ThreadStore } from './index.ts'

/** A store as one app sees it: it can freeze, fail, and stop responding for good. */
export interface StoreLink {
  readonly store: ThreadStore
  readonly isDead: boolean
  /** Whether every call works normally. */
  readonly isClear: boolean
  /** Delays every call and every result for this long. */
  freeze(ms: number): void
  thaw(): void
  /** The next calls of this name fail before they do anything. */
  fail(name: keyof ThreadStore, times: number): void
  /** The next calls of this name do their work, and then fail: their acknowledgements are lost. */
  loseAcknowledgements(name: keyof ThreadStore, times: number): void
  /** Stops responding, as if the process had died. */
  kill(): void
  /** Rejects the pending calls of a dead link, so that its app can be closed. */
  rejectPending(): void
}

export const injected = 'injected'

export function linkTo(store: ThreadStore): StoreLink {
  const failures = new Map<string, number>()
  const losses = new Map<string, number>()
  const dead = Promise.withResolvers<never>()
  dead.promise.catch(() => {})
  let isDead = false
  let thawed: Promise<void> | undefined
  let thaw = () => {}

  async function pass(name: string, call: () => Promise<unknown>): Promise<unknown> {
    await thawed
    if (isDead) return dead.promise
    if (isNext(failures, name)) throw injectedError(name)
    const isLost = isNext(losses, name)
    const result = await call()
    // It is done, but the caller may learn of it late, or never.
    await thawed
    if (isDead) return dead.promise
    if (isLost) throw injectedError(name)
    return result
  }

  return {
    store: new Proxy(store, {
      get(target, name: keyof ThreadStore) {
        if (name === 'watch')
          return (({ changed, runnable, missed }) =>
            target.watch({
              changed: (...change) => isDead || changed?.(...change),
              runnable: () => isDead || runnable?.(),
              missed: () => isDead || missed?.(),
            })) satisfies ThreadStore['watch']
        const call = target[name] as (...args: unknown[]) => Promise<unknown>
        return (...args: unknown[]) => pass(name, () => call(...args))
      },
    }),
    get isDead() {
      return isDead
    },
    get isClear() {
      const counts = [...failures.values(), ...losses.values()]
      return !isDead && !thawed && counts.every((times) => times === 0)
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
    fail: (name, times) => failures.set(name, times),
    loseAcknowledgements: (name, times) => losses.set(name, times),
    kill() {
      isDead = true
    },
    rejectPending: () => dead.reject(injectedError('anything')),
  }
}

/** Whether the next call of this name is one of these, which it then is no more. */
function isNext(calls: Map<string, number>, name: string): boolean {
  const times = calls.get(name) ?? 0
  calls.set(name, Math.max(0, times - 1))
  return times > 0
}

function injectedError(name: string): MillraceError {
  return new MillraceError({ op: `store.${name}`, code: 'store_error', message: `${injected}: no ${name}` })
}
