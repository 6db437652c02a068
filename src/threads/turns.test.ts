import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { enterLong, pause } from './turns.ts'

function compute(ms: number) {
  for (const end = performance.now() + ms; performance.now() < end; );
}

describe('long work', () => {
  test('lets others have their turn, and short work goes first', async () => {
    await pause(0)
    compute(5)
    const order: string[] = []
    const works = [100, 0].map((steps) => pause(steps)?.then(() => order.push(steps > 0 ? 'long' : 'short')))
    expect(works).not.toContain(undefined)
    await Promise.all(works)
    expect(order).toEqual(['short', 'long'])
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
