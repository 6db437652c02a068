import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Clock, Model, ModelEvent } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import {
  collect,
  echo,
  failOnUnhandledRejections,
  gate,
  of,
  pairs,
  rawModel,
  refundOnApproval,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

/** A clock that counts the timers that have neither fired nor been canceled. */
function countingClock() {
  const clock = fakeClock()
  const pending = new Set<object>()
  const after: Clock['after'] = (ms, callback) => {
    const timer = {}
    pending.add(timer)
    const cancel = clock.after(ms, () => {
      pending.delete(timer)
      callback()
    })
    return () => {
      pending.delete(timer)
      cancel()
    }
  }
  return { ...clock, after, pending }
}

describe('time', () => {
  test('a model that sends no first event, or stops sending, times out and is retried', async () => {
    const clock = fakeClock()
    const model = scriptedModel([...script.hanging(), ...script.hanging('Hm'), 'Here'], { clock })
    const run = agent({ model, clock, firstEventMs: 1000, idleMs: 3000, retry: { baseMs: 0 } }).stream('go')
    const events = await clock.until(collect(run))
    expect(clock.now()).toBe(4000)
    expect(of(events, 'round-retry').map((event) => event.error.message)).toEqual([
      "the model 'scripted' sent no first event for 1000 ms",
      "the model 'scripted' sent no event for 3000 ms",
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Here' })
  })

  test('a slow model that keeps sending does not time out', async () => {
    const clock = fakeClock()
    const model = scriptedModel(script.text('x'.repeat(50)), { deltaChars: 1, paceMs: 900, clock })
    const run = agent({ model, clock, firstEventMs: 1000, idleMs: 1000 }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed' })
  })

  test('a model that ignores its signal does not delay the retry', async () => {
    const clock = fakeClock()
    const unresponsive: Model = {
      ...scriptedModel([]),
      id: 'deaf',
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
    }
    const run = agent({
      model: [unresponsive, scriptedModel(['ok'])],
      clock,
      firstEventMs: 10,
      retry: { attempts: 1 },
    }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ text: 'ok' })
  })

  test('the deadline of a run ends it, including its tools', async () => {
    const clock = fakeClock()
    const slow = gate()
    const run = agent({
      model: scriptedModel(script.tool('gate', {}, 'ok')),
      tools: [slow.tool],
      clock,
      runMs: 5000,
    }).stream('go')
    const result = await clock.until(run.result)
    expect(clock.now()).toBe(5000)
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'timeout', retryable: false } })
    expect(pairs(result)[0]?.[1]).toMatch(/did not finish within 5000 ms/)
    expect((await slow.started).aborted).toBe(true)
  })

  test("a tool's timeout is reported to the model, and its late result is ignored", async () => {
    const clock = fakeClock()
    const slow = gate()
    const run = agent({
      model: scriptedModel(script.tool('gate', {}, 'ok')),
      tools: [slow.tool],
      clock,
      toolTimeoutMs: 2000,
    }).stream('go')
    const result = await clock.until(run.result)
    slow.open('late')
    expect(clock.now()).toBe(2000)
    expect(pairs(result)).toEqual([['call_1', 'The tool did not finish within 2000 ms and was stopped.']])
  })

  test('after the first event, idleMs applies', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ pause: 5000 }, { text: 'Hi' }, { hang: true }]], { clock })
    const run = agent({ model, clock, firstEventMs: 10_000, idleMs: 1000, retry: { attempts: 1 } }).stream(
      'go',
    )
    expect(await clock.until(run.result)).toMatchObject({
      outcome: 'failed',
      error: { code: 'timeout', message: expect.stringMatching(/sent no event for 1000 ms/) },
    })
    expect(clock.now()).toBe(6000)
  })

  test('a first event may take longer than idleMs, or forever; then idleMs applies', async () => {
    for (const firstEventMs of [5000, Number.POSITIVE_INFINITY]) {
      const clock = fakeClock()
      const model = rawModel(async function* () {
        await new Promise<void>((resolve) => void clock.after(2500, resolve))
        yield { type: 'text', text: 'Hm' }
        await new Promise(() => {})
      })
      const limits = { firstEventMs, idleMs: 1000, retry: { attempts: 1 } }
      const run = agent({ model, clock, ...limits }).stream('go')
      const { error } = await clock.until(run.result)
      expect(error?.message).toBe("the model 'raw' sent no event for 1000 ms")
      expect(clock.now()).toBe(3500)
    }
  })

  test('runMs of a run overrides that of the agent', async () => {
    const clock = fakeClock()
    const model = scriptedModel(script.hanging())
    const run = agent({ model, clock, runMs: 5000 }).stream('go', { runMs: 200 })
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
    expect(clock.now()).toBe(200)
  })

  test.each<[string, readonly ScriptRound[], (run: { cancel(): void }) => void]>([
    ['completed', script.tool('echo', { value: 'x' }, 'Done.'), () => {}],
    ['failed', script.failing({ code: 'auth' }, 'x'), () => {}],
    ['retried', [...script.failing({ code: 'overloaded' }, 'x'), 'Done.'], () => {}],
    ['canceled', script.hanging('x'), (run) => run.cancel()],
    [
      'canceled while it waits for a retry',
      script.failing({ code: 'rate_limit', retryAfterMs: 900 }),
      (run) => run.cancel(),
    ],
    ['canceled with a running tool', script.tool('gate', {}, 'x'), (run) => run.cancel()],
    ['suspended', script.tool('refund', { amount: 1 }, 'x'), () => {}],
  ])('no timer is left after a run that was %s', async (_, rounds, stop) => {
    const clock = countingClock()
    const model = scriptedModel(rounds)
    const run = agent({ model, clock, runMs: 60_000, tools: [echo, gate().tool, refundOnApproval] }).stream(
      'go',
    )
    await clock.advance(100)
    stop(run)
    await clock.until(run.result)
    await clock.advance(0)
    expect(clock.pending.size).toBe(0)
  })
})

describe('without awaiting anything', () => {
  // Real time, since the question is whether timers get their turn.
  async function* babble(signal: AbortSignal): AsyncGenerator<ModelEvent> {
    while (!signal.aborted) yield { type: 'text', text: 'x' }
  }

  test('a model is stopped by cancel() from a timer', async () => {
    const model = rawModel((_, signal) => babble(signal))
    const run = agent({ model }).stream('go')
    setTimeout(() => run.cancel('enough'), 0)
    expect(await run.result).toMatchObject({ outcome: 'canceled', error: { message: 'enough' } })
    expect(model.signals[0]?.aborted).toBe(true)
  })

  test('a model is stopped by runMs', async () => {
    const model = rawModel((_, signal) => babble(signal))
    const run = agent({ model, runMs: 1 }).stream('go')
    expect(await run.result).toMatchObject({ outcome: 'failed', error: { code: 'timeout' } })
    expect(model.signals[0]?.aborted).toBe(true)
  })

  test('a tool that yields forever is stopped by its timeout', async () => {
    let closed = false
    const endless = tool({
      name: 'endless',
      description: 'Yields',
      input: z.object({}),
      timeoutMs: 1,
      async *run() {
        try {
          for (;;) yield 1
        } finally {
          closed = true
        }
      },
    })
    const run = agent({ model: scriptedModel(script.tool('endless', {}, 'Done.')), tools: [endless] }).stream(
      'go',
    )
    expect(pairs(await run.result)).toEqual([
      ['call_1', 'The tool did not finish within 1 ms and was stopped.'],
    ])
    expect(closed).toBe(true)
  })

  test('a tool that yields forever without awaiting is stopped too', async () => {
    const endless = tool({
      name: 'endless',
      description: 'Yields',
      input: z.object({}),
      timeoutMs: 1,
      *run() {
        for (;;) yield 1
      },
    })
    const run = agent({ model: scriptedModel(script.tool('endless', {}, 'Done.')), tools: [endless] }).stream(
      'go',
    )
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ status: 'timeout' }])
  })
})
