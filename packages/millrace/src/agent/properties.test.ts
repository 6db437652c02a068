import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { isWhole, sized } from '../../../../test/size.ts'
import type { Model, RunEvent } from '../protocol/index.ts'
import { findUnpaired, textOf } from '../protocol/index.ts'
import type { FakeClock, ScriptRound, ScriptStep } from '../testing/index.ts'
import { fakeClock, scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { tool } from '../tools/index.ts'
import { of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions } from './options.ts'
import type { Run } from './run.ts'

// The invariants of the design, with random scripts, faults, speeds and cancellation times. The
// clock is fake, so a failing scenario fails again with the seed that fast-check prints.

interface Scenario {
  readonly rounds: readonly ScriptRound[]
  readonly paceMs: number
  readonly deltaChars: number
  readonly options: Partial<AgentOptions>
  readonly fallback: boolean
  readonly cancelAt: number | undefined
  readonly steerAt: number | undefined
}

// Most calls are valid, so that most runs make progress; the rest fail in every possible way.
const callStep: fc.Arbitrary<ScriptStep> = fc.record(
  {
    call: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('quick', 'slow', 'deaf', 'broken', 'careful', 'alone') },
      { weight: 1, arbitrary: fc.constant('missing') },
    ),
    raw: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('{"n":1}', '{"n":2}', '{"n":3}') },
      { weight: 2, arbitrary: fc.constantFrom('{"n":"x"}', '{"n":1', '', '[]', '{"n":1}}') },
    ),
    cut: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    id: fc.constantFrom('', 'same', 'other'),
  },
  { requiredKeys: ['call', 'raw', 'cut'] },
)

const step: fc.Arbitrary<ScriptStep> = fc.oneof(
  { weight: 5, arbitrary: fc.lorem({ maxCount: 4 }).map((text) => ({ text })) },
  { weight: 7, arbitrary: callStep },
  fc.constant({ reasoning: 'let me think', opaque: { provider: 'scripted', data: 'sig' } }),
  fc.nat({ max: 800 }).map((pause) => ({ pause })),
  fc.constantFrom<ScriptStep>(
    { error: { code: 'stream_error', message: 'reset' } },
    { error: { code: 'rate_limit', message: 'slow down', retryAfterMs: 300 } },
    { error: { code: 'auth', message: 'bad key' } },
    { hang: true },
    { end: true },
    { finish: 'length' },
    { usage: { outputTokens: 3 } },
  ),
)

const scenario: fc.Arbitrary<Scenario> = fc.record({
  rounds: fc.array(fc.array(step, { maxLength: 7 }), { minLength: 1, maxLength: 6 }),
  paceMs: fc.constantFrom(0, 0, 30),
  deltaChars: fc.integer({ min: 1, max: 9 }),
  options: fc.record(
    {
      maxRounds: fc.nat({ max: 6 }),
      onToolError: fc.constantFrom(
        'continue' as const,
        'continue' as const,
        'continue' as const,
        'fail' as const,
      ),
      toolConcurrency: fc.integer({ min: 1, max: 3 }),
      maxCallsPerRound: fc.integer({ min: 1, max: 4 }),
      runMs: fc.integer({ min: 100, max: 30_000 }),
      repeatLimits: fc.constantFrom(false as const, { warn: 2, block: 2 }),
    },
    { requiredKeys: [] },
  ),
  fallback: fc.boolean(),
  cancelAt: fc.option(fc.nat({ max: 4000 }), { nil: undefined, freq: 2 }),
  steerAt: fc.option(fc.nat({ max: 4000 }), { nil: undefined }),
})

interface ScenarioRun {
  readonly run: Run<unknown>
  readonly events: RunEvent[]
  readonly clock: FakeClock
  readonly models: ReturnType<typeof scriptedModel>[]
  readonly tools: Tool[]
  /** The input of each tool run. */
  readonly ran: { callId: string; n: unknown }[]
  readonly signals: AbortSignal[]
  readonly canceledAt: number | undefined
  readonly endedAt: number
}

/** Runs a scenario to its end; `reader` reads the events at its own pace. */
async function runScenario(
  scene: Scenario,
  reader?: (event: RunEvent, clock: FakeClock) => Promise<void> | void,
  onRun?: (run: Run<unknown>) => void,
): Promise<ScenarioRun> {
  const clock = fakeClock()
  const ran: ScenarioRun['ran'] = []
  const signals: AbortSignal[] = []
  const define = (name: string, more: object, run: (clock: FakeClock) => unknown = () => 'ok') =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      ...more,
      run: ({ n }, { callId, signal }) => {
        ran.push({ callId, n })
        signals.push(signal)
        return run(clock)
      },
    })
  const later = (ms: number) => (clock: FakeClock) =>
    new Promise((resolve) => clock.after(ms, () => resolve('late')))
  const tools = [
    define('quick', {}),
    define('slow', {}, later(500)),
    // Never finishes and ignores its signal.
    define('deaf', { timeoutMs: 3000 }, () => new Promise(() => {})),
    define('broken', {}, () => Promise.reject(new Error('out of order'))),
    define('careful', { approve: ({ n }: { n: number }) => n === 1 }),
    define('alone', { exclusive: true }, later(200)),
  ]
  const scripted = (rounds: readonly ScriptRound[], id: string) =>
    scriptedModel((_, index) => rounds[index] ?? 'That is all.', {
      id,
      clock,
      paceMs: scene.paceMs,
      deltaChars: scene.deltaChars,
    })
  const models = [
    scripted(scene.rounds, 'first'),
    ...(scene.fallback ? [scripted(scene.rounds.slice(1), 'second')] : []),
  ]
  const recordedModels = models.map(
    (model): Model => ({
      ...model,
      stream(request, options) {
        signals.push(options.signal)
        return model.stream(request, options)
      },
    }),
  )
  const run = agent({
    model: recordedModels,
    tools,
    clock,
    idleMs: 1000,
    firstEventMs: 1000,
    retry: { attempts: 2, baseMs: 20 },
    ...scene.options,
  }).stream('go')
  onRun?.(run)

  let canceledAt: number | undefined
  if (scene.steerAt !== undefined) clock.after(scene.steerAt, () => run.steer('one more thing'))
  if (scene.cancelAt !== undefined)
    clock.after(scene.cancelAt, () => {
      canceledAt = clock.now()
      run.cancel('enough')
    })
  const events: RunEvent[] = []
  const reading = (async () => {
    for await (const event of run) {
      events.push(event)
      await reader?.(event, clock)
    }
  })()
  let endedAt = Number.NaN
  const ended = run.result.then(() => {
    endedAt = clock.now()
  })
  await clock.until(ended)
  await clock.until(reading)
  // Whatever is still in progress must not change anything now.
  await clock.advance(10_000)
  return { run, events, clock, models, tools, ran, signals, canceledAt, endedAt }
}

function always(check: (played: ScenarioRun, scene: Scenario) => void | Promise<void>) {
  return fc.assert(
    fc.asyncProperty(scenario, async (scene) => check(await runScenario(scene), scene)),
    { numRuns: sized(250) },
  )
}

/** Events with joined deltas and without fields that differ from run to run. */
function comparable(events: readonly RunEvent[]): unknown[] {
  const out: { type: string; text?: string }[] = []
  for (const event of events) {
    const last = out.at(-1)
    const text = event.type === 'tool-input' ? event.delta : 'text' in event ? event.text : undefined
    if (text !== undefined && last?.type === event.type) last.text += text
    else if (text !== undefined) out.push({ type: event.type, text })
    else if (event.type === 'round-retry') out.push({ ...event, delayMs: 0 } as never)
    else out.push({ ...event, ...('runId' in event && { runId: 'R' }) })
  }
  return out
}

test('1: a started stream never throws and ends with exactly one run-end', () =>
  always(async ({ run, events }) => {
    expect(events[0]?.type).toBe('run-start')
    expect(of(events, 'run-start')).toHaveLength(1)
    expect(of(events, 'run-end')).toHaveLength(1)
    expect(events.at(-1)?.type).toBe('run-end')
    const { outcome, error } = await run.result
    expect(outcome).toBe(of(events, 'run-end')[0]?.outcome)
    expect(error !== undefined).toBe(outcome === 'failed' || outcome === 'canceled')
    // Every started round ends exactly once.
    expect(of(events, 'round-end').map(({ round }) => round)).toEqual(
      of(events, 'round-start').map(({ round }) => round),
    )
  }))

test('3: every call in the history has exactly one result, and every result has its call', () =>
  always(async ({ run, events, models }) => {
    for (const { requests } of models)
      for (const { messages } of requests) expect(findUnpaired(messages)).toBeUndefined()
    const { messages, outcome, approvals } = await run.result
    const waiting = new Set(approvals.map(({ callId }) => callId))
    expect(waiting.size > 0).toBe(outcome === 'suspended')
    const answered =
      waiting.size === 0
        ? messages
        : messages.slice(
            0,
            messages.findLastIndex((message) => message.role === 'assistant'),
          )
    expect(findUnpaired(answered)).toBeUndefined()
    const results = of(events, 'tool-result').map(({ callId }) => callId)
    expect(new Set(results).size).toBe(results.length)
  }))

test('4: a tool runs only if its arguments are closed, valid JSON and match its schema', () =>
  always(({ events, ran }) => {
    const calls = new Map(of(events, 'tool-call').map((call) => [call.callId, call]))
    for (const { callId, n } of ran) {
      const call = calls.get(callId)
      expect(call).toBeDefined()
      expect(call?.problem).toBeUndefined()
      expect(call?.input).toEqual({ n })
      expect(typeof n).toBe('number')
    }
    expect(ran.map(({ callId }) => callId)).toEqual(of(events, 'tool-start').map(({ callId }) => callId))
  }))

test('5: a run that is interrupted anywhere and resumed ends paired, and no started call runs again', () =>
  fc.assert(
    fc.asyncProperty(scenario, fc.nat(), async (scene, at) => {
      const { events, tools, ran } = await runScenario(scene)
      const log = events.slice(0, 1 + (at % (events.length - 1)))
      const startedBefore = new Set(of(log, 'tool-start').map(({ callId }) => callId))
      ran.length = 0
      const clock = fakeClock()
      const run = agent({ model: scriptedModel(() => 'That is all.'), tools, clock }).resume(log)
      const { messages, outcome } = await clock.until(run.result)
      expect(['completed', 'suspended', 'truncated']).toContain(outcome)
      if (outcome !== 'suspended') expect(findUnpaired(messages)).toBeUndefined()
      for (const { callId } of ran) expect(startedBefore).not.toContain(callId)
    }),
    { numRuns: sized(250) },
  ))

test('6: the speed of a reader changes neither what happens nor when', () =>
  fc.assert(
    fc.asyncProperty(scenario, fc.integer({ min: 1, max: 5000 }), async (scene, delayMs) => {
      // The jitter of retries is the only random part of a run.
      const random = Math.random
      Math.random = () => 0.5
      try {
        const alone = await runScenario(scene)
        const slowly = await runScenario(
          scene,
          (_, clock) => new Promise((resolve) => clock.after(delayMs, resolve)),
        )
        expect(slowly.endedAt).toBe(alone.endedAt)
        expect(comparable(slowly.events)).toEqual(comparable(alone.events))
      } finally {
        Math.random = random
      }
    }),
    { numRuns: sized(100) },
  ))

test('7: each delta is passed on unchanged: no snapshot grows with earlier deltas', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3000 }),
      fc.integer({ min: 1, max: 40 }),
      async (length, deltaChars) => {
        const words = 'x'.repeat(length)
        const clock = fakeClock()
        const model = scriptedModel(
          [[{ reasoning: words }, { call: 'note', input: { words } }, { text: words }], 'ok'],
          { deltaChars, clock },
        )
        const note = tool({
          name: 'note',
          description: 'Notes',
          input: z.object({ words: z.string() }),
          run: () => 'ok',
        })
        const run = agent({ model, tools: [note], clock }).stream('go')
        let [events, chars] = [0, 0]
        for await (const event of run) {
          if (event.type !== 'text' && event.type !== 'reasoning' && event.type !== 'tool-input') continue
          events++
          chars += event.type === 'tool-input' ? event.delta.length : event.text.length
        }
        expect(chars).toBe(3 * length + '{"words":""}'.length + 'ok'.length)
        expect(events).toBeLessThanOrEqual(3 * Math.ceil((length + 12) / deltaChars) + 2)
      },
    ),
    { numRuns: sized(50) },
  ))

test('8: only round-retract takes back what a reader has seen', () =>
  always(async ({ run, events }) => {
    let [shown, round] = ['', '']
    for (const event of events) {
      if (event.type === 'text') round += event.text
      if (event.type === 'round-retract') round = ''
      if (event.type === 'round-end') [shown, round] = [shown + round, '']
    }
    const { messages } = await run.result
    const texts = messages.filter((message) => message.role === 'assistant').map(textOf)
    expect(shown).toBe(texts.join(''))
  }))

test('text() repeats no text without a notice, and all readers agree on the final text', async () => {
  const notice = '\n[stream interrupted, answer restarts]\n'
  let retracted = 0
  await fc.assert(
    fc.asyncProperty(scenario, async (scene) => {
      const during: Promise<TextReadings>[] = []
      const { run, events } = await runScenario(scene, undefined, (run) => during.push(readText(run)))
      let [live, kept, round] = ['', '', '']
      for (const event of events) {
        if (event.type === 'text') round += event.text
        if (event.type === 'round-retract' && round) {
          live += round + notice
          round = ''
          retracted++
        }
        if (event.type === 'round-end') [live, kept, round] = [live + round, kept + round, '']
      }
      // While it runs, and afterwards, when the log returns joined deltas.
      for (const readings of [await Promise.all(during), [await readText(run)]])
        expect(readings).toEqual([{ live, held: kept, page: kept }])
      expect(kept.endsWith((await run.result).text)).toBe(true)
    }),
    { numRuns: sized(250) },
  )
  if (isWhole) expect(retracted).toBeGreaterThan(0)
})

interface TextReadings {
  readonly live: string
  readonly held: string
  /** The text of a client that handles onRetract. */
  readonly page: string
}

async function readText(run: Run<unknown>): Promise<TextReadings> {
  let page = ''
  const onRetract = (kept: string) => {
    page = kept
  }
  const [live, held] = await Promise.all([
    Array.fromAsync(run.text()),
    Array.fromAsync(run.text({ hold: true })),
    (async () => {
      for await (const words of run.text({ onRetract })) page += words
    })(),
  ])
  return { live: live.join(''), held: held.join(''), page }
}

test('10: cancel reaches everything, and the run ends at once', () =>
  always(async ({ run, events, signals, canceledAt, endedAt }) => {
    const { outcome } = await run.result
    if (outcome !== 'canceled') return
    expect(endedAt).toBe(canceledAt)
    const live = signals.filter((signal) => !signal.aborted)
    // The others belong to requests and tools that had finished before; an empty answer has
    // finished too.
    const empty = of(events, 'round-retry').filter(({ error }) => error.code === 'empty_answer').length
    const finished = of(events, 'round-end').filter(({ finish }) => finish !== 'interrupted').length + empty
    const answered = of(events, 'tool-result').filter(
      ({ output }) => !JSON.stringify(output).includes('Not finished'),
    ).length
    expect(live.length).toBeLessThanOrEqual(finished + answered)
    expect(events.at(-1)).toMatchObject({ error: { code: 'stream_interrupted', message: 'enough' } })
  }))
