import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { pause, startLongFold } from './turns.ts'

describe('long work', () => {
  function fakeTime() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
  }

  test('yields to others, and short work goes first', async () => {
    fakeTime()
    await pause(0)
    vi.advanceTimersByTime(5)
    const order: string[] = []
    const works = [100, 0].map((steps) => pause(steps)?.then(() => order.push(steps > 0 ? 'long' : 'short')))
    expect(works).not.toContain(undefined)
    await Promise.all(works)
    expect(order).toEqual(['short', 'long'])
  })

  test('rests while others keep the event loop busy; short work does not', async () => {
    fakeTime()
    await turn()
    await pause(0)
    vi.advanceTimersByTime(5)
    let resumed = false
    const work = pause(100)?.then(() => {
      resumed = true
    })
    expect(work).toBeDefined()
    vi.advanceTimersByTime(5)
    for (let turns = 0; turns < 5; turns++) await turn()
    expect(resumed).toBe(false)
    expect(pause(0)).toBeUndefined()
    vi.advanceTimersByTime(5)
    await pause(0)
    for (let turns = 0; turns < 5; turns++) await turn()
    expect(resumed).toBe(false)
    vi.advanceTimersByTime(10)
    await work
  })

  test('of one caller leaves room for another caller', async () => {
    const started: string[] = []
    const start = async (caller: string) => {
      const release = await startLongFold(caller)
      started.push(caller)
      return release
    }
    const ann = [start('ann'), start('ann'), start('ann'), start('ann')]
    const bob = [start('bob'), start('bob')]
    await turn()
    expect(started).toEqual(['ann', 'ann', 'bob', 'bob'])
    const eve = start('eve')
    for (const release of await Promise.all(bob)) release()
    await turn()
    expect(started.slice(4)).toEqual(['eve'])
    for (const release of [await ann[0], await ann[1], await eve]) release?.()
    for (const release of await Promise.all(ann.slice(2))) release()
    expect(started.slice(5)).toEqual(['ann', 'ann'])
  })
})
