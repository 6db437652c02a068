import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { Model, ModelEvent } from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { fallback, fromGenerate } from './index.ts'

const request = { messages: [{ role: 'user' as const, content: 'hi' }], tools: [], settings: {} }

async function drain(model: Model, signal = new AbortController().signal): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, { signal })) events.push(event)
  return events
}

const textIn = (events: readonly ModelEvent[]) =>
  events.map((event) => (event.type === 'text' ? event.text : '')).join('')

describe('in an agent', () => {
  test('temporary failures are retried with the same model, then the next one is tried', async () => {
    const busy = { code: 'overloaded', message: 'busy' } as const
    const first = scriptedModel([[{ error: busy }], [{ error: busy }]], { id: 'first' })
    const second = scriptedModel(['hello'], { id: 'second' })
    const run = agent({ model: fallback([first, second]), retry: { attempts: 2, baseMs: 0 } }).stream('hi')
    const events = await Array.fromAsync(run)
    expect(events.filter(({ type }) => type === 'round-retry')).toMatchObject([
      { model: 'first', error: { code: 'overloaded' } },
      { model: 'second' },
    ])
    expect((await run.result).text).toBe('hello')
    expect(first.requests).toHaveLength(2)
  })

  test('output before a failure is retracted', async () => {
    const first = scriptedModel(script.failing({ code: 'auth', message: 'no' }, 'Half an an'), {
      id: 'first',
    })
    const run = agent({ model: fallback([first, scriptedModel(['Whole.'])]) }).stream('hi')
    const types = (await Array.fromAsync(run)).map(({ type }) => type)
    expect(types.filter((type) => type === 'round-retract')).toHaveLength(1)
    expect((await run.result).text).toBe('Whole.')
  })

  test('nested lists are flattened', async () => {
    const dead = () => scriptedModel(script.failing({ code: 'auth', message: 'no' }))
    const model = fallback([fallback([dead(), dead()]), fallback([dead(), scriptedModel(['at last'])])])
    expect((await agent({ model }).run('hi')).text).toBe('at last')
  })

  test('a list from prepareRound falls back too', async () => {
    const dead = scriptedModel(script.failing({ code: 'auth', message: 'no' }))
    const model = fallback([dead, scriptedModel(['from the list'])])
    const run = agent({ model: scriptedModel([]), prepareRound: () => ({ model }) }).stream('hi')
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'from the list' })
  })

  test('requireStreaming checks each model of the list', () => {
    const whole = scriptedModel([], { id: 'whole', capabilities: { streaming: false } })
    const model = fallback([scriptedModel([]), whole])
    expect(() => agent({ model, requireStreaming: true }).stream('hi')).toThrow(
      expect.objectContaining({
        code: 'streaming_not_supported',
        message: expect.stringContaining("'whole'"),
      }),
    )
    expect(() => agent({ model }).stream('hi')).not.toThrow()
  })

  test('requireStreaming also checks a model from prepareRound', async () => {
    const whole = scriptedModel(['no'], { id: 'whole', capabilities: { streaming: false } })
    const run = agent({
      model: scriptedModel([]),
      requireStreaming: true,
      prepareRound: () => ({ model: whole }),
    }).stream('hi')
    expect(await run.result).toMatchObject({
      outcome: 'failed',
      error: { code: 'streaming_not_supported' },
    })
    expect(whole.requests).toEqual([])
  })
})

describe('without an agent', () => {
  const failing = () => scriptedModel(script.failing('no'))

  test('moves on to the next model if nothing was emitted', async () => {
    expect(textIn(await drain(fallback([failing(), failing(), scriptedModel(['hello'])])))).toBe('hello')
  })

  test('throws the error of the last model', async () => {
    const last = scriptedModel(script.failing({ code: 'auth', message: 'the last' }))
    await expect(drain(fallback([failing(), last]))).rejects.toMatchObject({
      code: 'auth',
      message: 'the last',
    })
  })

  test('does not move on after output was emitted', async () => {
    const second = scriptedModel(['never'])
    const first = scriptedModel(script.failing('broken', 'words'))
    await expect(drain(fallback([first, second]))).rejects.toThrow('broken')
    expect(second.requests).toEqual([])
  })

  test('does not continue after an abort', async () => {
    const controller = new AbortController()
    const second = scriptedModel(['never'])
    const pending = drain(fallback([scriptedModel(script.hanging()), second]), controller.signal)
    controller.abort()
    await expect(pending).rejects.toThrow()
    expect(second.requests).toEqual([])
  })

  test('has the capabilities that all models share', () => {
    const blind = scriptedModel([], { id: 'blind', capabilities: { images: false } })
    const model = fallback([scriptedModel([], { id: 'keen' }), blind])
    expect(model).toMatchObject({ id: 'keen or blind', capabilities: { images: false, tools: true } })
  })

  test('a model that ends without any event is skipped', async () => {
    const silent: Model = { ...fromGenerate(() => ''), async *stream() {} }
    expect(textIn(await drain(fallback([silent, fromGenerate(() => 'hello')])))).toBe('hello')
  })
})

test.each([
  ['nothing', undefined, 'takes an array of models, not undefined'],
  ['an empty list', [], 'needs at least one model'],
  ['names', ['gpt'], 'it contains a string'],
])('%s is rejected', (_, models, message) => {
  expect(() => fallback(models as never)).toThrow(MillraceError)
  expect(() => fallback(models as never)).toThrow(message)
})
