import { expect, test } from 'vitest'
import { memoryStore } from '../threads/index.ts'
import { onlyLooking, onlyOwn } from './claims.ts'

const input = { type: 'input', message: { role: 'user', content: 'hi' }, mode: 'queue' } as const
const ask = async (store: ReturnType<typeof memoryStore>, id: string) => {
  await store.create({ id, agent: 'cli' })
  await store.signal(id, undefined, input)
}

test('a process takes up what it has said itself, and leaves alone what others have', async () => {
  const store = memoryStore()
  const mine = onlyOwn(store)
  await ask(store, 'theirs')
  await ask(mine, 'mine')
  expect(await mine.stranded(10, ['cli'])).toEqual(['mine'])
  expect(await mine.claim('theirs', 'me', 1000)).toBeUndefined()
  expect(await mine.claim('mine', 'me', 1000)).toMatchObject({ lease: { threadId: 'mine' } })
  await store.close()
})

test('it takes up a thread of others when it speaks to it, or was told to', async () => {
  const store = memoryStore()
  await ask(store, 'theirs')
  await ask(store, 'told')
  const mine = onlyOwn(store, ['told'])
  expect(await mine.stranded(10, ['cli'])).toEqual(['told'])
  await mine.signal('theirs', undefined, input)
  expect([...(await mine.stranded(10, ['cli']))].sort()).toEqual(['theirs', 'told'])
  expect(await mine.claim('theirs', 'me', 1000)).toBeDefined()
  await store.close()
})

test('who only looks never takes anything up', async () => {
  const store = memoryStore()
  const looking = onlyLooking(store)
  await ask(looking, 'one')
  expect(await looking.stranded(10, ['cli'])).toEqual([])
  expect(await looking.claim('one', 'me', 1000)).toBeUndefined()
  expect(await store.claim('one', 'other', 1000)).toBeDefined()
  await store.close()
})
