import { permission } from '@millrace/tools'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { echo } from './agent.test-kit.ts'
import { agent, internalsOf } from './index.ts'
import type { AgentOptions } from './options.ts'

const [small, spare, large] = ['small', 'spare', 'large'].map((id) => scriptedModel([], { id })) as [
  ReturnType<typeof scriptedModel>,
  ReturnType<typeof scriptedModel>,
  ReturnType<typeof scriptedModel>,
]

const described = (options: AgentOptions) => internalsOf(agent(options), 'helper').describe()

test('an agent describes how it is set up', () => {
  const found = described({
    name: 'helper',
    description: 'Helps.',
    starters: ['Help me.'],
    model: [small, spare],
    models: [large],
    system: 'Be kind.',
    tools: [echo],
    toolChoice: 'auto',
    output: z.object({ answer: z.string() }),
    settings: { temperature: 0, headers: { 'x-key': 'secret' }, extra: { key: 'secret' } },
    permission: permission({
      allow: ['echo', 'read'],
      ask: ['run(git push *)'],
      deny: ['run(rm *)', 'write(secrets/**)'],
      sandboxed: 'allow',
      mode: 'read-only',
    }),
    maxRounds: Number.POSITIVE_INFINITY,
    maxContextTokens: 9000,
    budget: {
      usd: 1,
      tokens: Number.POSITIVE_INFINITY,
      userPerDay: { usd: 5 },
      onLimit: { model: large, from: 0.5 },
    },
  })
  expect(JSON.parse(JSON.stringify(found))).toEqual({
    name: 'helper',
    description: 'Helps.',
    starters: ['Help me.'],
    system: 'Be kind.',
    models: [
      { id: 'small', provider: 'scripted' },
      { id: 'spare', provider: 'scripted', isFallback: true },
      { id: 'large', provider: 'scripted' },
    ],
    tools: [{ name: 'echo', description: 'Returns its input', inputSchema: echo.inputSchema }],
    toolChoice: 'auto',
    output: expect.objectContaining({ type: 'object', required: ['answer'] }),
    settings: { temperature: 0 },
    rules: [
      'deny write(secrets/**)',
      'deny run(rm *)',
      'read-only',
      'ask run(git push *)',
      'allow echo',
      'allow read',
      'sandboxed',
      'otherwise ask',
    ],
    limits: {
      maxCallsPerRound: 32,
      toolConcurrency: 8,
      firstEventMs: 300_000,
      idleMs: 300_000,
      toolTimeoutMs: 300_000,
      maxResultChars: 50_000,
      maxContextTokens: 9000,
    },
    budget: { usd: 1, userPerDay: { usd: 5 }, onLimit: { model: 'large', from: 0.5 } },
  })
})

test('an agent describes its current tools, and whether its model is simulated', () => {
  const box: { tools: Tool[] } = { tools: [] }
  const model = scriptedModel([], { simulated: true })
  const internals = internalsOf(agent({ model, tools: [box] }), 'agent')
  const expected = { name: 'agent', tools: [], isSimulated: true, models: [{ isSimulated: true }] }
  expect(internals.describe()).toMatchObject(expected)
  box.tools = [echo]
  expect(internals.describe().tools.map(({ name }) => name)).toEqual(['echo'])
})

describe('options', () => {
  test.each<[Partial<AgentOptions>, string]>([
    [{ description: '' }, "'description'"],
    [{ starters: 'Hi' as never }, "'starters' must be an array of messages, not a string"],
    [{ starters: ['Hi', ' '] }, 'number 2'],
    [{ models: large as never }, "'models' must be an array of models"],
    [{ models: ['gpt-5' as never] }, "write openai('gpt-5')"],
    [{ models: [scriptedModel([], { id: 'small' })] }, "second model with the id 'small'"],
    [{ models: [large, scriptedModel([], { id: 'large' })] }, "second model with the id 'large'"],
    [
      {
        models: [scriptedModel([], { id: 'mute', capabilities: { streaming: false } })],
        requireStreaming: true,
      },
      "'mute' does not stream",
    ],
    [
      { models: [scriptedModel([], { id: 'plain', capabilities: { tools: false } })], tools: [echo] },
      "'plain' does not support tools",
    ],
  ])('%o is rejected', (options, problem) => {
    expect(() => agent({ model: small, ...options })).toThrow(problem)
  })

  test('a model can be offered and be a fallback', () => {
    expect(described({ model: [small, spare], models: [spare, small, large] }).models).toMatchObject([
      { id: 'small' },
      { id: 'spare' },
      { id: 'large' },
    ])
  })
})
