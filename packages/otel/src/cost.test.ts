import { AlwaysOffSampler } from '@opentelemetry/sdk-trace'
import type { Message, RunEvent, ToolResultPart } from 'millrace'
import { agent, noUsage, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Measured } from './otel.test-kit.ts'
import { measured, only } from './otel.test-kit.ts'

/** A value that counts how often it is read. */
function watched<Value extends object>(value: Value): { value: Value; reads: () => number } {
  let reads = 0
  const count = <Found>(found: Found): Found => {
    reads++
    return found
  }
  return {
    value: new Proxy(value, {
      // The length of an array can be read at no cost.
      get: (target, name) =>
        name === 'length' ? Reflect.get(target, name) : count(Reflect.get(target, name)),
      has: (target, name) => count(Reflect.has(target, name)),
      ownKeys: (target) => count(Reflect.ownKeys(target)),
    }),
    reads: () => reads,
  }
}

const readsOf = (seen: Measured) => {
  const content = {
    messages: watched<readonly Message[]>([{ role: 'user', content: 'hi' }]),
    input: watched({ at: 'x' }),
    output: watched<readonly ToolResultPart[]>([{ type: 'text', text: 'x' }]),
  }
  const run = seen.telemetry.startRun({ runId: 'r', agent: 'desk', inThread: false, parentTraces: [] })
  const emit = (...events: RunEvent[]) => {
    for (const event of events) run.event(event)
  }
  emit({ type: 'run-start', version: 2, runId: 'r', agent: 'desk', input: content.messages.value })
  const model = scriptedModel([], { id: 'gpt' })
  const request = { messages: content.messages.value, tools: [], settings: {} }
  const call = run.modelCall({ runId: 'r', round: 1, attempt: 1, model, request })
  const about = { callId: 'c', name: 'look' }
  emit(
    { type: 'tool-call', ...about, input: content.input.value },
    { type: 'tool-start', ...about, attempt: 1, input: content.input.value },
  )
  call.end({ done: { type: 'done', finish: 'tool-calls' } })
  emit(
    {
      type: 'tool-result',
      ...about,
      status: 'failed',
      output: content.output.value,
      isError: true,
      ms: 1,
      overlapMs: 0,
    },
    { type: 'run-end', outcome: 'completed', finish: 'stop', usage: noUsage },
  )
  return Object.entries(content).flatMap(([name, { reads }]) => (reads() > 0 ? [name] : []))
}

describe('cost', () => {
  test('a conversation is not read unless content is enabled and the span is recorded', () => {
    const plain = measured()
    expect(readsOf(plain)).toEqual([])
    expect(plain.spans()).toHaveLength(3)
    expect(readsOf(measured({ content: true, sampler: new AlwaysOffSampler() }))).toEqual([])
    expect(readsOf(measured({ content: true }))).toEqual(['messages', 'input', 'output'])
  })

  test('a model that makes up a thousand tools creates no metric series for them', async () => {
    const seen = measured({ conventions: 'both' })
    const rounds = Array.from({ length: 20 }, (_, round) =>
      Array.from({ length: 50 }, (_, at) => ({ call: `made_up_${round}_${at}` })),
    )
    const look = tool({ name: 'look', description: 'Looks', input: z.object({}), run: () => 'seen' })
    const model = scriptedModel([[{ call: 'look' }], ...rounds, 'Done.'], { id: 'gpt' })
    const desk = agent({
      name: 'desk',
      model,
      tools: [look],
      telemetry: seen.telemetry,
      maxRounds: 30,
      maxCallsPerRound: 50,
      repeatLimits: false,
    })
    const { outcome } = await desk.run('Go.')
    expect(outcome).toBe('completed')
    expect(seen.spans().filter(({ name }) => name.startsWith('execute_tool'))).toHaveLength(1001)
    const metrics = await seen.metrics()
    expect(JSON.stringify(metrics)).not.toContain('made_up')
    expect(await seen.points('gen_ai.execute_tool.duration')).toHaveLength(1)
    for (const { name, points } of metrics) expect(points.length, name).toBeLessThanOrEqual(2)
  })

  test('content of several megabytes is recorded in full', async () => {
    const seen = measured({ content: true })
    const long = 'words '.repeat(1_000_000)
    const model = scriptedModel([[{ text: long }]], { id: 'gpt', deltaChars: 100_000 })
    await agent({ name: 'desk', model, telemetry: seen.telemetry }).run(long)
    const { attributes } = only(seen.spans(), 'chat gpt')
    for (const attribute of ['gen_ai.input.messages', 'gen_ai.output.messages'])
      expect(JSON.parse(String(attributes[attribute]))[0].parts[0].content === long).toBe(true)
  })
})
