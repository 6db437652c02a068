import { expect, test } from 'vitest'
import type { BullmqOptions } from './bullmq.ts'
import { bullmq } from './bullmq.ts'

test.each<[string, unknown, RegExp]>([
  ['no server', {}, /needs either redis or postgres: bullmq\(\{ redis: 'redis:\/\/localhost' \}\)/],
  ['two servers', { redis: 'redis://a', postgres: 'postgres://a' }, /needs either redis or postgres/],
  ['an unknown option', { reddis: 'redis://a' }, /'reddis' does not exist: did you mean 'redis'\?/],
  ['no address', { redis: '' }, /'redis' must be an address or an object of options/],
  ['a number for an address', { postgres: 5432 }, /'postgres' must be an address .* not 5432/],
  [
    'an address of something else',
    { redis: 'http://a' },
    /'redis' must start with redis:\/\/ or rediss:\/\//,
  ],
  ['an address of another server', { postgres: 'redis://a' }, /'postgres' must start with postgres:\/\//],
  ['an empty prefix', { redis: 'redis://a', prefix: '' }, /'prefix' must be text, not empty/],
  ['a prefix that no schema can have', { postgres: 'postgres://a', prefix: 'a-b' }, /letters, digits and _/],
  ['a lock that ends too soon', { redis: 'redis://a', lockMs: 10 }, /'lockMs' must be .* at least 1000/],
  ['no options', undefined, /must be an object, not undefined/],
])('%s is rejected', (_, options, message) => {
  expect(() => bullmq(options as BullmqOptions)).toThrow(
    expect.objectContaining({ code: 'invalid_input', message: expect.stringMatching(message) }),
  )
})

test('connects only when it is used', async () => {
  const dispatcher = bullmq({ redis: 'redis://127.0.0.1:9' })
  expect(dispatcher.patienceMs).toBe(5000)
  await dispatcher.close()
})

test('rejects after it was closed', async () => {
  const dispatcher = bullmq({ postgres: 'postgres://127.0.0.1:9/app' })
  await dispatcher.close()
  await expect(
    dispatcher.wake({ id: 't', agent: 'a', head: 1, priority: 'interactive' }),
  ).rejects.toMatchObject({ code: 'store_error', message: expect.stringContaining('closed') })
})
