import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { fakeClock } from '../testing/index.ts'
import { sleep, systemClock } from './clock.ts'

/** A signal that exposes its listeners. */
function watchedSignal() {
  const controller = new AbortController()
  const { signal } = controller
  const listeners = new Set<unknown>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (type: string, listener: never, options?: never) => {
    listeners.add(listener)
    add(type, listener, options)
  }
  signal.removeEventListener = (type: string, listener: never, options?: never) => {
    listeners.delete(listener)
    remove(type, listener, options)
  }
  return { signal, listeners, abort: (reason?: unknown) => controller.abort(reason) }
}

describe('systemClock', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('calls the callback once, after the given time', () => {
    const callback = vi.fn()
    systemClock.after(50, callback)
    vi.advanceTimersByTime(49)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1000)
    expect(callback).toHaveBeenCalledTimes(1)
  })

  test('never calls the callback after cancel, which may be called twice and late', () => {
    const callback = vi.fn()
    const cancel = systemClock.after(50, callback)
    cancel()
    cancel()
    vi.advanceTimersByTime(1000)
    expect(callback).not.toHaveBeenCalled()
    cancel()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('now() advances with the timers', () => {
    const before = systemClock.now()
    vi.advanceTimersByTime(250)
    expect(systemClock.now() - before).toBe(250)
  })

  test('a timer too long for setTimeout does not fire at once', () => {
    const callback = vi.fn()
    systemClock.after(Number.POSITIVE_INFINITY, callback)
    systemClock.after(2 ** 40, callback)
    vi.advanceTimersByTime(24 * 3600 * 1000)
    expect(callback).not.toHaveBeenCalled()
  })

  test('a timer too long for setTimeout fires on time', () => {
    const callback = vi.fn()
    const ms = 2 ** 31 + 10_000
    systemClock.after(ms, callback)
    vi.advanceTimersByTime(ms - 1)
    expect(callback).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(callback).toHaveBeenCalledTimes(1)
  })
})

describe('sleep', () => {
  test('resolves after its time, and leaves no listener on the signal', async () => {
    const clock = fakeClock()
    const { signal, listeners } = watchedSignal()
    let awake = false
    const slept = sleep(100, { clock, signal }).then(() => {
      awake = true
    })
    expect(listeners.size).toBe(1)
    await clock.advance(99)
    expect(awake).toBe(false)
    await clock.advance(1)
    expect(awake).toBe(true)
    await slept
    expect(listeners.size).toBe(0)
  })

  test('needs no signal', async () => {
    const clock = fakeClock()
    await clock.until(sleep(100, { clock }))
    expect(clock.now()).toBe(100)
  })

  test('an abort resolves it at once, without rejecting, and cancels its timer', async () => {
    const clock = fakeClock()
    const { signal, listeners, abort } = watchedSignal()
    const slept = sleep(100, { clock, signal })
    abort(new Error('enough'))
    expect(await slept).toBeUndefined()
    expect(listeners.size).toBe(0)
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timers left')
    expect(clock.now()).toBe(0)
  })

  test('resolves at once if the signal is already aborted', async () => {
    const clock = fakeClock()
    const { signal, listeners, abort } = watchedSignal()
    abort()
    expect(await sleep(100, { clock, signal })).toBeUndefined()
    expect(listeners.size).toBe(0)
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('no timers left')
    expect(clock.now()).toBe(0)
  })
})
