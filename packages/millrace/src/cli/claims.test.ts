import { expect, test } from 'vitest'
import { memoryStore } from '../threads/index.ts'
import { claimOnlyOwn, withoutClaims } from './claims.ts'

const input = { type: 'input', message: { role: 'user', content: 'hi' }, mode: 'queue' } as const
const ask = async (store: ReturnType<typeof memoryStore>, id: string) => {
  await store.create({ id, agent: 'cli' })
  await store.signal(id, crypto.randomUUID(), input)
}

test('a process claims threads it sent messages to, and no others', async () => {
  const store = memoryStore()
  const mine = claimOnlyOwn(store)
  await ask(store, 'theirs')
  await ask(mine, 'mine')
  expect(await mine.findRunnable(10, ['cli'])).toMatchObject([{ id: 'mine' }])
  expect(await mine.claim('theirs', 'me', 1000)).toBeUndefined()
  expect(await mine.claim('mine', 'me', 1000)).toMatchObject({ lease: { threadId: 'mine' } })
  await store.close()
})

test('it claims threads of others after sending to them, or if they are listed', async () => {
  const store = memoryStore()
  await ask(store, 'theirs')
  await ask(store, 'listed')
  const mine = claimOnlyOwn(store, ['listed'])
  expect(await mine.findRunnable(10, ['cli'])).toMatchObject([{ id: 'listed' }])
  await mine.signal('theirs', crypto.randomUUID(), input)
  const found = await mine.findRunnable(10, ['cli'])
  expect(found.map(({ id }) => id).sort()).toEqual(['listed', 'theirs'])
  expect(await mine.claim('theirs', 'me', 1000)).toBeDefined()
  await store.close()
})

test('a store without claims never claims', async () => {
  const store = memoryStore()
  const reading = withoutClaims(store)
  await ask(reading, 'one')
  expect(await reading.findRunnable(10, ['cli'])).toEqual([])
  expect(await reading.claim('one', 'me', 1000)).toBeUndefined()
  expect(await store.claim('one', 'other', 1000)).toBeDefined()
  await store.close()
})
