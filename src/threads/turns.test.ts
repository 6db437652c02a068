import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { enterLong, pause } from './turns.ts'

function compute(ms: number) {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Long work: steps of a millisecond until it is stopped. */
function longWork() {
  let steps = 100
  let isOver = false
  const done = (async () => {
    while (!isOver) {
      await pause(steps++)
      compute(1)
    }
  })()
  return {
    steps: () => steps - 100,
    async stop() {
      isOver = true
      await done
    },
  }
}

describe('long work', () => {
  test('gets a part of each turn, and others get the rest', async () => {
    const work = longWork()
    for (let turns = 0; turns < 60; turns++) await turn()
    expect(work.steps()).toBeGreaterThan(0)
    expect(work.steps()).toBeLessThan(60 * 10)
    await work.stop()
  })

  test('keeps short work waiting for no more than a turn', async () => {
    const work = longWork()
    let waited = 0
    for (let turns = 0; turns < 30; turns++) {
      compute(6)
      await turn()
      const before = work.steps()
      await pause(0)
      waited += work.steps() - before
    }
    expect(waited).toBeLessThan(30 * 10)
    await work.stop()
  })

  test('of one caller leaves room for that of another', async () => {
    const entered: string[] = []
    const enter = async (caller: string) => {
      const leave = await enterLong(caller)
      entered.push(caller)
      return leave
    }
    const ann = [enter('ann'), enter('ann'), enter('ann'), enter('ann')]
    const bob = [enter('bob'), enter('bob')]
    await turn()
    expect(entered).toEqual(['ann', 'ann', 'bob', 'bob'])
    const eve = enter('eve')
    for (const leave of await Promise.all(bob)) leave()
    await turn()
    expect(entered.slice(4)).toEqual(['eve'])
    for (const leave of [await ann[0], await ann[1], await eve]) leave?.()
    for (const leave of await Promise.all(ann.slice(2))) leave()
    expect(entered.slice(5)).toEqual(['ann', 'ann'])
  })
})
