import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, failOnUnhandledRejections, of, pairs } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

test('a tool can read its arguments while they stream', async () => {
  const seen: string[] = []
  const write = tool({
    name: 'write',
    description: 'Writes',
    input: z.object({ path: z.string(), text: z.string() }),
    onInput: (partial, { callId }) => seen.push(`${callId} ${JSON.stringify(partial)}`),
    run: () => 'written',
  })
  const model = scriptedModel(script.tool('write', { path: 'a', text: 'hello' }, 'ok'), { deltaChars: 8 })
  await agent({ model, tools: [write] }).run('go')
  expect(seen).toEqual([
    'call_1 {}',
    'call_1 {"path":"a"}',
    'call_1 {"path":"a","text":"hell"}',
    'call_1 {"path":"a","text":"hello"}',
  ])
})

test('a tool that fails in onInput is not run, and the model gets the error', async () => {
  const write = tool({
    name: 'write',
    description: 'Writes',
    input: z.object({ path: z.string() }),
    onInput: () => {
      throw new Error('no such display')
    },
    run: () => expect.unreachable(),
  })
  const result = await agent({
    model: scriptedModel(script.tool('write', { path: 'a' }, 'ok')),
    tools: [write],
  }).run('go')
  expect(pairs(result)[0]?.[1]).toMatch(/no such display/)
})

describe('onInput', () => {
  const agentWith = (onInput: () => unknown, more: object = {}) => {
    const write = tool({
      name: 'write',
      description: 'Writes',
      input: z.object({ text: z.string() }),
      onInput: onInput as () => void,
      run: () => 'written',
    })
    const model = scriptedModel(script.tool('write', { text: 'hello you' }, 'Done.'), { deltaChars: 3 })
    return agent({ model, tools: [write], ...more })
  }

  test('that rejects later fails the call', async () => {
    const run = agentWith(() => Promise.reject(new Error('disk full'))).stream('go')
    expect(of(await collect(run), 'tool-result')).toMatchObject([
      {
        status: 'failed',
        output: [{ text: 'The tool failed while its arguments arrived: disk full' }],
      },
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed' })
  })

  test('is not called for a call that will be rejected anyway', async () => {
    const onInput = vi.fn()
    await agentWith(onInput, { maxRounds: 0 }).stream('go').result
    await agentWith(onInput).plan('go').result
    expect(onInput).not.toHaveBeenCalled()
    await agentWith(onInput).stream('go').result
    expect(onInput).toHaveBeenCalled()
  })
})
