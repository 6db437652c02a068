import { expect, test } from 'vitest'
import type { Entry } from '../protocol/index.ts'
import type { ThreadStore } from '../threads/index.ts'
import { memoryStore } from '../threads/index.ts'
import { findLast, readLog } from './read-log.ts'

/** A log of `length` identical entries. `onRead` is called for each read. */
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

/** Blocks longer than a fold may keep the event loop busy in one turn. */
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
  const recorded = (name: string) => logOf(1000, () => order.push(name) && block())
  const tick = () => {
    order.push('|')
    ticking = setImmediate(tick)
  }
  let ticking = setImmediate(tick)
  await Promise.all([count(recorded('a')), count(recorded('b'))])
  clearImmediate(ticking)
  const turns = order.join('').split(/\|+/).filter(Boolean)
  // In the first turn, several folds may start.
  expect(turns.slice(1).every((turn) => turn.length === 1)).toBe(true)
  expect(order.filter((name) => name !== '|').join('')).toMatch(/^(ab|ba)+$/)
})

test('only a few long folds run at a time, and the next starts when one of them ends', async () => {
  const started: (() => void)[] = []
  const folds = Array.from({ length: 7 }, async () => {
    let entries = 0
    for await (const page of readLog(logOf(24_000), { after: 0 })) {
      entries += page.length
      if (entries === 20_400) await new Promise<void>((resolve) => started.push(resolve))
    }
    return entries
  })
  for (const max of [4, 5, 6, 7]) {
    while (started.length < max) await turn()
    // Long enough for another one to start, if it could.
    for (let count = 0; count < 200; count++) await turn()
    expect(started).toHaveLength(max)
    started[max - 4]?.()
  }
  for (const end of started) end()
  expect(await Promise.all(folds)).toEqual(folds.map(() => 24_000))
})

test('a fold that is abandoned makes room for others', async () => {
  for (let time = 0; time < 9; time++) {
    let entries = 0
    for await (const page of readLog(logOf(24_000), { after: 0 })) {
      entries += page.length
      if (entries > 21_000) break
    }
  }
  expect(await count(logOf(24_000))).toBe(24_000)
})

test('nothing is read beyond the requested number, even where deltas were joined', async () => {
  const store = memoryStore()
  const words = [...'a seventeen chars'].map((text) => ({ type: 'text', text }) as const)
  await store.create({ id: 't', agent: 'a' })
  await store.signal('t', crypto.randomUUID(), { type: 'stop', reason: 'first' })
  const { lease } = (await store.claim('t', 'worker', 1000)) ?? {}
  if (lease) await store.append([{ lease, number: 1, events: words }])
  await store.packDeltas('t', 18)
  const log = { store, threadId: 't' }
  for (let upTo = 1; upTo <= 18; upTo++) {
    let text = ''
    let head = 0
    for await (const page of readLog(log, { after: 0, upTo }))
      for (const { seq, event } of page) {
        head = seq
        if (event.type === 'text') text += event.text
      }
    expect([head, text]).toEqual([upTo, 'a seventeen chars'.slice(0, upTo - 1)])
  }
})

test('the last matching entry is found from the end, at any distance', async () => {
  for (const distance of [0, 1, 199, 200, 201, 599, 5000]) {
    let read = 0
    const log = logOf(10_000, () => read++)
    const found = await findLast(log, 9000, ({ seq }) => seq <= 9000 - distance)
    expect(found?.seq).toBe(9000 - distance)
    expect(read).toBeLessThan(10 + distance / 50)
  }
  expect(await findLast(logOf(1000), 900, () => false)).toBeUndefined()
})
