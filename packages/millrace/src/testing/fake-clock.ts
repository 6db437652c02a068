import type { Clock } from '../protocol/index.ts'

/** A clock that moves only on demand. Pass the same one to the agent and to its scripted model. */
export interface FakeClock extends Clock {
  /**
   * Advances by this much. Timers fire in order, and the work they start is done before the next
   * one fires.
   */
  advance(ms: number): Promise<void>
  /**
   * Advances from timer to timer until the promise settles. Rejects if no timer is left. It does
   * not wait for real files and sockets.
   */
  until<Value>(promise: Promise<Value>): Promise<Value>
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export function fakeClock(): FakeClock {
  const timers = new Set<Timer>()
  let now = 0
  let turns = 0

  const next = () =>
    [...timers].reduce<Timer | undefined>(
      (first, timer) => (first && first.at <= timer.at ? first : timer),
      undefined,
    )

  function fire(timer: Timer) {
    timers.delete(timer)
    now = Math.max(now, timer.at)
    timer.callback()
  }

  /**
   * Waits until everything that can happen without time passing has happened: promises have
   * settled, and so has the work they started.
   */
  async function settle(): Promise<void> {
    for (let idleTurns = 0; idleTurns < 3; idleTurns = turns > 0 ? 0 : idleTurns + 1) await immediate()
  }

  return {
    now: () => now,
    async turn() {
      turns++
      await immediate()
      turns--
    },
    after(ms, callback) {
      const timer = { at: now + ms, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    async advance(ms) {
      const end = now + ms
      await settle()
      for (let timer = next(); timer && timer.at <= end; timer = next()) {
        fire(timer)
        await settle()
      }
      now = Math.max(now, end)
    },
    async until(promise) {
      let settled = false
      const done = () => {
        settled = true
      }
      promise.then(done, done)
      for (;;) {
        await settle()
        if (settled) return promise
        const timer = next()
        if (!timer) throw new Error('the fake clock has no timers left, so the promise will never settle')
        fire(timer)
      }
    },
  }
}

function immediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
