import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { Model } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { collect, echo, failOnUnhandledRejections, gate, of, pairs, rawModel } from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

test('canceling closes the stream with stream_interrupted as its last event', async () => {
  const run = agent({ model: scriptedModel(script.hanging('Half a')) }).stream('hi')
  const reader = run[Symbol.asyncIterator]()
  const seen = [await reader.next(), await reader.next(), await reader.next()]
  expect(seen.at(-1)?.value).toMatchObject({ type: 'text', text: 'Half a' })
  run.cancel('changed my mind')
  expect((await reader.next()).value).toMatchObject({ type: 'round-end', finish: 'interrupted' })
  expect((await reader.next()).value).toMatchObject({
    type: 'run-end',
    outcome: 'canceled',
    error: { code: 'stream_interrupted', message: 'changed my mind' },
  })
  expect(await reader.next()).toEqual({ done: true, value: undefined })
  expect(await run.result).toMatchObject({
    outcome: 'canceled',
    text: 'Half a',
    messages: [{}, { role: 'assistant', content: [{ text: 'Half a' }] }],
  })
})

test('cancel reaches the model and every tool, and does not wait for one that ignores it', async () => {
  const slow = gate()
  let modelSignal: AbortSignal | undefined
  const inner = scriptedModel([[{ call: 'gate' }, { hang: true }]])
  const model: Model = {
    ...inner,
    stream(request, options) {
      modelSignal = options.signal
      return inner.stream(request, options)
    },
  }
  const run = agent({ model, tools: [slow.tool] }).stream('go')
  const toolSignal = await slow.started
  run.cancel('enough')
  // No timer and no turn needed: the end is in the log when cancel() returns.
  const late = collect(run)
  slow.open('too late')
  const events = await late
  expect([modelSignal?.aborted, toolSignal.aborted]).toEqual([true, true])
  expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'canceled' })
  expect(pairs(await run.result)).toEqual([['call_1', 'Not finished: enough.']])
  await new Promise(setImmediate)
  expect(await collect(run)).toEqual(events)
})

test('canceling a run that has ended changes nothing', async () => {
  const run = agent({ model: scriptedModel(script.text('done')) }).stream('hi')
  await run.result
  run.cancel()
  expect((await collect(run)).at(-1)).toMatchObject({ outcome: 'completed' })
})

describe('canceling', () => {
  test('from inside model.stream() aborts that request', async () => {
    const model = rawModel((_, signal) => {
      run.cancel('never mind')
      return scriptedModel(script.hanging()).stream({ messages: [], tools: [], settings: {} }, { signal })
    })
    const run = agent({ model }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'canceled', error: { message: 'never mind' } })
    await new Promise((resolve) => setImmediate(resolve))
    expect(model.signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  test('or failing a run puts the reason into the interrupted round', async () => {
    const canceled = agent({ model: scriptedModel(script.hanging('Half')) }).stream('go')
    for await (const event of canceled) if (event.type === 'text') break
    canceled.cancel('enough')
    expect(of(await collect(canceled), 'round-end')).toMatchObject([
      { finish: 'interrupted', error: { code: 'stream_interrupted', message: 'enough' } },
    ])
    const failed = agent({
      model: scriptedModel(script.failing({ code: 'auth', message: 'bad key' }, 'Half')),
    })
    expect(of(await collect(failed.stream('go')), 'round-end')).toMatchObject([
      { finish: 'interrupted', error: { code: 'auth', message: 'bad key' } },
    ])
    const kept = agent({
      model: scriptedModel([
        [{ call: 'echo', input: { value: 'x' } }, { error: { code: 'stream_error', message: 'reset' } }],
        'Done.',
      ]),
      tools: [echo],
      retry: { baseMs: 0 },
    })
    expect(of(await collect(kept.stream('go')), 'round-end')).toMatchObject([
      { finish: 'interrupted', error: { code: 'stream_error', message: 'reset' } },
      { finish: 'stop' },
    ])
  })
})

test("the caller's signal cancels a run, and the run removes its listener at the end", async () => {
  const controller = new AbortController()
  const one = agent({ model: scriptedModel(script.hanging()) })
  const run = one.stream('hi', { signal: controller.signal })
  controller.abort(new Error('page closed'))
  expect((await run.result).error).toMatchObject({ code: 'stream_interrupted', message: 'page closed' })
  const already = one.stream('hi', { signal: AbortSignal.abort() })
  expect(await already.result).toMatchObject({ outcome: 'canceled', rounds: 0 })
})

describe("the caller's signal", () => {
  test.each<[string, (controller: AbortController) => void, string]>([
    ['a string', (controller) => controller.abort('closed the tab'), 'closed the tab'],
    ['an error', (controller) => controller.abort(new Error('shutting down')), 'shutting down'],
    ['nothing', (controller) => controller.abort(), 'canceled by the caller'],
  ])('aborted with %s becomes the error message of the run', async (_, abort, message) => {
    for (const before of [true, false]) {
      const controller = new AbortController()
      if (before) abort(controller)
      const run = agent({ model: scriptedModel(script.hanging()) }).stream('go', {
        signal: controller.signal,
      })
      if (!before) abort(controller)
      const events = await collect(run)
      expect(events.at(-1)).toMatchObject({
        outcome: 'canceled',
        error: { code: 'stream_interrupted', message },
      })
      expect(events[0]?.type).toBe('run-start')
    }
  })

  test('that times out becomes the error message too', async () => {
    const controller = new AbortController()
    const run = agent({ model: scriptedModel(script.hanging()) }).stream('go', { signal: controller.signal })
    controller.abort(new DOMException('The operation timed out.', 'TimeoutError'))
    expect((await run.result).error?.message).toBe('The operation timed out.')
  })

  test('is ignored after the run has ended', async () => {
    const { signal } = new AbortController()
    const run = agent({
      model: scriptedModel(script.tool('echo', { value: 'x' }, 'Done.')),
      tools: [echo],
    }).stream('go', { signal })
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    await run.result
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
