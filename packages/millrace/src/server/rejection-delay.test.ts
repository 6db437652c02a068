import { expect, test } from 'vitest'
import { rejectionDelay } from './rejection-delay.ts'

test('only rejections are delayed, once an address has had many', async () => {
  const delayRejection = rejectionDelay()
  const aborted = AbortSignal.abort()
  const reject = (address?: string) => delayRejection(429, address, aborted)
  for (let count = 0; count < 50; count++) expect(reject('1.2.3.4')).toBeUndefined()
  const delayed = reject('1.2.3.4')
  expect(delayed).toBeInstanceOf(Promise)
  await delayed
  expect(delayRejection(401, '1.2.3.4', aborted)).toBeInstanceOf(Promise)
  expect(delayRejection(200, '1.2.3.4', aborted)).toBeUndefined()
  expect(delayRejection(404, '1.2.3.4', aborted)).toBeUndefined()
  expect(reject('1.2.3.5')).toBeUndefined()
  // Without an address, clients cannot be distinguished, so there is no delay.
  for (let count = 0; count < 60; count++) expect(reject()).toBeUndefined()
})
