import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { SpendingOptions } from '../protocol/index.ts'
import { serve } from '../server/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { errorOf, fastRetry } from './follow.test-kit.ts'

import { client } from './index.ts'

/** Each answer costs 0.003 dollars, or has an unknown cost. */
async function served({ isPriced = true } = {}) {
  const model = scriptedModel(() => [{ text: 'Hi.' }, { usage: { inputTokens: 1000, outputTokens: 500 } }], {
    id: 'pricey',
  })
  const prices = isPriced ? { pricey: { input: 1, output: 4 } } : {}
  const app = serve({ agents: { 'desk & co': agent({ model, prices }) } })
  const { url } = await app.listen()
  const threads = client(url, fastRetry)
  const thread = await threads.create()
  const seq = await thread.send('Hello')
  for await (const _ of thread.follow({ until: seq }));
  return { threads, thread, [Symbol.asyncDispose]: () => app.close({ graceMs: 0 }) }
}

describe('client.spending()', () => {
  test('returns the total, or rows by keys', async () => {
    await using server = await served()
    const { threads } = server
    expect(await threads.spending()).toMatchObject([{ usd: 0.003, runs: 1, inputTokens: 1000 }])
    const rows = await threads.spending({ by: ['agent', 'model'], agent: 'desk & co' })
    expect(rows).toMatchObject([
      { agent: 'desk & co', usd: 0, runs: 1 },
      { agent: 'desk & co', model: 'pricey', usd: 0.003 },
    ])
    expect(await threads.spending({ by: ['day'], from: '2999-01-01' })).toEqual([])
  })

  test('says what is wrong with an option', async () => {
    await using server = await served()
    const messageFor = async (options: object) =>
      (await errorOf(server.threads.spending(options as SpendingOptions))).message
    expect(await messageFor({ by: 'day' })).toContain("the option 'by' must be a list, not a string")
    expect(await messageFor({ by: ['week'] })).toContain('must be one or more of day, agent')
    expect(await messageFor({ form: '2026-11-18' })).toContain("did you mean 'from'?")
  })
})

test('the state of a remote thread has its cost and its context', async () => {
  await using server = await served()
  expect(await server.thread.state()).toMatchObject({
    cost: { usd: 0.003 },
    context: { tokens: expect.any(Number) },
  })
  await using unpriced = await served({ isPriced: false })
  expect((await unpriced.thread.state()).cost).toEqual({ knownUsd: 0, unknown: 1 })
})
