import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../protocol/index.ts'
import { createPool } from './pool.ts'

/** Jobs that run until the test ends them, and what happened to them. */
function jobs(limit: number) {
  const pool = createPool(limit, systemClock.turn)
  const started: number[] = []
  const running = new Map<number, () => void>()
  let count = 0
  return {
    pool,
    started,
    running: () => [...running.keys()],
    add(exclusive = false) {
      const id = ++count
      pool.add({
        exclusive,
        start: () =>
          new Promise((resolve) => {
            started.push(id)
            running.set(id, resolve)
          }),
      })
      return id
    },
    async end(id: number) {
      running.get(id)?.()
      running.delete(id)
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

describe('a pool of jobs', () => {
  test('starts a job in the same turn in which it is added', () => {
    const { add, started } = jobs(2)
    add()
    expect(started).toEqual([1])
  })

  test('never runs more than its limit, and starts the next as soon as one is done', async () => {
    const { add, end, running, started } = jobs(2)
    for (let at = 0; at < 4; at++) add()
    expect(running()).toEqual([1, 2])
    await end(2)
    expect(running()).toEqual([1, 3])
    await end(1)
    expect(running()).toEqual([3, 4])
    expect(started).toEqual([1, 2, 3, 4])
  })

  test('an exclusive job waits for the rest, runs alone and blocks those after it', async () => {
    const { add, end, running } = jobs(8)
    add()
    add()
    add(true)
    add()
    expect(running()).toEqual([1, 2])
    await end(1)
    expect(running()).toEqual([2])
    await end(2)
    expect(running()).toEqual([3])
    await end(3)
    expect(running()).toEqual([4])
  })

  test('an exclusive job starts at once when nothing runs', () => {
    const { add, running } = jobs(8)
    add(true)
    expect(running()).toEqual([1])
  })

  test('exclusive jobs run one after the other', async () => {
    const { add, end, running } = jobs(8)
    add(true)
    add(true)
    expect(running()).toEqual([1])
    await end(1)
    expect(running()).toEqual([2])
  })

  test('jobs that have not started can be dropped, and the pool continues', async () => {
    const { add, end, pool, running, started } = jobs(1)
    add()
    add()
    add(true)
    pool.clear()
    add()
    expect(running()).toEqual([1])
    await end(1)
    expect(running()).toEqual([4])
    expect(started).toEqual([1, 4])
  })

  test('for any timing, order, limit and exclusivity hold, and every job runs', async () => {
    const steps = fc.array(fc.oneof(fc.constantFrom('add', 'exclusive'), fc.nat(5)), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), steps, async (limit, steps) => {
        const { add, end, running, started } = jobs(limit)
        const exclusive = new Set<number>()
        let added = 0
        const hold = () => {
          expect(running().length).toBeLessThanOrEqual(limit)
          if (running().some((id) => exclusive.has(id))) expect(running()).toHaveLength(1)
          expect(started).toEqual([...started].sort((a, b) => a - b))
        }
        for (const step of steps) {
          if (typeof step === 'number') await end(running()[step % running().length] ?? 0)
          else {
            added++
            if (step === 'exclusive') exclusive.add(added)
            add(step === 'exclusive')
          }
          hold()
        }
        for (let id = running()[0]; id !== undefined; id = running()[0]) {
          await end(id)
          hold()
        }
        expect(started).toHaveLength(added)
      }),
    )
  })
})
