import { expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import type { ThreadStore } from '../threads/index.ts'
import { memoryStore } from '../threads/index.ts'
import { findLast, readLog } from './read-log.ts'

/** A log of so many entries, all alike, that notes what is read of it. */
function logOf(length: number, onRead: () => void = () => {}) {
  const store: Pick<ThreadStore, 'read'> = {
    async read(_, { after, limit }) {
      onRead()
      const count = Math.max(0, Math.min(limit, length - after))
      return Array.from({ length: count }, (_, index): Entry => {
        return { seq: after + index + 1, at: 0, event: { type: 'stop', reason: 'enough' } }
      })
    },
  }
  return { store, threadId: 't' }
}

/** Longer than folding may keep the event loop in one turn. */
function block() {
  const end = performance.now() + 6
  while (performance.now() < end);
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

async function count(log: ReturnType<typeof logOf>, options = { after: 0 }): Promise<number> {
  let entries = 0
  for await (const page of readLog(log, options)) entries += page.length
  return entries
}

test('the event loop turns between pages, and folds take turns', async () => {
  const order: string[] = []
  const noted = (name: string) => logOf(1000, () => order.push(name) && block())
  const tick = () => {
    order.push('|')
    ticking = setImmediate(tick)
  }
  let ticking = setImmediate(tick)
  await Promise.all([count(noted('a')), count(noted('b'))])
  clearImmediate(ticking)
  const turns = order.join('').split(/\|+/).filter(Boolean)
  // At the beginning no one has had a turn yet.
  expect(turns.slice(1).every((turn) => turn.length === 1)).toBe(true)
  expect(order.filter((name) => name !== '|').join('')).toMatch(/^(ab|ba)+$/)
})

test('few long folds go on at once, and the next begins when one of them ends', async () => {
  const begun: (() => void)[] = []
  const folds = Array.from({ length: 7 }, async () => {
    let entries = 0
    for await (const page of readLog(logOf(24_000), { after: 0 })) {
      entries += page.length
      if (entries === 20_400) await new Promise<void>((resolve) => begun.push(resolve))
    }
    return entries
  })
  for (const most of [4, 5, 6, 7]) {
    while (begun.length < most) await turn()
    // Long enough for another one to begin, if it could.
    for (let count = 0; count < 200; count++) await turn()
    expect(begun).toHaveLength(most)
    begun[most - 4]?.()
  }
  for (const end of begun) end()
  expect(await Promise.all(folds)).toEqual(folds.map(() => 24_000))
})

test('a fold that is left early makes room for others', async () => {
  for (let time = 0; time < 9; time++) {
    let entries = 0
    for await (const page of readLog(logOf(24_000), { after: 0 })) {
      entries += page.length
      if (entries > 21_000) break
    }
  }
  expect(await count(logOf(24_000))).toBe(24_000)
})

test('nothing is read beyond the number asked for, also where deltas were joined', async () => {
  const store = memoryStore()
  const words = [...'it goes on and on'].map((text) => ({ type: 'text', text }) as const)
  await store.create({ id: 't', agent: 'a' })
  await store.signal('t', undefined, { type: 'stop', reason: 'first' })
  const { lease } = (await store.claim('t', 'worker', 1000)) ?? {}
  if (lease) await store.append([{ lease, events: words }])
  await store.compact('t', 18)
  const log = { store, threadId: 't' }
  for (let upTo = 1; upTo <= 18; upTo++) {
    let text = ''
    let head = 0
    for await (const page of readLog(log, { after: 0, upTo }))
      for (const { seq, event } of page) {
        head = seq
        if (event.type === 'text') text += event.text
      }
    expect([head, text]).toEqual([upTo, 'it goes on and on'.slice(0, upTo - 1)])
  }
})

test('the last entry of a kind is found from the end, whatever the distance', async () => {
  for (const distance of [0, 1, 199, 200, 201, 599, 5000]) {
    let read = 0
    const log = logOf(10_000, () => read++)
    const found = await findLast(log, 9000, ({ seq }) => seq <= 9000 - distance)
    expect(found?.seq).toBe(9000 - distance)
    expect(read).toBeLessThan(10 + distance / 50)
  }
  expect(await findLast(logOf(1000), 900, () => false)).toBeUndefined()
})
