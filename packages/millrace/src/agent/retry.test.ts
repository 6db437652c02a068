import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Model, RunEvent } from '../protocol/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import {
  callEcho,
  callOf,
  collect,
  connectionReset,
  done,
  echo,
  failOnUnhandledRejections,
  gate,
  of,
  pairs,
  rawModel,
  typesOf,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'

failOnUnhandledRejections()

afterEach(() => void vi.restoreAllMocks())

describe('failures', () => {
  test('a failure before anything was shown is retried after a delay with jitter, and nothing is retracted', async () => {
    const clock = fakeClock()
    const model = scriptedModel(
      [...script.failing(connectionReset), ...script.failing(connectionReset), 'at last'],
      { clock },
    )
    const run = agent({ model, clock, retry: { baseMs: 1000 } }).stream('go')
    const events = await clock.until(collect(run))
    const retries = of(events, 'round-retry')
    expect(retries).toMatchObject([
      { round: 1, attempt: 2, error: { code: 'stream_error' } },
      { round: 1, attempt: 3 },
    ])
    expect(retries[0]?.delayMs).toBeGreaterThanOrEqual(500)
    expect(retries[0]?.delayMs).toBeLessThanOrEqual(1000)
    expect(retries[1]?.delayMs).toBeGreaterThanOrEqual(1000)
    expect(clock.now()).toBe((retries[0]?.delayMs ?? 0) + (retries[1]?.delayMs ?? 0))
    expect(typesOf(events)).not.toContain('round-retract')
    expect(await run.result).toMatchObject({ text: 'at last', rounds: 1 })
  })

  test("the provider's retry delay is honored, unless it is too long", async () => {
    const clock = fakeClock()
    const limited = (retryAfterMs: number) =>
      script.failing({ code: 'rate_limit', message: 'slow down', retryAfterMs })
    const patient = agent({ model: scriptedModel([...limited(20_000), 'ok']), clock }).stream('go')
    expect(await clock.until(patient.result)).toMatchObject({ outcome: 'completed' })
    expect(clock.now()).toBe(20_000)
    const hopeless = agent({ model: scriptedModel([...limited(3_600_000), 'ok']), clock }).stream('go')
    expect((await hopeless.result).error).toMatchObject({ code: 'rate_limit' })
    expect(clock.now()).toBe(20_000)
  })

  test('a permanent error is not retried', async () => {
    const model = scriptedModel([...script.failing({ code: 'auth', message: 'bad key' }), 'never asked for'])
    expect((await agent({ model }).stream('go').result).error).toMatchObject({ code: 'auth' })
    expect(model.requests).toHaveLength(1)
  })

  test('attempts are limited, and the last error is reported', async () => {
    const clock = fakeClock()
    const model = scriptedModel(() => [{ error: connectionReset }])
    const run = agent({ model, clock, retry: { attempts: 4 } }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({
      outcome: 'failed',
      error: { message: 'connection reset' },
    })
    expect(model.requests).toHaveLength(4)
  })

  test('after text was shown, the round is retracted and generated again', async () => {
    const clock = fakeClock()
    const model = scriptedModel([...script.failing(connectionReset, 'Half an ans'), 'A whole answer'])
    const run = agent({ model, clock }).stream('go')
    const events = await clock.until(collect(run))
    expect(typesOf(events)).toEqual([
      'run-start',
      'round-start',
      'text',
      'round-retract',
      'round-retry',
      'text',
      'text',
      'round-end',
      'run-end',
    ])
    expect(of(events, 'round-retract')).toEqual([
      {
        type: 'round-retract',
        round: 1,
        reason: 'connection reset',
        failed: { model: 'scripted', estimate: { inputTokens: 1, outputTokens: 3 } },
      },
    ])
    const { messages } = await run.result
    expect(messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'A whole answer' }],
    })
  })

  test('a failure after a tool has started keeps the closed part of the round and does not run the tool again', async () => {
    const clock = fakeClock()
    const slow = gate()
    const model = scriptedModel([
      [
        { text: 'Starting. ' },
        { call: 'gate' },
        { call: 'echo', raw: '{"value":"un', cut: true },
        { error: connectionReset },
      ],
      'Finished.',
    ])
    const run = agent({ model, tools: [slow.tool, echo], clock }).stream('go')
    await clock.advance(5000)
    slow.open('opened')
    const events = await clock.until(collect(run))
    expect(slow.runs).toBe(1)
    expect(typesOf(events)).not.toContain('round-retract')
    expect(of(events, 'round-end').map((event) => event.finish)).toEqual(['interrupted', 'stop'])
    expect(model.requests[1]?.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Starting. ' },
          { type: 'tool-call', callId: 'call_1', name: 'gate', input: {} },
        ],
      },
      { role: 'tool', callId: 'call_1', name: 'gate', content: [{ type: 'text', text: 'opened' }] },
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Finished.' })
  })

  test('a round retracted while its call waited to run drops that call', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<void>()
    const model = scriptedModel([
      [{ call: 'echo', input: { value: 'never' } }, { error: connectionReset }],
      callEcho('once'),
      'ok',
    ])
    let asks = 0
    const run = agent({
      model,
      tools: [echo],
      clock,
      beforeCall: () => (asks++ === 0 ? asked.promise : undefined),
    }).stream('go')
    await clock.advance(10_000)
    asked.resolve()
    const events = await clock.until(collect(run))
    expect(of(events, 'tool-start')).toHaveLength(1)
    expect(pairs(await run.result).map(([, text]) => text)).toEqual(['once'])
  })

  test('a stream that ends without its terminal event is a failure', async () => {
    const clock = fakeClock()
    const model = scriptedModel([[{ text: 'And' }, { end: true }], 'And so on'])
    const events = await clock.until(collect(agent({ model, clock }).stream('go')))
    expect(of(events, 'round-retry')).toMatchObject([{ error: { code: 'stream_error', retryable: true } }])
  })
})

describe('retries', () => {
  const failing = { error: { code: 'overloaded', message: 'busy' } } as const
  const delays = (events: readonly RunEvent[]) => of(events, 'round-retry').map(({ delayMs }) => delayMs)

  async function play(models: Model | Model[], retry: object, random: number, more: object = {}) {
    vi.spyOn(Math, 'random').mockReturnValue(random)
    const clock = fakeClock()
    const run = agent({ model: models, clock, retry, ...more }).stream('go')
    await clock.until(run.result)
    return { events: await collect(run), clock, run }
  }

  test.each([
    [0, [50, 100, 200, 250, 250]],
    [1 - 2 ** -53, [100, 200, 400, 500, 500]],
  ])('wait between half and all of a delay that doubles up to its limit (%d)', async (random, expected) => {
    const { events } = await play(
      scriptedModel([...Array.from({ length: 5 }, () => [failing]), 'Done.']),
      { attempts: 6, baseMs: 100, maxDelayMs: 500 },
      random,
    )
    const waited = delays(events)
    expect(waited).toHaveLength(5)
    for (const [index, ms] of waited.entries()) expect(ms).toBeCloseTo(expected[index] as number, 6)
  })

  test('start over for the next model', async () => {
    const { events } = await play(
      [
        scriptedModel(() => [failing], { id: 'a' }),
        scriptedModel([[failing], [failing], 'Done.'], { id: 'b' }),
      ],
      { attempts: 3, baseMs: 100 },
      0,
    )
    expect(of(events, 'round-retry').map(({ model, delayMs }) => [model, delayMs])).toEqual([
      ['a', 50],
      ['a', 100],
      ['b', 0],
      ['b', 50],
      ['b', 100],
    ])
  })

  test('start over after a success', async () => {
    const { events, run } = await play(
      scriptedModel([
        [failing],
        [failing],
        [{ call: 'echo', input: { value: 'x' } }],
        [failing],
        [failing],
        'Done.',
      ]),
      { attempts: 3, baseMs: 100 },
      0,
      { tools: [echo] },
    )
    expect(delays(events)).toEqual([50, 100, 50, 100])
    expect((await run.result).outcome).toBe('completed')
  })

  test('also wait after a round that was kept', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0)
    const clock = fakeClock()
    const times: number[] = []
    const model = scriptedModel((_, index) => {
      times.push(clock.now())
      return index === 0 ? [{ call: 'echo', input: { value: 'x' } }, failing] : 'Done.'
    })
    const run = agent({ model, tools: [echo], clock, retry: { baseMs: 1000 } }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed', rounds: 2 })
    expect(times).toEqual([0, 500])
  })

  test('ignore late events of the previous attempt, whose request is aborted', async () => {
    const clock = fakeClock()
    const late = Promise.withResolvers<void>()
    const model = rawModel((index) =>
      index === 0
        ? (async function* () {
            await late.promise
            yield { type: 'text', text: 'late' }
            yield callOf('late')
            yield done
          })()
        : (async function* () {
            late.resolve()
            await clock.turn()
            yield { type: 'text', text: 'On time.' }
            yield done
          })(),
    )
    const run = agent({ model, tools: [echo], clock, firstEventMs: 1000 }).stream('go')
    expect(await clock.until(run.result)).toMatchObject({ outcome: 'completed', text: 'On time.' })
    await clock.advance(10_000)
    expect(model.signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(typesOf(await collect(run))).not.toContain('tool-call')
  })

  test('a hook that returns while a retracted round waits for its retry starts nothing', async () => {
    const clock = fakeClock()
    const asked = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    let asks = 0
    const model = scriptedModel(
      [[{ call: 'echo', input: { value: 'x' } }, { pause: 10 }, failing], 'Done.'],
      { clock },
    )
    const run = agent({
      model,
      tools: [echo],
      clock,
      retry: { baseMs: 1000 },
      beforeCall: () => {
        asks++
        asked.resolve()
        return release.promise
      },
    }).stream('go')
    await asked.promise
    await clock.advance(100)
    release.resolve()
    const result = await clock.until(run.result)
    const events = await collect(run)
    expect(asks).toBe(1)
    expect(typesOf(events)).toContain('round-retract')
    expect(of(events, 'tool-start')).toEqual([])
    expect(of(events, 'tool-result')).toEqual([])
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })
})
