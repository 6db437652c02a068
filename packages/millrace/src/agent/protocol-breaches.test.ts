import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Model, ModelEvent } from '../protocol/index.ts'
import { noUsage } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import {
  callOf,
  collect,
  done,
  echo,
  failOnUnhandledRejections,
  of,
  rawModel,
  streamOf,
  typesOf,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

const text = { type: 'text', text: 'Hi.' } as const

describe('a model that violates the protocol', () => {
  const once = { retry: { attempts: 1 } }

  test.each<[string, unknown, RegExp]>([
    ['text that is a number', { type: 'text', text: 5 }, /sent text that is not a string/],
    ['text that is missing', { type: 'text' }, /sent text that is not a string/],
    ['reasoning that is null', { type: 'reasoning', text: null }, /sent reasoning that is not a string/],
    ['a call without an id', { type: 'tool-input-start', name: 'echo' }, /started a tool call without an id/],
    ['input that is text', { ...callOf('a'), input: '{}' }, /whose input is not an object/],
    [
      'input that is missing',
      { type: 'tool-call', callId: 'a', name: 'echo' },
      /whose input is not an object/,
    ],
    ['input that is a list', { ...callOf('a'), input: [] }, /whose input is not an object/],
    ['an unknown type', { type: 'hello' }, /an event of unknown type 'hello'/],
    ['null', null, /the model 'raw' sent null instead of an event/],
    ['undefined', undefined, /the model 'raw' sent undefined instead of an event/],
    ['a string', 'hi', /the model 'raw' sent hi instead of an event/],
  ])('fails with an error message: %s', async (_, event, message) => {
    const model = rawModel(() => streamOf(event, done))
    const { outcome, error } = await agent({ model, tools: [echo], ...once }).stream('go').result
    expect(outcome).toBe('failed')
    expect(error).toMatchObject({ code: 'llm_error', message: expect.stringMatching(message) })
  })

  test('fails with an error message: an arguments delta that is not a string', async () => {
    const model = rawModel(() =>
      streamOf(
        { type: 'tool-input-start', callId: 'a', name: 'echo' },
        { type: 'tool-input', callId: 'a', delta: { value: 1 } },
        done,
      ),
    )
    const { error } = await agent({ model, tools: [echo], ...once }).stream('go').result
    expect(error).toMatchObject({
      code: 'llm_error',
      message: 'the model sent arguments that are not a string',
    })
  })

  test.each<[string, () => unknown]>([
    ['a promise', () => Promise.resolve(streamOf(done))],
    ['a list', () => [done]],
    ['nothing', () => undefined],
    ['null', () => null],
  ])('fails with an error that says what stream() must return, not %s', async (_, stream) => {
    const { outcome, error } = await agent({ model: rawModel(stream), ...once }).stream('go').result
    expect({ outcome, code: error?.code, message: error?.message }).toEqual({
      outcome: 'failed',
      code: 'llm_error',
      message: "stream() of the model 'raw' must return an async iterable, as async *stream() does",
    })
  })

  test('is closed when its event is rejected', async () => {
    let closed = false
    async function* bad() {
      try {
        yield { type: 'hello' }
        yield done
      } finally {
        closed = true
      }
    }
    const model = rawModel(bad)
    await agent({ model, ...once }).stream('go').result
    expect(closed).toBe(true)
    expect(model.signals[0]?.aborted).toBe(true)
  })

  test('is closed when it is done, although it would continue', async () => {
    let closed = false
    async function* more() {
      try {
        yield { type: 'text', text: 'in time' }
        yield done
        yield { type: 'text', text: 'late' }
      } finally {
        closed = true
      }
    }
    const run = agent({ model: rawModel(more) }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'in time' })
    expect(closed).toBe(true)
  })

  test('and reports invalid usage counts as no usage', async () => {
    const usage = {
      inputTokens: Number.NaN,
      outputTokens: 'many',
      reasoningTokens: Number.POSITIVE_INFINITY,
      cacheReadTokens: null,
      cacheWriteTokens: 3,
    }
    const run = agent({ model: rawModel(() => streamOf(text, { ...done, usage })) }).stream('go')
    expect((await run.result).usage).toEqual({ ...noUsage, cacheWriteTokens: 3 })
    expect(of(await collect(run), 'round-end')[0]?.usage).toEqual({ cacheWriteTokens: 3 })
  })

  test('and throws an object that resembles a MillraceError ends the run like any other error', async () => {
    const fake = Object.assign(new Error('bad key'), { name: 'MillraceError', code: 'auth', op: 'x' })
    const model = rawModel(() => {
      throw fake
    })
    const run = agent({ model, ...once }).stream('go')
    const events = await collect(run)
    expect(events.at(-1)).toMatchObject({
      type: 'run-end',
      outcome: 'failed',
      error: { code: 'auth', message: 'bad key' },
    })
    expect((await run.result).error?.cause).toBe(fake)
  })

  test('such an error from prepareRound or a tool does not leave the run hanging', async () => {
    const fake = () => {
      throw Object.assign(new Error('odd'), { name: 'MillraceError', code: 'auth', op: 'x' })
    }
    const model = () => scriptedModel(script.tool('bad', {}, 'Done.'))
    const bad = tool({ name: 'bad', description: 'Throws', input: z.object({}), run: fake })
    expect(await agent({ model: model(), prepareRound: fake }).stream('go').result).toMatchObject({
      outcome: 'failed',
      error: { code: 'hook_failed' },
    })
    expect(await agent({ model: model(), tools: [bad] }).stream('go').result).toMatchObject({
      outcome: 'completed',
    })
    expect(
      await agent({ model: model(), tools: [bad], onToolError: 'fail' }).stream('go').result,
    ).toMatchObject({ outcome: 'failed', error: { code: 'tool_failed' } })
  })

  test.each<[string, ModelEvent]>([
    ['arguments of a call that was not started', { type: 'tool-input', callId: 'x', delta: '{' }],
    ['an event of unknown type', { type: 'banana' } as never],
  ])('and sends %s ends the run with llm_error', async (_, event) => {
    expect((await agent({ model: rawModel(() => streamOf(event)) }).stream('go').result).error).toMatchObject(
      {
        code: 'llm_error',
      },
    )
  })

  test('and sends empty deltas has them dropped', async () => {
    const model = rawModel(() =>
      streamOf(
        { type: 'text', text: '' },
        { type: 'reasoning', text: '' },
        { type: 'text', text: 'a' },
        done,
      ),
    )
    expect(typesOf(await collect(agent({ model }).stream('go')))).toEqual([
      'run-start',
      'round-start',
      'text',
      'round-end',
      'run-end',
    ])
  })

  test('and throws before it returns a stream fails the run, not stream()', async () => {
    const model: Model = {
      ...scriptedModel([]),
      stream: () => {
        throw new TypeError('no socket')
      },
    }
    expect((await agent({ model }).stream('go').result).error).toMatchObject({
      code: 'llm_error',
      message: 'no socket',
    })
  })
})
