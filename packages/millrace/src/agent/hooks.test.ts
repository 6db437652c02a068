import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Message } from '../protocol/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, failOnUnhandledRejections, of, pairs } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('hooks of a call', () => {
  const hooked = (hooks: object) =>
    agent({
      model: scriptedModel(script.tool('echo', { value: 'x' }, 'Done.')),
      tools: [echo],
      ...hooks,
    }).stream('go')

  test.each([{}, { block: undefined }, { block: 5 }, { input: undefined }, { input: 'x' }, true, 'no'])(
    'beforeCall that returns %j lets no call run',
    async (returned) => {
      const events = await collect(hooked({ beforeCall: () => returned }))
      expect(of(events, 'tool-start')).toEqual([])
      expect(of(events, 'tool-result')).toMatchObject([
        { status: 'failed', output: [{ text: expect.stringMatching(/the check before this call failed/) }] },
      ])
    },
  )

  test.each(['redacted', 5, true, {}, ['x']])('afterCall that returns %j shows nothing', async (answer) => {
    const events = await collect(hooked({ afterCall: () => answer }))
    expect(of(events, 'tool-result')).toMatchObject([
      {
        status: 'failed',
        output: [{ text: expect.stringMatching(/its result cannot be shown: .*\{ output \}/) }],
      },
    ])
  })

  test('the time of afterCall does not count as tool time', async () => {
    const clock = fakeClock()
    const wait = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve))
    const slow = tool({ name: 'slow', description: 'Slow', input: z.object({}), run: () => wait(100) })
    const model = scriptedModel(script.tool('slow', {}, 'Done.'))
    const run = agent({ model, tools: [slow], clock, afterCall: () => wait(5000) }).stream('go')
    await clock.until(run.result)
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ ms: 100 }])
  })
})

describe('objects passed to hooks and tools', () => {
  test('may be mutated without changing the log, the history or the validated input', async () => {
    const mutate = (value: object) => {
      for (const key of Object.keys(value)) Reflect.set(value, key, { spoilt: true })
      Reflect.set(value, 'added', true)
    }
    const given: unknown[] = []
    const untyped = tool({
      name: 'loose',
      description: 'Takes anything',
      input: { jsonSchema: { type: 'object', properties: { list: { type: 'array' } } } },
      run: (input) => {
        given.push(structuredClone(input))
        mutate(input as object)
        return 'ok'
      },
    })
    const seen: unknown[] = []
    const model = scriptedModel(script.tool('loose', { list: [1], text: 'x' }, 'Done.'))
    const run = agent({
      model,
      tools: [untyped],
      beforeCall: ({ input }) => {
        seen.push(structuredClone(input))
        mutate(input)
        mutate(input)
      },
      afterCall: ({ input }) => {
        seen.push(structuredClone(input))
        mutate(input)
      },
    }).stream('go')
    const events = await collect(run)
    const written = { list: [1], text: 'x' }
    expect(given).toEqual([written])
    expect(seen).toEqual([written, written])
    expect(of(events, 'tool-call')).toMatchObject([{ input: written }])
    expect(of(events, 'tool-call')[0]?.input).not.toHaveProperty('added')
    expect(of(events, 'tool-start')[0]).not.toHaveProperty('input')
    const sent = model.requests[1]?.messages.find(({ role }) => role === 'assistant') as Message
    expect(sent.content).toMatchObject([{ type: 'tool-call', input: written }])
  })

  test('a hook cannot bypass validation by mutating its input', async () => {
    const run = agent({
      model: scriptedModel(script.tool('echo', { value: 'x' }, 'Done.')),
      tools: [echo],
      beforeCall: ({ input }) => {
        Reflect.set(input, 'value', 5)
      },
    }).stream('go')
    expect(pairs(await run.result)).toEqual([['call_1', 'x']])
  })

  test('mutating the result in afterCall changes nothing', async () => {
    const run = agent({
      model: scriptedModel(script.tool('data', {}, 'Done.')),
      tools: [
        tool({ name: 'data', description: 'Data', input: z.object({}), run: () => ({ deep: { n: 1 } }) }),
      ],
      afterCall: (_, { output }) => {
        const [part] = output
        if (part?.type === 'json') Reflect.set(part.value as object, 'deep', 'spoilt')
      },
    }).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ output: [{ value: { deep: { n: 1 } } }] }])
  })

  test('a tool may mutate what it returned', async () => {
    const kept = { n: 1 }
    const run = agent({
      model: scriptedModel(script.tool('data', {}, 'Done.')),
      tools: [tool({ name: 'data', description: 'Data', input: z.object({}), run: () => kept })],
      afterCall: () => {
        kept.n = 2
      },
    }).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ output: [{ value: { n: 1 } }] }])
  })
})
