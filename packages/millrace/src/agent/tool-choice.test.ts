import { describe, expect, test } from 'vitest'
import { script, scriptedModel } from '../testing/index.ts'
import { echo, failOnUnhandledRejections } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('toolChoice', () => {
  test.each(['required', { name: 'echo' }] as const)(
    '%j applies to the first round only, so that the model can answer',
    async (toolChoice) => {
      const model = scriptedModel(({ toolChoice }) =>
        toolChoice ? [{ call: 'echo', input: { value: 'x' } }] : 'Done.',
      )
      const run = agent({ model, tools: [echo], toolChoice }).stream('go')
      expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done.', rounds: 2 })
      expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, undefined])
    },
  )

  test.each(['auto', 'none'] as const)('%j applies to every round', async (toolChoice) => {
    const model = scriptedModel(script.tool('echo', { value: 'x' }, 'Done.'))
    await agent({ model, tools: [echo], toolChoice }).stream('go').result
    expect(model.requests.map((request) => request.toolChoice)).toEqual([toolChoice, toolChoice])
  })

  test('of a run overrides that of the agent', async () => {
    const model = scriptedModel(['Done.'])
    await agent({ model, tools: [echo], toolChoice: 'auto' }).stream('go', { toolChoice: 'none' }).result
    expect(model.requests[0]?.toolChoice).toBe('none')
  })

  test('for a missing tool is rejected, for the agent and for a run', () => {
    const model = scriptedModel([])
    const plain = agent({ model, tools: [echo] })
    expect(() => plain.stream('go', { toolChoice: { name: 'ecko' } })).toThrow(/toolChoice names 'ecko'/)
    expect(() => agent({ model }).stream('go', { toolChoice: 'required' })).toThrow(/the agent has no tools/)
    expect(() => agent({ model, toolChoice: { name: 'x' } }).stream('go')).toThrow(/toolChoice names 'x'/)
    expect(model.requests).toEqual([])
  })
})
