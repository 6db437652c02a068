import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, failOnUnhandledRejections } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions } from './options.ts'

failOnUnhandledRejections()

const model = () => scriptedModel(script.text('ok'))

describe('plan', () => {
  const ask = tool({
    name: 'ask',
    description: 'Asks first',
    input: z.object({}),
    approve: true,
    run: () => expect.unreachable(),
  })
  const never = tool({
    name: 'never',
    description: 'Never runs',
    input: z.object({ n: z.number() }),
    run: () => expect.unreachable(),
  })

  test('returns the calls that a model would make, without running them', async () => {
    const scripted = scriptedModel([
      [
        { text: 'I would…' },
        { call: 'ask' },
        { call: 'never', input: { n: 1 } },
        { call: 'never', input: { n: 'x' } },
        { call: 'nope' },
      ],
    ])
    const plan = agent({ model: scripted, tools: [ask, never] }).plan('go')
    const events = await collect(plan)
    expect(events.some((event) => event.type === 'tool-start' || event.type === 'approval-request')).toBe(
      false,
    )
    expect(await plan.result).toMatchObject({
      outcome: 'completed',
      text: 'I would…',
      rounds: 1,
      calls: [
        { name: 'ask', needsApproval: true },
        { name: 'never', input: { n: 1 }, needsApproval: false },
        { name: 'never', problem: expect.stringMatching(/n: /) },
        { name: 'nope', problem: expect.stringMatching(/no tool named 'nope'/) },
      ],
    })
    expect(scripted.requests).toHaveLength(1)
  })

  test('its history is paired, so that it can be continued', async () => {
    const { messages } = await agent({ model: scriptedModel([[{ call: 'ask' }]]), tools: [ask] }).plan('go')
      .result
    expect(messages.at(-1)).toMatchObject({
      role: 'tool',
      isError: true,
      content: [{ text: 'Not run: this was only a plan.' }],
    })
  })

  test('text alone is a plan without calls', async () => {
    expect(await agent({ model: model() }).plan('go').result).toMatchObject({
      outcome: 'completed',
      calls: [],
    })
  })
})

describe('plan: approve, beforeCall and prepareRound', () => {
  const planning = (approve: unknown, more: Partial<AgentOptions> = {}) => {
    const careful = tool({
      name: 'careful',
      description: 'Careful',
      input: z.object({ n: z.number() }),
      approve: approve as () => boolean,
      run: () => 'ran',
    })
    return agent({
      model: scriptedModel([[{ call: 'careful', input: { n: 1 } }]]),
      ...(more.prepareRound ? {} : { tools: [careful] }),
      ...(more.prepareRound && { prepareRound: () => ({ tools: [careful] }) }),
      ...(more.beforeCall && { beforeCall: more.beforeCall }),
    }).plan('go').result
  }

  test.each<[string, unknown, boolean]>([
    ['true', () => true, true],
    ['a reason', () => 'because', true],
    ['an empty reason', () => '', true],
    ['false', () => false, false],
    ['nothing', () => undefined, false],
    ['nothing, later', async () => undefined, false],
  ])('treats an approve that returns %s like a run does', async (_, approve, needsApproval) => {
    expect((await planning(approve)).calls).toEqual([
      { callId: 'call_1', name: 'careful', input: { n: 1 }, needsApproval },
    ])
    const careful = tool({
      name: 'careful',
      description: 'Careful',
      input: z.object({ n: z.number() }),
      approve: approve as () => boolean,
      run: () => 'ran',
    })
    const model = scriptedModel(script.tool('careful', { n: 1 }, 'Done.'))
    const { outcome } = await agent({ model, tools: [careful] }).stream('go').result
    expect(outcome).toBe(needsApproval ? 'suspended' : 'completed')
  })

  test.each([
    [
      'at once',
      () => {
        throw new Error('no idea')
      },
    ],
    ['later', () => Promise.reject(new Error('no idea'))],
  ])('reports that approve threw %s', async (_, approve) => {
    expect((await planning(approve)).calls).toMatchObject([
      { needsApproval: false, problem: expect.stringMatching(/the approval check failed \(no idea\)/) },
    ])
  })

  test('reports what beforeCall would block, and what it would change', async () => {
    expect((await planning(true, { beforeCall: () => ({ block: 'not today' }) })).calls).toMatchObject([
      { input: { n: 1 }, needsApproval: false, problem: 'Not run: not today' },
    ])
    expect((await planning(true, { beforeCall: () => ({ input: { n: 2 } }) })).calls).toEqual([
      { callId: 'call_1', name: 'careful', input: { n: 2 }, needsApproval: true },
    ])
  })

  test('uses the tools of prepareRound', async () => {
    expect((await planning(true, { prepareRound: () => undefined })).calls).toEqual([
      { callId: 'call_1', name: 'careful', input: { n: 1 }, needsApproval: true },
    ])
  })
})
