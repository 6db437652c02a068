import { expect, test } from 'vitest'
import { lateRefusals } from './late-refusals.ts'

test('refusals come late when an address has had many, and nothing else does', async () => {
  const holdBack = lateRefusals()
  const over = AbortSignal.abort()
  const refuse = (address?: string) => holdBack(429, address, over)
  for (let count = 0; count < 50; count++) expect(refuse('1.2.3.4')).toBeUndefined()
  const late = refuse('1.2.3.4')
  expect(late).toBeInstanceOf(Promise)
  await late
  expect(holdBack(401, '1.2.3.4', over)).toBeInstanceOf(Promise)
  expect(holdBack(200, '1.2.3.4', over)).toBeUndefined()
  expect(holdBack(404, '1.2.3.4', over)).toBeUndefined()
  expect(refuse('1.2.3.5')).toBeUndefined()
  // Where nobody can be told from the others nobody is made to wait.
  for (let count = 0; count < 60; count++) expect(refuse()).toBeUndefined()
})
