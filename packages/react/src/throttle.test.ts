import { expect, test, vi } from 'vitest'
import { oncePerFrame } from './throttle.ts'

test('runs at once, then once per frame, and not when nothing was requested', () => {
  vi.useFakeTimers()
  try {
    let count = 0
    const request = oncePerFrame(() => count++)
    request()
    expect(count).toBe(1)
    request()
    request()
    expect(count).toBe(1)
    vi.advanceTimersByTime(16)
    expect(count).toBe(2)
    vi.advanceTimersByTime(100)
    expect(count).toBe(2)
    request()
    expect(count).toBe(3)
  } finally {
    vi.useRealTimers()
  }
})
