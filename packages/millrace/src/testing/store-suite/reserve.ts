import assert from 'node:assert/strict'
import type { SharedRate } from '../../log/index.ts'
import type { Cases, SuiteStore } from './context.ts'

/** One each second. */
const rate: SharedRate = { name: 'model', perMinute: 60, burst: 2 }

/** Times are real numbers in some databases. */
async function waits(store: SuiteStore, amount: number, which: SharedRate = rate): Promise<number> {
  return Math.round(await store.reserve(which, amount))
}

export const reserveCases: Cases = {
  'a rate allows a burst, and then its amount per minute': async ({ store, other, advance }) => {
    assert.deepEqual([await waits(store, 1), await waits(other, 1)], [0, 0])
    assert.deepEqual([await waits(store, 1), await waits(other, 1)], [1000, 2000])
    advance(1500)
    assert.deepEqual([await waits(other, 1), await waits(store, 2)], [1500, 3500])
    // A longer pause allows no more than a burst.
    advance(3_600_000)
    assert.deepEqual([await waits(store, 1), await waits(store, 1), await waits(other, 1)], [0, 0, 1000])
  },

  'an amount may be larger than a burst or a fraction': async ({ store, other, advance }) => {
    const tokens = { name: 'tokens', perMinute: 7000, burst: 700 }
    assert.equal(await waits(store, 7700, tokens), 60_000)
    advance(60_000)
    assert.equal(await waits(other, 0, tokens), 0)
    assert.equal(await waits(other, 3.5, tokens), 30)
  },

  'an amount of 0 reserves nothing and waits for what others have reserved': async ({
    store,
    other,
    advance,
  }) => {
    assert.equal(await waits(store, 0), 0)
    await store.reserve(rate, 10)
    for (let repeated = 0; repeated < 3; repeated++) assert.equal(await waits(other, 0), 8000)
    advance(5000)
    assert.equal(await waits(other, 0), 3000)
    advance(3000)
    assert.equal(await waits(other, 0), 0)
    assert.equal(await waits(store, 1), 1000)
  },

  'what was reserved but not used can be returned': async ({ store, other, advance }) => {
    await store.reserve(rate, 5)
    await other.reserve(rate, -3)
    assert.equal(await waits(store, 1), 1000)
    // Returned too late: it is not saved for later.
    advance(3_600_000)
    await store.reserve(rate, -5)
    assert.deepEqual([await waits(other, 2), await waits(store, 1)], [0, 1000])
  },

  'each name is a rate of its own': async ({ store, other }) => {
    const names = ['model', 'Model', 'model ', '"model"', 'lone \ud83d', 'lone \ud83e', 'a\0b', 'a']
    for (const name of names) {
      assert.equal(await waits(store, 3, { ...rate, name }), 1000, name)
      assert.equal(await waits(other, 1, { ...rate, name }), 2000, name)
    }
  },

  'processes that reserve at the same time do not get the same turn': async ({ store, other }) => {
    const found = await Promise.all(
      Array.from({ length: 20 }, (_, index) => waits(index % 2 ? store : other, 1)),
    )
    const expected = Array.from({ length: 20 }, (_, index) => Math.max(0, index - 1) * 1000)
    assert.deepEqual(
      found.sort((one, next) => one - next),
      expected,
    )
  },
}
