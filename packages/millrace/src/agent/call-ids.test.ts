import { describe, expect, test } from 'vitest'
import type { Message, ModelEvent } from '../protocol/index.ts'
import { fakeClock, scriptedModel } from '../testing/index.ts'
import {
  callEcho,
  callOf,
  collect,
  done,
  echo,
  failOnUnhandledRejections,
  of,
  pairs,
  rawModel,
  refundOnApproval,
  streamOf,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

describe('call ids', () => {
  test('a call with a slash in its id runs and gets its result', async () => {
    const model = scriptedModel([[{ call: 'echo', input: { value: 'x' }, id: 'functions/echo:0' }], 'Done.'])
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed' })
    expect(pairs(await run.result)).toEqual([['functions_echo:0', 'x']])
  })

  test('a call with a slash in its id can wait for approval', async () => {
    const model = scriptedModel([[{ call: 'refund', input: { amount: 5 }, id: 'a/b' }], 'Done.'])
    const first = agent({ model, tools: [refundOnApproval] }).stream('go')
    const { outcome, approvals } = await first.result
    expect(outcome).toBe('suspended')
    const result = await first.resume({ callId: approvals[0]?.callId as string, approved: true }).result
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(pairs(result)).toEqual([['a_b', 'refunded 5']])
  })

  test('approval requests of a sub-agent work when its call id has a slash', async () => {
    const clerk = agent({
      name: 'clerk',
      model: scriptedModel([[{ call: 'refund', input: { amount: 5 }, id: 'c/d' }], 'Settled.']),
      tools: [refundOnApproval],
    })
    const model = scriptedModel([[{ call: 'clerk', input: { prompt: 'x' }, id: 'a/b' }], 'Done.'])
    const first = agent({ model, tools: [clerk.asTool({ description: 'Refunds' })] }).stream('go')
    const { outcome, approvals } = await first.result
    expect({ outcome, ids: approvals.map(({ callId }) => callId) }).toEqual({
      outcome: 'suspended',
      ids: ['a_b/c_d'],
    })
    const result = await first.resume({ callId: 'a_b/c_d', approved: true }).result
    expect(result.outcome).toBe('completed')
    expect(pairs(result)).toEqual([['a_b', 'Settled.']])
  })

  test('an identical call repeated in one round runs once', async () => {
    const model = rawModel((index) =>
      index === 0 ? streamOf(callOf('a'), callOf('a'), callOf('b'), callOf('a'), done) : streamOf(done),
    )
    const run = agent({ model, tools: [echo] }).stream('go')
    expect(of(await collect(run), 'tool-start').map(({ callId }) => callId)).toEqual(['a', 'b'])
    expect(pairs(await run.result)).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ])
  })

  test('two different calls with the same id both run, and so do two without an id', async () => {
    const model = rawModel((index) =>
      index === 0
        ? streamOf(
            callOf('a', { value: '1' }),
            callOf('a', { value: '2' }),
            callOf('', { value: '3' }),
            callOf('', { value: '3' }),
            done,
          )
        : streamOf(done),
    )
    expect(pairs(await agent({ model, tools: [echo] }).stream('go').result).map(([, text]) => text)).toEqual([
      '1',
      '2',
      '3',
      '3',
    ])
  })

  test('the same id and input after a new tool-input-start is a second call', async () => {
    const start = { type: 'tool-input-start', callId: 'a', name: 'echo' }
    const model = rawModel((index) =>
      index === 0 ? streamOf(start, callOf('a'), start, callOf('a'), done) : streamOf(done),
    )
    expect(pairs(await agent({ model, tools: [echo] }).stream('go').result)).toEqual([
      ['a', 'a'],
      ['a_2', 'a'],
    ])
  })

  test('the id of a discarded call is not reused', async () => {
    const model = scriptedModel([
      [{ call: 'echo', raw: '{"val', cut: true, id: 'a' }, { error: { code: 'stream_error' } }],
      [{ call: 'echo', input: { value: 'x' }, id: 'a' }],
      'Done.',
    ])
    const clock = fakeClock()
    const run = agent({ model, tools: [echo], clock }).stream('go')
    const result = await clock.until(run.result)
    expect(pairs(result)).toEqual([['a_2', 'x']])
    const ids = of(await collect(run), 'tool-input-start').map(({ callId }) => callId)
    expect(ids).toEqual(['a', 'a_2'])
  })

  test('a call started in an interrupted round does not reappear in the next', async () => {
    const model = scriptedModel([
      [
        { call: 'echo', input: { value: 'x' } },
        { call: 'echo', raw: '{"va', cut: true },
        { error: { code: 'stream_error' } },
      ],
      'Done.',
    ])
    const clock = fakeClock()
    const run = agent({ model, tools: [echo], clock }).stream('go')
    const result = await clock.until(run.result)
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.', rounds: 2 })
    expect(pairs(result)).toEqual([['call_1', 'x']])
    expect(of(await collect(run), 'tool-call')).toHaveLength(1)
  })

  test('calls with duplicate or missing ids get unique ones', async () => {
    const call = (callId: string, value: string): ModelEvent => ({
      type: 'tool-call',
      callId,
      name: 'echo',
      input: { value },
    })
    const rounds: ModelEvent[][] = [
      [
        call('', 'a'),
        call('', 'b'),
        call('c1', 'c'),
        call('c1', 'd'),
        { type: 'done', finish: 'tool-calls' },
      ],
      [call('c1', 'e'), { type: 'done', finish: 'tool-calls' }],
      [
        { type: 'text', text: 'ok' },
        { type: 'done', finish: 'stop' },
      ],
    ]
    const model = rawModel((index) => streamOf(...(rounds[index] ?? [])))
    const result = await agent({ model, tools: [echo] }).run('go')
    expect(pairs(result)).toEqual([
      ['call_1', 'a'],
      ['call_1_2', 'b'],
      ['c1', 'c'],
      ['c1_2', 'd'],
      ['c1_3', 'e'],
    ])
  })

  test('ids from the history that the caller passed are not reused', async () => {
    const history: Message[] = [
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: [{ type: 'tool-call', callId: 'call_1', name: 'echo', input: { value: 'x' } }],
      },
      { role: 'tool', callId: 'call_1', name: 'echo', content: [{ type: 'text', text: 'x' }] },
      { role: 'user', content: 'b' },
    ]
    const result = await agent({ model: scriptedModel([callEcho('y'), 'ok']), tools: [echo] }).run(history)
    expect(pairs(result)).toEqual([
      ['call_1', 'x'],
      ['call_1_2', 'y'],
    ])
  })
})
