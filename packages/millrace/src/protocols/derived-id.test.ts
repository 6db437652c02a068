import { expect, test } from 'vitest'
import { derivedId } from './derived-id.ts'

test('the same values give the same UUID, and others give another', async () => {
  const id = await derivedId('ui', 'ann', undefined, 'chat/1')
  expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  expect(await derivedId('ui', 'ann', undefined, 'chat/1')).toBe(id)
  const others = [
    derivedId('ui', 'bob', undefined, 'chat/1'),
    derivedId('ui', undefined, 'ann', 'chat/1'),
    derivedId('ui', 'ann', 'chat/1'),
    derivedId('ui,ann', undefined, 'chat/1'),
  ]
  expect(new Set([id, ...(await Promise.all(others))]).size).toBe(5)
})
