import { describe, expect, test } from 'vitest'
import { fakeClock } from './fake-clock.ts'

/** A clock, and a timer that writes its name and the time into a list. */
function setUp() {
  const clock = fakeClock()
  const fired: string[] = []
  const set = (name: string, ms: number, then = () => {}) =>
    clock.after(ms, () => {
      fired.push(`${name}@${clock.now()}`)
      then()
    })
  return { clock, fired, set }
}

describe('a clock that moves only on demand', () => {
  test('does not move on its own', async () => {
    const { clock, fired, set } = setUp()
    set('a', 0)
    await new Promise((resolve) => setImmediate(resolve))
    expect(clock.now()).toBe(0)
    expect(fired).toEqual([])
  })

  test('fires timers at their time and in order, simultaneous ones in the order they were set', async () => {
    const { clock, fired, set } = setUp()
    set('late', 30)
    set('first', 10)
    set('second', 10)
    set('never', 101)
    await clock.advance(100)
    expect(fired).toEqual(['first@10', 'second@10', 'late@30'])
    expect(clock.now()).toBe(100)
    await clock.advance(1)
    expect(fired.at(-1)).toBe('never@101')
  })

  test('a timer fires once, and never after it was canceled', async () => {
    const { clock, fired, set } = setUp()
    const cancel = set('off', 10)
    set('on', 10)
    cancel()
    cancel()
    await clock.advance(1000)
    expect(fired).toEqual(['on@10'])
  })

  test('a timer may cancel another one of the same time', async () => {
    const { clock, fired, set } = setUp()
    let cancel = () => {}
    set('first', 10, () => cancel())
    cancel = set('second', 10)
    await clock.advance(10)
    expect(fired).toEqual(['first@10'])
  })

  test('work started by a timer is done before the next one fires, including timers it sets', async () => {
    const { clock, fired, set } = setUp()
    set('outer', 10, async () => {
      await undefined
      await new Promise((resolve) => setImmediate(resolve))
      fired.push('after outer')
      set('inner', 5)
    })
    set('last', 20)
    await clock.advance(20)
    expect(fired).toEqual(['outer@10', 'after outer', 'inner@15', 'last@20'])
  })

  test('a chain of timers stops at the end of the advance', async () => {
    const { clock, fired, set } = setUp()
    const tick = () => set('tick', 10, tick)
    tick()
    await clock.advance(35)
    expect(fired).toEqual(['tick@10', 'tick@20', 'tick@30'])
    await clock.advance(5)
    expect(fired).toHaveLength(4)
  })

  test('a timer without delay fires when no time passes', async () => {
    const { clock, fired, set } = setUp()
    set('now', 0)
    await clock.advance(0)
    expect(fired).toEqual(['now@0'])
  })

  test('never goes backward, even with concurrent advances', async () => {
    const { clock } = setUp()
    const seen: number[] = []
    const record = () => seen.push(clock.now())
    await Promise.all([clock.advance(100).then(record), clock.advance(10).then(record)])
    record()
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    expect(clock.now()).toBeGreaterThanOrEqual(100)
  })
})

describe('until', () => {
  test('advances from timer to timer, and no further than needed', async () => {
    const { clock, fired, set } = setUp()
    const value = new Promise<string>((resolve) => set('it', 1000, () => resolve('there')))
    set('before', 10)
    set('after', 5000)
    expect(await clock.until(value)).toBe('there')
    expect(fired).toEqual(['before@10', 'it@1000'])
    expect(clock.now()).toBe(1000)
  })

  test('needs no time for a settled promise', async () => {
    const { clock, fired, set } = setUp()
    set('later', 1)
    expect(await clock.until(Promise.resolve(1))).toBe(1)
    expect(fired).toEqual([])
    expect(clock.now()).toBe(0)
  })

  test('rejects as the promise does', async () => {
    const { clock, set } = setUp()
    const failure = new Promise((_, reject) => set('it', 10, () => reject(new Error('no'))))
    await expect(clock.until(failure)).rejects.toThrow('no')
  })

  test('rejects when no timer is left, instead of hanging', async () => {
    const { clock, fired, set } = setUp()
    set('only', 10)
    await expect(clock.until(new Promise(() => {}))).rejects.toThrow('the fake clock has no timers left')
    expect(fired).toEqual(['only@10'])
  })
})
