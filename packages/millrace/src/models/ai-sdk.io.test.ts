import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { Fault, ProviderSimulator, ProviderSimulatorOptions } from '@millrace/simulator'
import { providerSimulator } from '@millrace/simulator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { ErrorCode, RunEvent } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { AISDKModel } from './ai-sdk.ts'
import { fromAISDK } from './ai-sdk.ts'

// The SDK's own providers, unmodified, against the simulator.

const key = 'sk-very-secret-key-0123456789'
const openai = (sim: ProviderSimulator) => createOpenAI({ apiKey: key, baseURL: sim.baseURL })
const anthropic = (sim: ProviderSimulator) => createAnthropic({ apiKey: key, baseURL: sim.baseURL })

const providers: [name: string, (sim: ProviderSimulator) => AISDKModel][] = [
  ['@ai-sdk/openai, chat', (sim) => openai(sim).chat('gpt-sim')],
  ['@ai-sdk/openai, responses', (sim) => openai(sim).responses('gpt-sim')],
  ['@ai-sdk/anthropic', (sim) => anthropic(sim)('claude-sim')],
]

async function simulate(rounds: readonly ScriptRound[], options?: ProviderSimulatorOptions) {
  const sim = await providerSimulator(rounds, options)
  onTestFinished(() => sim.close())
  return sim
}

const bodyOf = (sim: ProviderSimulator, index: number) => JSON.stringify(sim.requests[index]?.body)

const tools = ['look', 'find', 'count'].map((name) =>
  tool({
    name,
    description: `To ${name}`,
    input: z.object({ id: z.number() }),
    run: ({ id }) => ({ [name]: id }),
  }),
)

/**
 * The model's text and the outcome of each call, without ids, times and opaque data. Text and calls
 * are kept apart, since OpenAI's provider closes the calls of Chat Completions only at the end.
 */
async function outcomeOf(run: AsyncIterable<RunEvent>) {
  const said: string[] = []
  const done: Record<string, object[]> = {}
  const names = new Map<string, string>()
  for await (const event of run) {
    if (event.type === 'tool-input-start') names.set(event.callId, event.name)
    const name = 'callId' in event ? (names.get(event.callId) ?? '') : ''
    if (event.type === 'text') said.push(event.text)
    else if (event.type === 'tool-input') said.push(`${name}: ${event.delta}`)
    else if (event.type === 'round-end') said.push(`round ${event.round} ${event.finish}`)
    else if (event.type === 'run-end') said.push(`${event.outcome} ${event.finish}`)
    else if (event.type === 'reasoning' || event.type === 'provider-tool') said.push(event.type)
    else if (event.type === 'tool-call' || event.type === 'tool-start' || event.type === 'tool-result') {
      const { callId, ...rest } = event
      done[name] = [...(done[name] ?? []), { ...rest, ms: 0, overlapMs: 0, opaque: undefined }]
    }
  }
  return { said, done }
}

test.each(providers)('a model of %s has the origin of its address', async (_, modelAt) => {
  const sim = await simulate([])
  expect(fromAISDK(modelAt(sim)).address).toBe(sim.url)
})

describe.each(providers)('a model of %s', (_, modelAt) => {
  const scenario: ScriptRound[] = [
    [
      { text: 'Let me see. ' },
      { call: 'look', input: { id: 1 } },
      { call: 'find', input: { id: 2 } },
      { call: 'count', input: { id: 3 } },
    ],
    'All three are there.',
  ]

  test('runs two rounds and three tools as the scripted model does', async () => {
    const whole = { deltaChars: 1000 }
    const sim = await simulate(scenario, whole)
    const run = agent({ model: fromAISDK(modelAt(sim)), tools }).stream('Go.')
    const expected = agent({ model: scriptedModel(scenario, whole), tools }).stream('Go.')
    expect(await outcomeOf(run)).toEqual(await outcomeOf(expected))
    const { text, usage, messages } = await run.result
    expect(text).toBe('All three are there.')
    expect(usage.inputTokens).toBeGreaterThan(0)
    expect(usage.outputTokens).toBeGreaterThan(0)
    expect(messages.map(({ role }) => role).join(' ')).toBe('user assistant tool tool tool assistant')
    await sim.idle()
  })

  test('a call that is cut off by the token limit is reported and never runs', async () => {
    const sim = await simulate([[{ call: 'look', raw: '{"id":1', cut: true }, { finish: 'length' }]])
    const run = agent({ model: fromAISDK(modelAt(sim)), tools }).stream('Go.')
    const types: string[] = []
    for await (const event of run) types.push(event.type)
    expect(types).not.toContain('tool-start')
    expect((await run.result).finish).toBe('length')
  })

  test('returns a structured answer', async () => {
    const sim = await simulate(['{"n":3}'])
    const output = z.object({ n: z.number() })
    const { output: value } = await agent({ model: fromAISDK(modelAt(sim)), output }).run('How many?')
    expect(value).toEqual({ n: 3 })
    expect(bodyOf(sim, 0)).toContain('"n":{"type":"number"}')
  })

  test('sends images and files', async () => {
    const sim = await simulate(['A cat.'])
    await agent({ model: fromAISDK(modelAt(sim)) }).run({
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', data: new Uint8Array([137, 80, 78, 71]), mediaType: 'image/png' },
        { type: 'image', url: 'https://a.example/cat.png' },
        { type: 'file', data: 'JVBERi0=', mediaType: 'application/pdf', name: 'cat.pdf' },
      ],
    })
    const body = bodyOf(sim, 0)
    for (const sent of ['iVBORw==', 'https://a.example/cat.png', 'JVBERi0=']) expect(body).toContain(sent)
  })

  test('canceling closes the connection', async () => {
    const sim = await simulate(script.hanging('I could go on'))
    const run = agent({ model: fromAISDK(modelAt(sim)) }).stream('Talk.')
    for await (const _ of run.text()) {
      expect(sim.sockets).toBe(1)
      run.cancel()
    }
    expect((await run.result).outcome).toBe('canceled')
    await sim.idle()
  })

  test('a reader that stops early closes the connection too', async () => {
    const sim = await simulate(script.hanging('I could go on'))
    const request = { messages: [{ role: 'user', content: 'Talk.' }], tools: [], settings: {} } as const
    const { signal } = new AbortController()
    for await (const _ of fromAISDK(modelAt(sim)).stream(request, { signal })) break
    await sim.idle()
  })

  test.each<[number, ErrorCode, boolean]>([
    [401, 'auth', false],
    [403, 'auth', false],
    [429, 'rate_limit', true],
    [500, 'llm_error', true],
    [503, 'overloaded', true],
    [529, 'overloaded', true],
    [400, 'llm_error', false],
  ])('status %i is %s', async (status, code, retryable) => {
    const sim = await simulate(['Hello.'], {
      faults: [{ kind: 'status', status, retryAfter: { seconds: 7 } }],
    })
    const { error } = await agent({ model: fromAISDK(modelAt(sim)), retry: { attempts: 1 } }).stream('Hi')
      .result
    expect(error).toMatchObject({ op: 'model.stream', code, retryable, status })
    expect(error?.retryAfterMs).toBe(retryable ? 7000 : undefined)
    expect(JSON.stringify(error)).not.toContain(key)
  })

  const afterSomeWords: Fault[] = [
    { kind: 'reset', at: { event: -4 } },
    { kind: 'end', at: { event: -4 } },
    { kind: 'malformed', event: -4 },
    { kind: 'error-frame', event: -4 },
  ]
  test.each([{ kind: 'refuse' }, { kind: 'reset', at: 'before-headers' }, ...afterSomeWords] as Fault[])(
    '$kind is retried successfully',
    async (fault) => {
      const sim = await simulate(['Some words, and some more of them.'], {
        faults: [{ ...fault, request: 0 }],
        deltaChars: 5,
      })
      const run = agent({ model: fromAISDK(modelAt(sim)), retry: { baseMs: 0 } }).stream('Hi')
      const { text, outcome, error } = await run.result
      expect([text, outcome, error]).toEqual(['Some words, and some more of them.', 'completed', undefined])
      expect(sim.requests).toHaveLength(2)
      await sim.idle()
    },
  )

  test.each(afterSomeWords)('$kind is a retryable failure', async (fault) => {
    const sim = await simulate(['Some words, and some more of them.'], { faults: [fault], deltaChars: 5 })
    const run = agent({ model: fromAISDK(modelAt(sim)), retry: { attempts: 1 } }).stream('Hi')
    const { outcome, error } = await run.result
    expect(outcome).toBe('failed')
    expect(error?.retryable).toBe(true)
    expect(['stream_error', 'llm_error', 'overloaded']).toContain(error?.code)
    expect(JSON.stringify(error)).not.toContain(key)
  })
})
