import type { ProviderSimulatorOptions } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { Message, Model } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { adapters, wires } from './every-model.test-kit.ts'
import { fallback } from './index.ts'

// A conversation is not tied to a provider: any provider can continue it. The simulators reject
// what the real ones reject: signatures and items that they did not issue, ids in the wrong format,
// calls without results.

const lookup = tool({
  name: 'lookup',
  description: 'Looks something up',
  input: z.object({ id: z.string() }),
  run: ({ id }) => ({ id, status: 'shipped' }),
})

const openers: Readonly<Record<string, (place: { url: string; baseURL: string }) => Model>> = {
  ...wires,
  'AI SDK': adapters['AI SDK, Messages'],
}

async function simulate(rounds: readonly ScriptRound[], options?: ProviderSimulatorOptions) {
  const sim = await providerSimulator(rounds, options)
  onTestFinished(() => sim.close())
  return sim
}

/** Content with data that must not reach another provider. */
const firstRounds: readonly ScriptRound[] = [
  [
    { reasoning: 'I should look it up.' },
    { text: 'Let me see. ' },
    { call: 'lookup', input: { id: 'ORD-42' }, id: `call:${'0123456789'.repeat(6)}` },
    { call: 'lookup', input: { id: 'ORD-43' } },
  ],
  [{ reasoning: 'Both are on their way.' }, { text: 'Both have shipped.' }],
]

const pairs = Object.keys(openers).flatMap((from) => Object.keys(openers).map((to) => [from, to] as const))

describe('a conversation continues with another provider', () => {
  test.each(pairs)('from %s to %s', async (from, to) => {
    // Each provider issues ids in its own format.
    const checks = false
    const first = await simulate(firstRounds, { checks })
    const before = await agent({ model: openers[from]?.(first) as Model, tools: [lookup] }).run(
      'Where are they?',
    )
    expect(before).toMatchObject({ outcome: 'completed', text: 'Both have shipped.' })

    const second = await simulate([
      [{ reasoning: 'A third one.' }, { call: 'lookup', input: { id: 'ORD-44' } }],
      'All three have shipped.',
    ])
    const history: Message[] = [...before.messages, { role: 'user', content: 'And ORD-44?' }]
    const after = await agent({ model: openers[to]?.(second) as Model, tools: [lookup] }).run(history)
    expect(after).toMatchObject({ outcome: 'completed', text: 'All three have shipped.' })
    expect(second.requests.map(({ status }) => status)).toEqual([200, 200])
    const sent = JSON.stringify(second.requests[0]?.body)
    expect(sent).toContain('Let me see.')
    expect(sent).toContain('ORD-43')
    expect(sent).toContain('Both have shipped.')
    // Reasoning of another provider is left out.
    if (from !== to) expect(sent).not.toContain('I should look it up')
  })
})

describe('a run whose provider fails between two rounds ends with another one', () => {
  test.each(pairs.filter(([from, to]) => from !== to))('from %s to %s', async (from, to) => {
    const first = await simulate([...firstRounds], {
      checks: false,
      faults: [{ kind: 'status', status: 401, request: 1 }],
    })
    const second = await simulate(['Both have shipped.'])
    const model = fallback([openers[from]?.(first) as Model, openers[to]?.(second) as Model])
    const run = agent({ model, tools: [lookup], retry: { baseMs: 0 } }).stream('Where are they?')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Both have shipped.' })
    expect(second.requests.map(({ status }) => status)).toEqual([200])
  })
})
