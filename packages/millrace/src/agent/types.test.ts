import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, failOnUnhandledRejections } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('types', () => {
  const model = scriptedModel(() => 'Done.')

  test('an agent with tools of two contexts needs both', async () => {
    const user = tool({
      name: 'user',
      description: 'User',
      input: z.object({}),
      run: (_, { context }: { context: { user: string } }) => context.user,
    })
    const shop = tool({
      name: 'shop',
      description: 'Shop',
      input: z.object({}),
      run: (_, { context }: { context: { shop: number } }) => context.shop,
    })
    const both = agent({ model, tools: [user, shop, echo] })
    // @ts-expect-error no context at all
    await both.run('go')
    // @ts-expect-error one of the two is missing
    await both.run('go', { context: { user: 'ada' } })
    // @ts-expect-error the other is missing
    await both.run('go', { context: { shop: 1 } })
    expect((await both.run('go', { context: { user: 'ada', shop: 1 } })).text).toBe('Done.')
  })

  test("partials have the schema's input type, the output its output type", () => {
    const schema = z.object({ when: z.string().transform((text) => new Date(text)) })
    tool({
      name: 'at',
      description: 'At',
      input: schema,
      onInput: (partial) => {
        expectTypeOf(partial.when).toEqualTypeOf<string | undefined>()
      },
      run: ({ when }) => {
        expectTypeOf(when).toEqualTypeOf<Date>()
      },
    })
    const dated = agent({ model, output: schema })
    type Made = ReturnType<typeof dated.stream>
    type View = ReturnType<Made['partials']> extends AsyncIterable<infer One> ? One : never
    expectTypeOf<View['when']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<NonNullable<Awaited<Made['result']>['output']>['when']>().toEqualTypeOf<Date>()
  })

  test('an option may be left undefined', async () => {
    const careless = tool({
      name: 'careless',
      description: 'Careless',
      input: z.object({}),
      run: () => 'ok',
      timeoutMs: undefined,
      exclusive: undefined,
      repeat: undefined,
      approve: undefined,
      onInput: undefined,
      maxResultChars: undefined,
      polling: undefined,
    })
    const one = agent({
      model,
      name: undefined,
      system: undefined,
      tools: [careless],
      maxRounds: undefined,
      output: undefined,
      maxCorrections: undefined,
      settings: undefined,
      toolChoice: undefined,
      retry: { attempts: undefined, baseMs: undefined, maxDelayMs: undefined },
      firstEventMs: undefined,
      idleMs: undefined,
      runMs: undefined,
      toolTimeoutMs: undefined,
      toolConcurrency: undefined,
      maxCallsPerRound: undefined,
      maxResultChars: undefined,
      repeatLimits: undefined,
      onToolError: undefined,
      prepareRound: undefined,
      beforeCall: undefined,
      afterCall: undefined,
      clock: undefined,
    })
    const run = {
      context: undefined,
      signal: undefined,
      maxRounds: undefined,
      settings: undefined,
      toolChoice: undefined,
      runMs: undefined,
    }
    expect((await one.run('go', run)).text).toBe('Done.')
    one.asTool({ description: 'One', name: undefined, timeoutMs: undefined, approve: undefined })
    const log = await collect(one.stream('go'))
    expect(await one.resume(log.slice(0, -1), { ...run, decisions: undefined }).result).toMatchObject({
      outcome: 'completed',
    })
  })
})
