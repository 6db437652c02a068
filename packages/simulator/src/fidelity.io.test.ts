import type { FinishReason } from 'millrace'
import { describe, expect, test } from 'vitest'
import { providerSimulator } from './provider-simulator.ts'
import { clients } from './sdk-clients.test-kit.ts'
import { scenarios } from './simulator.test-kit.ts'
import type { Wire } from './wire.ts'

/** The finish reasons of each wire, and of the AI SDK for it. */
const finishes: Record<Wire | 'ai', Partial<Record<FinishReason, string>>> = {
  'openai-chat': { stop: 'stop', length: 'length', refusal: 'stop' },
  'openai-responses': { stop: 'completed', length: 'max_output_tokens', refusal: 'completed' },
  anthropic: { stop: 'end_turn', length: 'max_tokens', refusal: 'refusal' },
  ai: { stop: 'stop', length: 'length' },
}

describe.each(clients)('$name', ({ name, wire, run }) => {
  const isAi = name.startsWith('ai ')

  test.each(scenarios)('$name', async (scenario) => {
    await using sim = await providerSimulator(scenario.rounds, { deltaChars: [1, 5, 3] })
    const { expected } = scenario
    if (expected.error) {
      await expect(run(sim, scenario)).rejects.toThrow(expected.error)
      return
    }
    // It parses every response as JSON, and fails for one that was cut off.
    if (expected.finish === 'length' && name === 'openai runTools') {
      await expect(run(sim, scenario)).rejects.toThrow('the length limit was reached')
      return
    }
    const outcome = await run(sim, scenario)
    expect({ calls: outcome.calls, usage: outcome.usage }).toEqual({
      calls: expected.calls,
      usage: expected.usage,
    })
    // These two do not know `reasoning_content`: one drops it, the other keeps the last delta.
    if (!['ai over @ai-sdk/openai chat', 'openai chat.completions.stream'].includes(name))
      expect(outcome.reasoning).toBe(expected.reasoning)
    const finish = finishes[isAi ? 'ai' : wire][expected.finish]
    if (finish !== undefined) expect(outcome.finish).toBe(finish)
    if (!expected.isRefusal || wire === 'anthropic') expect(outcome.text).toBe(expected.text)
    else if (!isAi) expect(outcome).toMatchObject({ text: '', refusal: expected.text })
    expect(sim.requests.map(({ status }) => status)).toEqual(scenario.rounds.map(() => 200))
    await sim.idle()
  })
})
