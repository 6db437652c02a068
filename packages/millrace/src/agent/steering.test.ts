import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Model } from '../protocol/index.ts'
import type { ScriptStep } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { collect, echo, failOnUnhandledRejections, gate, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions } from './options.ts'

failOnUnhandledRejections()

test('steering reaches the next round, after the results', async () => {
  const slow = gate()
  const model = scriptedModel([[{ call: 'gate' }], 'As you wish.'])
  const run = agent({ model, tools: [slow.tool] }).stream('go')
  await slow.started
  expect(run.steer('in French, please')).toBe(true)
  slow.open('opened')
  const { messages } = await run.result
  expect(model.requests[1]?.messages.slice(-2)).toMatchObject([
    { role: 'tool' },
    { role: 'user', content: 'in French, please' },
  ])
  expect(messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant'])
  expect(of(await collect(run), 'input')).toMatchObject([{ mode: 'steer' }])
})

test('a run that was about to end answers messages that arrived in the meantime', async () => {
  const clock = fakeClock()
  const model = scriptedModel([[{ text: 'First.' }, { pause: 50 }], 'Second.'], { clock })
  const run = agent({ model, clock }).stream('go')
  await clock.advance(20)
  run.steer('and then?')
  expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed', text: 'Second.', rounds: 2 })
  expect(run.steer('too late')).toBe(false)
})

test('invalid messages are rejected', () => {
  const run = agent({ model: scriptedModel(script.hanging()) }).stream('go')
  expect(() => run.steer('  ')).toThrow(/empty/)
  expect(() => run.steer({ role: 'assistant', content: [] } as never)).toThrow(/only a user message/)
  run.cancel()
})

describe('steering', () => {
  /** Steers while the first round is being generated. */
  const steered = (first: readonly ScriptStep[], more: Partial<AgentOptions> = {}) => {
    const model = scriptedModel((_, index) => {
      if (index > 0) return 'I heard you.'
      run.steer('and in French')
      return first
    })
    const run = agent({ model, tools: [echo], ...more } as { model: Model; tools: Tool[] }).stream('go')
    return { run, model }
  }

  test.each<[string, readonly ScriptStep[], Partial<AgentOptions>]>([
    ['text', [{ text: 'Hi' }], {}],
    ['text that was cut off', [{ text: 'Hi' }, { finish: 'length' }], {}],
    ['calls that were cut off', [{ call: 'echo', raw: '{"va', cut: true }, { finish: 'length' }], {}],
    ['calls in a round cut off', [{ call: 'echo', input: { value: 'x' } }, { finish: 'length' }], {}],
    ['the last allowed round', [{ call: 'echo', input: { value: 'x' } }], { maxRounds: 0 }],
  ])('reaches the model after %s', async (_, first, more) => {
    const { run, model } = steered(first, more)
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'I heard you.', rounds: 2 })
    expect(model.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'and in French' })
  })

  test('while the structured answer is being checked leads to another round', async () => {
    const checking = Promise.withResolvers<void>()
    const checked = Promise.withResolvers<void>()
    const output = z.object({ n: z.number() }).refine(async () => {
      checking.resolve()
      await checked.promise
      return true
    })
    const model = scriptedModel(['{"n":1}', '{"n":2}'])
    const run = agent({ model, output }).stream('go')
    await checking.promise
    expect(run.steer('two, please')).toBe(true)
    checked.resolve()
    expect(await run.result).toMatchObject({ outcome: 'completed', output: { n: 2 }, rounds: 2 })
  })
})
