import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { liveOutput } from './live-output.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('live output', () => {
  test('joins what comes at about the same time', () => {
    const told: unknown[] = []
    const live = liveOutput((data) => told.push(data))
    live.push(1, Buffer.from('one '))
    live.push(2, Buffer.from('two '))
    expect(told).toEqual([])
    vi.advanceTimersByTime(50)
    expect(told).toEqual([{ output: 'one two ' }])
    live.push(1, Buffer.from('three'))
    live.close()
    expect(told).toEqual([{ output: 'one two ' }, { output: 'three' }])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('holds back half a character, half a colour and half an end of line', () => {
    const told: unknown[] = []
    const live = liveOutput((data) => told.push(data))
    const all = Buffer.from('é\x1b[31mred\x1b[0m\r\nnext')
    for (const byte of all) {
      live.push(1, Buffer.from([byte]))
      vi.advanceTimersByTime(50)
    }
    live.close()
    expect(told.map((data) => (data as { output: string }).output).join('')).toBe('éred\nnext')
  })

  test('of very much tells the first, then only how much it is, about once a second', () => {
    const told: ({ output: string } | { bytes: number })[] = []
    const live = liveOutput((data) => told.push(data))
    for (let ms = 0; ms < 10_000; ms += 10) {
      live.push(1, Buffer.alloc(10_000, 'x'))
      vi.advanceTimersByTime(10)
    }
    live.close()
    const outputs = told.flatMap((data) => ('output' in data ? [data.output] : []))
    const ticks = told.flatMap((data) => ('bytes' in data ? [data.bytes] : []))
    expect(outputs.join('').length).toBe(65_536)
    expect(ticks.length).toBeGreaterThan(7)
    expect(ticks.length).toBeLessThan(12)
    expect(ticks).toEqual(ticks.toSorted((a, b) => a - b))
    live.push(1, Buffer.from('after the end'))
    expect(vi.getTimerCount()).toBe(0)
  })
})
