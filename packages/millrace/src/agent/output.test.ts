import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { collect, echo, failOnUnhandledRejections, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

const recipe = z.object({ name: z.string(), steps: z.array(z.string()) })
const soup = '{"name":"Soup","steps":["boil","serve"]}'

test('the answer is a validated value, and typed', async () => {
  const model = scriptedModel(script.text(soup))
  const result = await agent({ model, output: recipe }).run('cook')
  expectTypeOf(result.output).toEqualTypeOf<{ name: string; steps: string[] } | undefined>()
  expect(result.output).toEqual({ name: 'Soup', steps: ['boil', 'serve'] })
  expect(model.requests[0]?.output).toMatchObject({
    type: 'object',
    properties: { name: { type: 'string' } },
  })
})

test('the outcome says whether there is an output', async () => {
  const result = await agent({ model: scriptedModel(script.text(soup)), output: recipe }).run('cook')
  if (result.outcome !== 'completed') throw new Error(result.outcome)
  expectTypeOf(result.output).toEqualTypeOf<{ name: string; steps: string[] }>()
  expect(result.output.name).toBe('Soup')

  const model = scriptedModel([[{ text: '{"name":"So' }, { finish: 'length' }]])
  const { outcome, output } = await agent({ model, output: recipe }).stream('cook').result
  if (outcome !== 'completed') expectTypeOf(output).toEqualTypeOf<undefined>()
  if (outcome === 'completed') expectTypeOf(output).toEqualTypeOf<{ name: string; steps: string[] }>()
  expect({ outcome, output }).toEqual({ outcome: 'truncated', output: undefined })
})

test('without a schema there is no output', async () => {
  const result = await agent({ model: scriptedModel(script.text(soup)) }).run('cook')
  expectTypeOf(result.output).toEqualTypeOf<undefined>()
  expect(result.output).toBeUndefined()
})

test('partial values are yielded while the answer streams', async () => {
  const clock = fakeClock()
  const model = scriptedModel(script.text(soup), { deltaChars: 9, paceMs: 1, clock })
  const run = agent({ model, output: recipe, clock }).stream('cook')
  const seen: string[] = []
  const reading = (async () => {
    for await (const partial of run.partials()) {
      expectTypeOf(partial).toEqualTypeOf<{ name?: string; steps?: string[] }>()
      seen.push(JSON.stringify(partial))
    }
  })()
  await clock.until(reading)
  expect(seen).toEqual([
    '{"name":""}',
    '{"name":"Soup"}',
    '{"name":"Soup","steps":["bo"]}',
    '{"name":"Soup","steps":["boil","serv"]}',
    '{"name":"Soup","steps":["boil","serve"]}',
  ])
})

test('only the last round is the answer, not text next to tool calls', async () => {
  const model = scriptedModel([[{ text: 'Let me see {' }, { call: 'echo', input: { value: 'x' } }], soup])
  const run = agent({ model, tools: [echo], output: recipe }).stream('cook')
  let last: unknown
  for await (const partial of run.partials()) last = partial
  expect(last).toEqual({ name: 'Soup', steps: ['boil', 'serve'] })
  expect((await run.result).output).toEqual(last)
})

test('a model without structured output gets the schema in its prompt, and a code block around the JSON is accepted', async () => {
  const model = scriptedModel(script.text(`\`\`\`json\n${soup}\n\`\`\``), {
    capabilities: { structuredOutput: false },
  })
  const run = agent({ model, output: recipe, system: 'You cook.' }).stream('cook')
  let last: unknown
  for await (const partial of run.partials()) last = partial
  expect(last).toEqual({ name: 'Soup', steps: ['boil', 'serve'] })
  expect((await run.result).output).toEqual(last)
  const [request] = model.requests
  expect(request?.output).toBeUndefined()
  expect(request?.messages[0]?.content).toMatch(
    /^You cook\.\n\nReturn your final answer as a single JSON document.*"steps"/s,
  )
})

describe('an answer that does not match the schema', () => {
  test('is corrected: the model gets the problem', async () => {
    const model = scriptedModel(['{"name":"Soup"}', soup])
    const run = agent({ model, output: recipe }).stream('cook')
    const events = await collect(run)
    expect(of(events, 'input')).toMatchObject([
      {
        mode: 'correct',
        message: { content: expect.stringMatching(/steps: .*\nReturn the complete, corrected answer/) },
      },
    ])
    expect((await run.result).output).toEqual({ name: 'Soup', steps: ['boil', 'serve'] })
  })

  test('after the correction fails the run with invalid_output', async () => {
    const model = scriptedModel(['not JSON', 'not JSON either'])
    const result = await agent({ model, output: recipe }).stream('cook').result
    expect(result).toMatchObject({
      outcome: 'failed',
      output: undefined,
      error: { code: 'invalid_output', message: expect.stringMatching(/not valid JSON/) },
    })
    expect(model.requests).toHaveLength(2)
  })

  test('is corrected maxCorrections times', async () => {
    const model = scriptedModel(['1', '2', '3', soup])
    const result = await agent({ model, output: recipe, maxCorrections: 3 }).run('cook')
    expect(result.rounds).toBe(4)
    await expect(
      agent({ model: scriptedModel(['1']), output: recipe, maxCorrections: 0 }).run('cook'),
    ).rejects.toMatchObject({ code: 'invalid_output' })
  })
})

test('a run can be canceled while its answer is being checked', async () => {
  const checking = Promise.withResolvers<void>()
  const slow = { jsonSchema: {}, validate: (value: unknown) => checking.promise.then(() => ({ value })) }
  const run = agent({ model: scriptedModel(script.text('1')), output: slow }).stream('x')
  for await (const event of run) if (event.type === 'round-end') break
  run.cancel()
  checking.resolve()
  expect(await run.result).toMatchObject({ outcome: 'canceled', output: undefined })
})

describe('a structured answer', () => {
  const output = z.object({ n: z.number() })
  const answering = (text: string, ...more: ScriptRound[]) =>
    agent({ model: scriptedModel([text, ...more]), output }).stream('go')

  test.each(['refusal', 'content-filter'] as const)('that ends with %s fails at once', async (finish) => {
    const model = scriptedModel([[{ text: 'I cannot say that.' }, { finish }]])
    const run = agent({ model, output, maxCorrections: 3 }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'failed', finish, error: { code: 'invalid_output' } })
    expect(model.requests).toHaveLength(1)
    expect(of(await collect(run), 'input')).toEqual([])
  })

  test.each([
    '{"n":1}',
    ' \n{"n":1}\n',
    '```json\n{"n":1}\n```',
    '```\n{"n":1}\n```\n',
    'Here you are:\n```json\n{"n":1}\n```\nAnything else?',
    'The answer is {"n":1}.',
  ])('may be inside prose or a code block: %j', async (text) => {
    expect(await answering(text).result).toMatchObject({ outcome: 'completed', output: { n: 1 }, rounds: 1 })
  })

  test('may be followed by a hundred thousand empty lines', async () => {
    const lines = '\n'.repeat(100_000)
    for (const text of [`\`\`\`json\n{"n":1}\n\`\`\`${lines}`, `\`\`\`json${lines}{"n":1}${lines}x`]) {
      const model = scriptedModel([text], { deltaChars: 10_000 })
      expect(await agent({ model, output }).stream('go').result).toMatchObject({ output: { n: 1 } })
    }
    const model = scriptedModel([`\`\`\`json${lines}x`], { deltaChars: 10_000 })
    expect((await agent({ model, output, maxCorrections: 0 }).stream('go').result).error?.code).toBe(
      'invalid_output',
    )
  })

  test('starts over in partials() when its round is retracted', async () => {
    const clock = fakeClock()
    const model = scriptedModel(
      [[{ text: '{"n":1,"old":tr' }, { error: { code: 'stream_error' } }], '{"n":2}'],
      { deltaChars: 100, clock },
    )
    const run = agent({ model, output, clock }).stream('go')
    const views: string[] = []
    const reading = (async () => {
      for await (const view of run.partials()) views.push(JSON.stringify(view))
    })()
    await clock.until(reading)
    expect(views[0]).toMatch(/^\{"n":1/)
    expect(views.at(-1)).toBe('{"n":2}')
    expect(await run.result).toMatchObject({ output: { n: 2 } })
  })
})
