import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { Model, RunEvent } from '../protocol/index.ts'
import { noUsage, toolCallsOf } from '../protocol/index.ts'
import type { ScriptRound, ScriptStep } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { players } from './every-model.test-kit.ts'

// One scenario on every kind of model: the events of a run must not depend on the model.

const thought: ScriptStep = { reasoning: 'Three things to look up.' }

const rounds = (...first: readonly ScriptStep[]): ScriptRound[] => [
  [
    ...first,
    { text: 'Let me look: “Grüße” 😀. ' },
    { call: 'lookup_order', input: { id: 'ORD-42' } },
    { call: 'weather', input: { city: 'Zürich', days: 2 } },
    { call: 'now' },
    { usage: { inputTokens: 50, outputTokens: 30 } },
  ],
  [{ text: 'It has shipped, and it will rain.' }, { usage: { inputTokens: 90, outputTokens: 8 } }],
]

/** The tools return after the model is done, since their timing is not compared here. */
function tools(modelDone: Promise<unknown>) {
  const later = <Value>(value: Value) => modelDone.then(() => value)
  return [
    tool({
      name: 'lookup_order',
      description: 'Finds an order',
      input: z.object({ id: z.string() }),
      run: ({ id }) => later({ id, status: 'shipped' }),
    }),
    tool({
      name: 'weather',
      description: 'Returns the weather',
      input: z.object({ city: z.string(), days: z.number() }),
      run: ({ city }) => later(`rain in ${city}`),
    }),
    tool({ name: 'now', description: 'Returns the time', input: z.object({}), run: () => later('12:00') }),
  ]
}

async function play(model: Model) {
  const modelDone = Promise.withResolvers<void>()
  const run = agent({ model, name: 'desk', tools: tools(modelDone.promise) }).stream('Where is ORD-42?')
  for await (const event of run) if (event.type === 'round-end') modelDone.resolve()
  return { events: comparable(await Array.fromAsync(run)), result: await run.result }
}

/** Everything except ids, times, model names and opaque data. */
function comparable(events: readonly RunEvent[]): Record<string, unknown>[] {
  const ids = new Map<string, string>()
  const idOf = (id: string) => ids.get(id) ?? ids.set(id, `call ${ids.size + 1}`).get(id)
  // The end of a text is emitted only if opaque data comes with it.
  const shared = events.filter((event) => event.type !== 'part-end' || event.part !== 'text')
  return shared.map((event) => {
    const fields: Record<string, unknown> = { ...event }
    for (const name of ['runId', 'model', 'timings', 'metadata', 'opaque', 'ms', 'overlapMs'])
      delete fields[name]
    if ('callId' in event) fields.callId = idOf(event.callId)
    // Some providers omit zero counts.
    if ('usage' in event) fields.usage = { ...noUsage, ...event.usage }
    return fields
  })
}

const byCall = (events: readonly Record<string, unknown>[]) =>
  Object.groupBy(events, ({ callId }) => String(callId))

describe.each([
  ['two rounds and three tools', rounds()],
  ['the same with reasoning', rounds(thought)],
])('%s', async (title, script) => {
  const expected = await play(scriptedModel(script))
  const late = 'AI SDK, Chat Completions'
  // It does not support `reasoning_content`.
  const able = Object.entries(players).filter(([name]) => name !== late || !title.includes('reasoning'))

  test.each(able)('%s', async (name, player) => {
    const { model, close } = await player(script)
    onTestFinished(close)
    const { events, result } = await play(model)
    // It closes calls only at the end of the stream: the events of each call are the same, in
    // another order.
    if (name === late) expect(byCall(events)).toEqual(byCall(expected.events))
    else expect(events).toEqual(expected.events)
    expect(result).toMatchObject({
      outcome: 'completed',
      text: 'It has shipped, and it will rain.',
      usage: { inputTokens: 140, outputTokens: 38 },
    })
    expect(result.messages.flatMap(toolCallsOf).map(({ input }) => input)).toEqual([
      { id: 'ORD-42' },
      { city: 'Zürich', days: 2 },
      {},
    ])
  })
})
