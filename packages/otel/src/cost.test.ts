import { AlwaysOffSampler } from '@opentelemetry/sdk-trace'
import type { Message, RunEvent, ToolResultPart } from 'millrace'
import { agent, noUsage, tool } from 'millrace'
import { scriptedModel } from 'millrace/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Measured } from './otel.test-kit.ts'
import { measured, only } from './otel.test-kit.ts'

/** Something that was said, and how often somebody looked inside. */
function watched<Value extends object>(value: Value): { value: Value; looks: () => number } {
  let looks = 0
  const look = <Found>(found: Found): Found => {
    looks++
    return found
  }
  return {
    value: new Proxy(value, {
      // How long a list is can be asked without reading it.
      get: (target, name) =>
        name === 'length' ? Reflect.get(target, name) : look(Reflect.get(target, name)),
      has: (target, name) => look(Reflect.has(target, name)),
      ownKeys: (target) => look(Reflect.ownKeys(target)),
    }),
    looks: () => looks,
  }
}

const looksAt = (seen: Measured) => {
  const said = {
    messages: watched<readonly Message[]>([{ role: 'user', content: 'hi' }]),
    input: watched({ at: 'x' }),
    output: watched<readonly ToolResultPart[]>([{ type: 'text', text: 'x' }]),
  }
  const run = seen.telemetry.begin({ runId: 'r', agent: 'desk', inThread: false, causes: [] })
  const tell = (...events: RunEvent[]) => {
    for (const event of events) run.event(event)
  }
  tell({ type: 'run-start', version: 1, runId: 'r', agent: 'desk', input: said.messages.value })
  const model = scriptedModel([], { id: 'gpt' })
  const request = { messages: said.messages.value, tools: [], settings: {} }
  const call = run.call({ runId: 'r', round: 1, attempt: 1, model, request })
  const about = { callId: 'c', name: 'look' }
  tell(
    { type: 'tool-call', ...about, input: said.input.value },
    { type: 'tool-start', ...about, attempt: 1, input: said.input.value },
  )
  call.end({ done: { type: 'done', finish: 'tool-calls' } })
  tell(
    {
      type: 'tool-result',
      ...about,
      status: 'failed',
      output: said.output.value,
      isError: true,
      ms: 1,
      overlapMs: 0,
    },
    { type: 'run-end', outcome: 'completed', finish: 'stop', usage: noUsage },
  )
  return Object.entries(said).flatMap(([name, { looks }]) => (looks() > 0 ? [name] : []))
}

describe('what it costs', () => {
  test('a conversation is not looked at unless its content is wanted, and recorded', () => {
    const plain = measured()
    expect(looksAt(plain)).toEqual([])
    expect(plain.spans()).toHaveLength(3)
    expect(looksAt(measured({ content: true, sampler: new AlwaysOffSampler() }))).toEqual([])
    expect(looksAt(measured({ content: true }))).toEqual(['messages', 'input', 'output'])
  })

  test('a model that makes up a thousand tools makes no series of them', async () => {
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

  test('words of many megabytes are put where they belong, as they are', async () => {
    const seen = measured({ content: true })
    const long = 'words '.repeat(1_000_000)
    const model = scriptedModel([[{ text: long }]], { id: 'gpt', deltaChars: 100_000 })
    await agent({ name: 'desk', model, telemetry: seen.telemetry }).run(long)
    const { attributes } = only(seen.spans(), 'chat gpt')
    for (const attribute of ['gen_ai.input.messages', 'gen_ai.output.messages'])
      expect(JSON.parse(String(attributes[attribute]))[0].parts[0].content === long).toBe(true)
  })
})
