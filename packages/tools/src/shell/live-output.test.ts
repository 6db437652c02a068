import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { liveOutput } from './live-output.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('live output', () => {
  test('joins output that arrives at about the same time', () => {
    const emitted: unknown[] = []
    const live = liveOutput((data) => emitted.push(data))
    live.push(1, Buffer.from('one '))
    live.push(2, Buffer.from('two '))
    expect(emitted).toEqual([])
    vi.advanceTimersByTime(50)
    expect(emitted).toEqual([{ output: 'one two ' }])
    live.push(1, Buffer.from('three'))
    live.close()
    expect(emitted).toEqual([{ output: 'one two ' }, { output: 'three' }])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('holds back incomplete characters, escape sequences and line ends', () => {
    const emitted: unknown[] = []
    const live = liveOutput((data) => emitted.push(data))
    const all = Buffer.from('é\x1b[31mred\x1b[0m\r\nnext')
    for (const byte of all) {
      live.push(1, Buffer.from([byte]))
      vi.advanceTimersByTime(50)
    }
    live.close()
    expect(emitted.map((data) => (data as { output: string }).output).join('')).toBe('éred\nnext')
  })

  test('past the limit reports only the number of bytes, about once a second', () => {
    const emitted: ({ output: string } | { bytes: number })[] = []
    const live = liveOutput((data) => emitted.push(data))
    for (let ms = 0; ms < 10_000; ms += 10) {
      live.push(1, Buffer.alloc(10_000, 'x'))
      vi.advanceTimersByTime(10)
    }
    live.close()
    const outputs = emitted.flatMap((data) => ('output' in data ? [data.output] : []))
    const ticks = emitted.flatMap((data) => ('bytes' in data ? [data.bytes] : []))
    expect(outputs.join('').length).toBe(65_536)
    expect(ticks.length).toBeGreaterThan(7)
    expect(ticks.length).toBeLessThan(12)
    expect(ticks).toEqual(ticks.toSorted((a, b) => a - b))
    live.push(1, Buffer.from('after the end'))
    expect(vi.getTimerCount()).toBe(0)
  })
})
