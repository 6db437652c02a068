import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ModelRequest, RunEvent, Telemetry } from '../protocol/index.ts'
import { isTraceContext } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, gate, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions, RunOptions } from './options.ts'
import type { RecordedRun } from './recording-telemetry.test-kit.ts'
import { recordingTelemetry, traceparent } from './recording-telemetry.test-kit.ts'

const retry = { baseMs: 0 }
const talk = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'Who am I?' },
] as const

/** The only recorded run. */
function only(runs: readonly RecordedRun[]): RecordedRun {
  expect(runs).toHaveLength(1)
  return runs[0] as RecordedRun
}

const callsOf = ({ records }: RecordedRun) => records.filter((one) => /^(call|end) /.test(one))

describe('telemetry of a run', () => {
  test('gets the start and each event', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const run = agent({ name: 'guide', model: scriptedModel(script.text('Left.')), telemetry }).stream(
      'Where?',
      {
        conversation: 'the way',
      },
    )
    const events = await collect(run)
    const recorded = only(runs)
    expect(recorded).toMatchObject({
      runId: run.id,
      agent: 'guide',
      conversation: 'the way',
      inThread: false,
    })
    expect(recorded.parentTraces).toEqual([])
    expect(recorded).not.toHaveProperty('resumes')
    expect(recorded.events).toEqual(events)
    expect(of(events, 'run-start')).toMatchObject([{ trace: recorded.trace }])
    expect(isTraceContext(recorded.trace)).toBe(true)
  })

  test('gets the start before any reader, and each event at once', async () => {
    const { telemetry, runs } = recordingTelemetry()
    agent({ model: scriptedModel(script.hanging('I could')), telemetry })
      .stream('Go.')
      .cancel('enough')
    expect(only(runs).records).toEqual(['run-start', 'run-end'])
    expect(only(runs).conversation).toBeUndefined()
  })

  test('adds no trace to the log if it has none', async () => {
    const { telemetry } = recordingTelemetry()
    const traceless: Telemetry = { startRun: (run) => ({ ...telemetry.startRun(run), trace: undefined }) }
    for (const options of [{}, { telemetry: traceless }, { telemetry: [] }]) {
      const run = agent({ model: scriptedModel(script.text('Yes.')), ...options }).stream('Hi')
      expect(of(await collect(run), 'run-start')[0]).not.toHaveProperty('trace')
    }
  })

  test('gets every attempt of a round, and retractions', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const broken: ScriptRound = [{ text: 'I thi' }, { error: { code: 'overloaded' } }]
    const model = scriptedModel([broken, [{ error: { code: 'auth' } }]], { id: 'first' })
    const second = scriptedModel(['Yes.'], { id: 'second' })
    await agent({ model: [model, second], retry, telemetry }).run('Well?')
    const recorded = only(runs)
    expect(recorded.records).toEqual([
      'run-start',
      'round-start',
      'call 1.1',
      'text',
      'end 1.1: overloaded',
      'round-retract',
      'round-retry',
      'call 1.2',
      'end 1.2: auth',
      'round-retry',
      'call 1.3',
      'text',
      'end 1.3: stop',
      'round-end',
      'run-end',
    ])
    expect(recorded.calls.map(({ model, runId }) => [model.id, runId])).toEqual([
      ['first', recorded.runId],
      ['first', recorded.runId],
      ['second', recorded.runId],
    ])
    expect(recorded.calls[2]?.request).toBe(second.requests[0])
    expect(recorded.calls[0]).not.toHaveProperty('aside')
  })

  test('gets the outcome of a model call: its done event or its error', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const usage = { inputTokens: 3, outputTokens: 4 }
    const model = scriptedModel([[{ text: 'Yes.' }, { usage }, { finish: 'length' }]])
    await agent({ model, telemetry }).run('Well?')
    expect(only(runs).calls).toMatchObject([{ end: { done: { finish: 'length', usage } } }])
  })

  test('gets the end of the model call before the end of a canceled run', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const held = gate()
    const model = scriptedModel([[{ call: 'gate' }, { text: 'One moment.' }, { hang: true }]])
    const run = agent({ model, tools: [held.tool], telemetry }).stream('Go.')
    await held.started
    run.cancel('enough')
    expect(only(runs).records.slice(-4)).toEqual([
      'end 1.1: stream_interrupted',
      'round-end',
      'tool-result',
      'run-end',
    ])
    await run.result
  })

  test('gets a plan like a run without tools', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const model = scriptedModel([[{ call: 'echo', input: { value: 'a' } }]])
    await agent({ model, tools: [echo], telemetry }).plan('Go.').result
    expect(only(runs).records).toEqual(
      expect.arrayContaining(['run-start', 'tool-call', 'end 1.1: tool-calls']),
    )
    expect(only(runs).records).not.toContain('tool-start')
    expect(only(runs).records.at(-1)).toBe('run-end')
  })

  test('gets side questions, each with its own attempts', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const rounds: ScriptRound[] = [
      [{ error: { code: 'context_overflow' } }],
      [{ error: { code: 'overloaded' } }],
      'They greeted each other.',
      'You are Ada.',
    ]
    const model = scriptedModel(rounds)
    expect((await agent({ model, retry, telemetry }).run(talk)).text).toBe('You are Ada.')
    expect(callsOf(only(runs))).toEqual([
      'call 1.1',
      'end 1.1: context_overflow',
      'call aside 1.1',
      'end aside 1.1: overloaded',
      'call aside 1.2',
      'end aside 1.2: stop',
      'call 1.2',
      'end 1.2: stop',
    ])
    expect(only(runs).calls.map(({ aside }) => aside)).toEqual([undefined, true, true, undefined])
  })
})

describe('a run that resumes another', () => {
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes',
    input: z.object({}),
    approve: true,
    run: () => 'wiped',
  })
  const suspended = (telemetry?: Telemetry) =>
    agent({ model: scriptedModel(script.tool('wipe', {}, 'Wiped.')), tools: [wipe], telemetry }).stream(
      'Go.',
      {
        conversation: 'the desk',
      },
    )
  const decisions = [{ callId: 'call_1', approved: true }]

  test('reports that run and its trace', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const first = suspended(telemetry)
    await first.result
    const second = first.resume(decisions)
    expect((await second.result).outcome).toBe('completed')
    const [before, after] = runs
    expect(before).not.toHaveProperty('resumes')
    expect(after).toMatchObject({
      runId: second.id,
      resumes: { runId: first.id, trace: before?.trace },
      conversation: 'the desk',
    })
    expect(after?.trace).not.toBe(before?.trace)
  })

  test('finds them in the log, also in another process, and also for an interrupted run', async () => {
    const events: RunEvent[] = JSON.parse(
      JSON.stringify(await collect(suspended(recordingTelemetry().telemetry))),
    )
    const { telemetry, runs } = recordingTelemetry({ firstTrace: 50 })
    const again = agent({ model: scriptedModel(['Wiped.']), tools: [wipe], telemetry })
    const [start] = of(events, 'run-start')
    const resumed = again.resume(events, { decisions, conversation: 'the desk, later' })
    await resumed.result
    expect(runs[0]?.resumes).toMatchObject({
      runId: start?.runId,
      trace: traceparent(1),
      calls: [{ name: 'wipe' }],
    })
    expect(runs[0]?.conversation).toBe('the desk, later')

    const cut = events.slice(0, -3)
    const third = again.resume(cut)
    third.cancel()
    expect(runs[1]?.resumes).toMatchObject({ runId: start?.runId, trace: traceparent(1) })
    // Resumed again: the previous run is the latest one.
    agent({ model: scriptedModel(['Wiped.']), tools: [wipe], telemetry })
      .resume([...events, ...(await collect(resumed)).slice(0, -1)])
      .cancel()
    expect(runs[2]?.resumes).toEqual({ runId: resumed.id, trace: traceparent(50), calls: [] })
  })

  test('has no trace of a run without telemetry', async () => {
    const events = await collect(suspended())
    const { telemetry, runs } = recordingTelemetry()
    agent({ model: scriptedModel(['Wiped.']), tools: [wipe], telemetry })
      .resume(events, { decisions })
      .cancel()
    expect(runs[0]?.resumes).toMatchObject({ runId: of(events, 'run-start')[0]?.runId, trace: undefined })
  })
})

describe('an agent as a tool', () => {
  const outer = (tools: AgentOptions['tools'], telemetry?: Telemetry) =>
    agent({
      name: 'boss',
      model: scriptedModel(script.tool('helper', { prompt: 'Help.' }, 'Done.')),
      tools,
      telemetry,
    })
  const inner = (telemetry?: Telemetry) =>
    agent({ name: 'helper', model: scriptedModel(['Helped.']), telemetry }).asTool({ description: 'Helps' })

  test('is nested in the call that started it', async () => {
    const [boss, helper] = [recordingTelemetry(), recordingTelemetry()]
    await outer([inner(helper.telemetry)], boss.telemetry).run('Go.')
    expect(boss.runs).toMatchObject([
      { agent: 'boss', parentCall: undefined },
      { agent: 'helper', parentCall: 'boss/call_1', startedIn: 'boss/call_1', inThread: false },
    ])
    expect(boss.runs[1]?.records).toEqual(expect.arrayContaining(['run-start', 'call 1.1', 'run-end']))
    expect(helper.runs).toEqual([])
  })

  test('uses its own telemetry if the parent has none', async () => {
    const { telemetry, runs } = recordingTelemetry()
    await outer([inner(telemetry)]).run('Go.')
    expect(only(runs)).toMatchObject({ agent: 'helper', parentCall: undefined })
  })
})

describe('invalid options are rejected', () => {
  const model = scriptedModel((_: ModelRequest) => 'Yes.')
  const { telemetry } = recordingTelemetry()

  test.each<[unknown, string]>([
    ['otel', 'a string'],
    [{}, 'an object'],
    [null, 'null'],
    [[telemetry, undefined], 'undefined'],
    [[telemetry, [telemetry]], 'an array'],
    [() => telemetry, 'a function'],
  ])('telemetry: %j', (value, kind) => {
    const options = { model, telemetry: value } as AgentOptions
    expect(() => agent(options).stream('Hi')).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringMatching(
          new RegExp(
            `option 'telemetry' must be the result of otel\\(\\) or logs\\(\\), or a list of those, not ${kind}`,
          ),
        ),
      }),
    )
  })

  test.each([7, '', null])('conversation: %j', (conversation) => {
    expect(() => agent({ model }).stream('Hi', { conversation } as RunOptions)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringMatching(/option 'conversation' must be text/),
      }),
    )
  })
})
