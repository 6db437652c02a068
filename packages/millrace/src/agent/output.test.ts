import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { collect, echo, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'

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

test('the outcome tells whether there is an answer', async () => {
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

test('partial values come on the way', async () => {
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

test('only the last round is the answer: words beside tool calls are not', async () => {
  const model = scriptedModel([[{ text: 'Let me see {' }, { call: 'echo', input: { value: 'x' } }], soup])
  const run = agent({ model, tools: [echo], output: recipe }).stream('cook')
  let last: unknown
  for await (const partial of run.partials()) last = partial
  expect(last).toEqual({ name: 'Soup', steps: ['boil', 'serve'] })
  expect((await run.result).output).toEqual(last)
})

test('a model without structured output is asked in words, and a code block around the JSON is no harm', async () => {
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
    /^You cook\.\n\nGive your final answer as one JSON document.*"steps"/s,
  )
})

describe('an answer that does not fit', () => {
  test('is asked for again, with what was wrong', async () => {
    const model = scriptedModel(['{"name":"Soup"}', soup])
    const run = agent({ model, output: recipe }).stream('cook')
    const events = await collect(run)
    expect(of(events, 'input')).toMatchObject([
      {
        mode: 'correct',
        message: { content: expect.stringMatching(/steps: .*\nGive the whole answer again/) },
      },
    ])
    expect((await run.result).output).toEqual({ name: 'Soup', steps: ['boil', 'serve'] })
  })

  test('and still does not, fails the run with invalid_output', async () => {
    const model = scriptedModel(['not JSON', 'not JSON either'])
    const result = await agent({ model, output: recipe }).stream('cook').result
    expect(result).toMatchObject({
      outcome: 'failed',
      output: undefined,
      error: { code: 'invalid_output', message: expect.stringMatching(/not valid JSON/) },
    })
    expect(model.requests).toHaveLength(2)
  })

  test('is asked for as often as one likes', async () => {
    const model = scriptedModel(['1', '2', '3', soup])
    const result = await agent({ model, output: recipe, maxCorrections: 3 }).run('cook')
    expect(result.rounds).toBe(4)
    await expect(
      agent({ model: scriptedModel(['1']), output: recipe, maxCorrections: 0 }).run('cook'),
    ).rejects.toMatchObject({ code: 'invalid_output' })
  })
})

test('cancelled while the answer is being checked, the run is cancelled', async () => {
  const checking = Promise.withResolvers<void>()
  const slow = { jsonSchema: {}, validate: (value: unknown) => checking.promise.then(() => ({ value })) }
  const run = agent({ model: scriptedModel(script.text('1')), output: slow }).stream('x')
  for await (const event of run) if (event.type === 'round-end') break
  run.cancel()
  checking.resolve()
  expect(await run.result).toMatchObject({ outcome: 'cancelled', output: undefined })
})
