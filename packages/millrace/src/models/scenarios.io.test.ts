import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { scenarios } from '../../../simulator/src/simulator.test-kit.ts'
import { agent } from '../agent/index.ts'
import type { RunEvent } from '../protocol/index.ts'
import { toolCallsOf } from '../protocol/index.ts'
import { tool } from '../tools/index.ts'
import { wires } from './every-model.test-kit.ts'

// Our models read from the simulator what the official clients do
// (src/testing/simulator/fidelity.test.ts): the same scenarios with the same text, reasoning, calls
// and usage.

describe.each(Object.entries(wires))('%s', (_, open) => {
  test.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_, { prompt, rounds, tools, expected }) => {
      const sim = await providerSimulator(rounds)
      onTestFinished(() => sim.close())
      const run = agent({
        model: open(sim),
        tools: Object.entries(tools).map(([name, result]) =>
          tool({ name, description: name, input: { jsonSchema: { type: 'object' } }, run: () => result }),
        ),
        retry: { attempts: 1 },
      }).stream(prompt)
      const events: RunEvent[] = await Array.fromAsync(run)
      const { text, usage, finish, messages, error } = await run.result
      const reasoning = events.map((event) => (event.type === 'reasoning' ? event.text : '')).join('')
      if (expected.error) {
        expect(error?.message).toMatch(expected.error)
        return
      }
      expect(finish).toBe(expected.finish)
      expect({ text, reasoning }).toEqual({ text: expected.text, reasoning: expected.reasoning })
      expect(messages.flatMap(toolCallsOf).map(({ name, input }) => ({ name, input }))).toEqual(
        expected.calls,
      )
      expect(usage).toMatchObject(expected.usage)
    },
  )
})
