import { expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject, RunEvent } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { ToolContext } from '../tools/index.ts'
import { tool } from '../tools/index.ts'
import { agent } from './index.ts'

const doing = (run: (context: ToolContext) => unknown, more: { approve?: boolean } = {}) =>
  tool({
    name: 'do',
    description: 'Does something',
    input: z.object({}),
    run: (_, context) => run(context),
    ...more,
  })

const changesIn = (events: readonly RunEvent[]) => events.filter(({ type }) => type === 'metadata')

test('outside of a thread, metadata starts as an option and is in the events', async () => {
  const read: JsonObject[] = []
  const step = doing((context) => {
    read.push(context.metadata())
    context.updateMetadata({ step: Number(context.metadata().step ?? 0) + 1, gone: null })
    return 'stepped'
  })
  const model = scriptedModel([[{ call: 'do' }], [{ call: 'do' }], 'Done.'])
  const run = agent({ model, tools: [step] }).stream('go', { metadata: { step: 5, gone: 1 } })
  const events = await Array.fromAsync(run)
  expect(read).toEqual([{ step: 5, gone: 1 }, { step: 6 }])
  expect(changesIn(events)).toEqual([
    { type: 'metadata', patch: { step: 6, gone: null }, initial: { step: 5, gone: 1 } },
    { type: 'metadata', patch: { step: 7, gone: null } },
  ])
})

test('a run that is resumed from its events continues with their metadata', async () => {
  const read: JsonObject[] = []
  const rounds = [[{ call: 'do' }], [{ call: 'ask' }], [{ call: 'do' }], 'Done.'] as const
  const step = doing((context) => {
    read.push(context.metadata())
    context.updateMetadata({ step: Number(context.metadata().step ?? 0) + 1 })
    return 'stepped'
  })
  const ask = tool({ name: 'ask', description: 'Asks', input: z.object({}), approve: true, run: () => 'yes' })
  const one = agent({ model: scriptedModel([...rounds]), tools: [step, ask] })
  const first = one.stream('go', { metadata: { color: 'red' } })
  const { approvals } = await first.result
  const decision = { callId: approvals[0]?.callId ?? '', approved: true }
  await first.resume(decision).result
  const events = await Array.fromAsync(first)
  await agent({ model: scriptedModel([[{ call: 'do' }], 'Done.']), tools: [step, ask] }).resume(events, {
    decisions: [decision],
  }).result
  const after = { color: 'red', step: 1 }
  expect(read).toEqual([{ color: 'red' }, after, after])
})

test('what a tool reads is a copy', async () => {
  const read: JsonObject[] = []
  const spoil = doing((context) => {
    const metadata = context.metadata() as { list: string[] }
    metadata.list.push('spoiled')
    context.updateMetadata({ other: 1 })
    read.push(context.metadata())
    return 'spoiled'
  })
  const model = scriptedModel(script.tool('do', {}, 'Done.'))
  await agent({ model, tools: [spoil] }).run('go', { metadata: { list: ['a'] } })
  expect(read).toEqual([{ list: ['a'], other: 1 }])
})

test('a bad patch is an error of the tool, and one after the call has ended is too', async () => {
  const contexts: ToolContext[] = []
  const bad = doing((context) => {
    contexts.push(context)
    context.updateMetadata('x' as never)
  })
  const model = scriptedModel(script.tool('do', {}, 'Done.'))
  const run = agent({ model, tools: [bad] }).stream('go')
  const events = await Array.fromAsync(run)
  expect(changesIn(events)).toEqual([])
  const result = events.find(({ type }) => type === 'tool-result')
  expect(result).toMatchObject({
    status: 'failed',
    output: [{ text: expect.stringContaining('patch must be an object') }],
  })
  expect(() => contexts[0]?.updateMetadata({ a: 1 })).toThrow('has ended')
})

test('the option metadata must be an object that fits', () => {
  const model = scriptedModel(['Yes.'])
  for (const metadata of ['x', [1], { long: 'x'.repeat(20_000) }])
    expect(() => agent({ model }).stream('go', { metadata: metadata as never })).toThrow("'metadata'")
})
