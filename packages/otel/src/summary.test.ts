import { agent, memoryStore, millrace, summarize } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { afterEach, expect, test } from 'vitest'
import { untilIdle } from '../../millrace/src/threads/threads.test-kit.ts'
import { measured, named, treeOf } from './otel.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

test('a summary is a model call aside from the rounds, and later rounds are marked as compacted', async () => {
  const seen = measured()
  const summarizer = scriptedModel(['In short.'], { id: 'summarizer' })
  const tooLong = { error: { code: 'context_overflow', message: 'prompt is too long' } } as const
  const model = scriptedModel([[tooLong], 'Done.'], { id: 'gpt' })
  const desk = agent({
    name: 'desk',
    model,
    compact: summarize({ model: summarizer }),
    telemetry: seen.telemetry,
  })
  const result = await desk.run([
    { role: 'user', content: 'I am Ada.' },
    { role: 'assistant', content: [{ type: 'text', text: 'x'.repeat(1000) }] },
    { role: 'user', content: 'Who am I?' },
  ])
  expect(result.outcome).toBe('completed')
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual(['invoke_agent desk', '  chat gpt', '  chat summarizer', '  chat gpt'])
  const facts = spans
    .slice(1)
    .map(({ attributes }) => [
      attributes['millrace.round'],
      attributes['millrace.attempt'],
      attributes['millrace.aside'],
      attributes['gen_ai.conversation.compacted'],
    ])
  expect(facts).toEqual([
    [1, undefined, undefined, undefined],
    [1, undefined, true, undefined],
    [1, 2, undefined, true],
  ])
})

test('a summary before the first round does not set the model of the run, but counts towards its usage', async () => {
  const seen = measured()
  const summarizer = scriptedModel(
    [[{ text: 'In short.' }, { usage: { inputTokens: 20, outputTokens: 2 } }]],
    {
      id: 'summarizer',
    },
  )
  const model = scriptedModel(
    [
      [{ text: 'Hello.' }, { usage: { inputTokens: 9000, outputTokens: 1 } }],
      [{ text: 'Ada.' }, { usage: { inputTokens: 100, outputTokens: 1 } }],
    ],
    { id: 'gpt' },
  )
  const store = memoryStore()
  const app = millrace({
    agents: agent({
      name: 'desk',
      model,
      compact: summarize({ model: summarizer }),
      maxContextTokens: 10_000,
    }),
    store,
    telemetry: seen.telemetry,
  })
  open.push(store, app)
  const thread = app.thread('t')
  await thread.send(`I am Ada. ${'x'.repeat(20_000)}`)
  await untilIdle(thread)
  await thread.send('Who am I?')
  await untilIdle(thread)
  const spans = seen.spans()
  expect(treeOf(spans)).toEqual([
    'invoke_agent desk',
    '  chat gpt',
    'invoke_agent desk',
    '  chat summarizer',
    '  chat gpt',
  ])
  expect(named(spans, 'invoke_agent desk')[1]?.attributes).toMatchObject({
    'gen_ai.request.model': 'gpt',
    'gen_ai.usage.input_tokens': 120,
    'gen_ai.usage.output_tokens': 3,
  })
})
