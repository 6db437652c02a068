import type { Clock } from '../protocol/index.ts'

/** A clock that moves only when told to. Give the same one to the agent and to its scripted model. */
export interface FakeClock extends Clock {
  /** Lets so much time pass: timers fire in order, and what they set off is done before the next. */
  advance(ms: number): Promise<void>
  /**
   * Lets time pass from timer to timer until the promise settles; rejects if nothing is left that could settle it. It does not
   * know of real files and sockets, and does not wait for them.
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

  /** Everything that can happen without time passing has happened: promises have settled, and what they set off too. */
  async function quiet(): Promise<void> {
    for (let calm = 0; calm < 3; calm = turns > 0 ? 0 : calm + 1) await immediate()
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
      await quiet()
      for (let timer = next(); timer && timer.at <= end; timer = next()) {
        fire(timer)
        await quiet()
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
        await quiet()
        if (settled) return promise
        const timer = next()
        if (!timer)
          throw new Error('the fake clock stands still: no timer is set, so nothing will happen any more')
        fire(timer)
      }
    },
  }
}

function immediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
