import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ModelRequest, RunEvent, Telemetry } from '../protocol/index.ts'
import { isTraceContext } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, echo, gate, of } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { WatchedRun } from './lookout.test-kit.ts'
import { lookout, traceparent } from './lookout.test-kit.ts'
import type { AgentOptions, RunOptions } from './options.ts'

const retry = { baseMs: 0 }
const talk = [
  { role: 'user', content: 'I am Ada.' },
  { role: 'assistant', content: 'Hello, Ada.' },
  { role: 'user', content: 'Who am I?' },
] as const

/** The one run that was looked on at. */
function only(runs: readonly WatchedRun[]): WatchedRun {
  expect(runs).toHaveLength(1)
  return runs[0] as WatchedRun
}

const callsOf = ({ told }: WatchedRun) => told.filter((one) => /^(call|end) /.test(one))

describe('whoever looks on at a run', () => {
  test('is told that it begins, and of each event that it has', async () => {
    const { telemetry, runs } = lookout()
    const run = agent({ name: 'guide', model: scriptedModel(script.text('Left.')), telemetry }).stream(
      'Where?',
      {
        conversation: 'the way',
      },
    )
    const events = await collect(run)
    const watched = only(runs)
    expect(watched).toMatchObject({ runId: run.id, agent: 'guide', conversation: 'the way', inThread: false })
    expect(watched.causes).toEqual([])
    expect(watched).not.toHaveProperty('resumes')
    expect(watched.events).toEqual(events)
    expect(of(events, 'run-start')).toMatchObject([{ trace: watched.trace }])
    expect(isTraceContext(watched.trace)).toBe(true)
  })

  test('is told before anybody else that a run begins, and at once of what the run tells', async () => {
    const { telemetry, runs } = lookout()
    agent({ model: scriptedModel(script.hanging('I could')), telemetry })
      .stream('Go.')
      .cancel('enough')
    expect(only(runs).told).toEqual(['run-start', 'run-end'])
    expect(only(runs).conversation).toBeUndefined()
  })

  test('leaves no trace in the log if it has none', async () => {
    const { telemetry } = lookout()
    const traceless: Telemetry = { begin: (run) => ({ ...telemetry.begin(run), trace: undefined }) }
    for (const options of [{}, { telemetry: traceless }, { telemetry: [] }]) {
      const run = agent({ model: scriptedModel(script.text('Yes.')), ...options }).stream('Hi')
      expect(of(await collect(run), 'run-start')[0]).not.toHaveProperty('trace')
    }
  })

  test('is told of every try of a round, and of what was taken back', async () => {
    const { telemetry, runs } = lookout()
    const broken: ScriptRound = [{ text: 'I thi' }, { error: { code: 'overloaded' } }]
    const model = scriptedModel([broken, [{ error: { code: 'auth' } }]], { id: 'first' })
    const second = scriptedModel(['Yes.'], { id: 'second' })
    await agent({ model: [model, second], retry, telemetry }).run('Well?')
    const watched = only(runs)
    expect(watched.told).toEqual([
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
    expect(watched.calls.map(({ model, runId }) => [model.id, runId])).toEqual([
      ['first', watched.runId],
      ['first', watched.runId],
      ['second', watched.runId],
    ])
    expect(watched.calls[2]?.request).toBe(second.requests[0])
    expect(watched.calls[0]).not.toHaveProperty('aside')
  })

  test('is told how a call came out: what the model has said last, or the error', async () => {
    const { telemetry, runs } = lookout()
    const usage = { inputTokens: 3, outputTokens: 4 }
    const model = scriptedModel([[{ text: 'Yes.' }, { usage }, { finish: 'length' }]])
    await agent({ model, telemetry }).run('Well?')
    expect(only(runs).calls).toMatchObject([{ end: { done: { finish: 'length', usage } } }])
  })

  test('is told of a run that is cancelled, first that its call is over', async () => {
    const { telemetry, runs } = lookout()
    const held = gate()
    const model = scriptedModel([[{ call: 'gate' }, { text: 'One moment.' }, { hang: true }]])
    const run = agent({ model, tools: [held.tool], telemetry }).stream('Go.')
    await held.started
    run.cancel('enough')
    expect(only(runs).told.slice(-4)).toEqual([
      'end 1.1: stream_interrupted',
      'round-end',
      'tool-result',
      'run-end',
    ])
    await run.result
  })

  test('is told of a plan as of a run that runs no tools', async () => {
    const { telemetry, runs } = lookout()
    const model = scriptedModel([[{ call: 'echo', input: { value: 'a' } }]])
    await agent({ model, tools: [echo], telemetry }).plan('Go.').result
    expect(only(runs).told).toEqual(expect.arrayContaining(['run-start', 'tool-call', 'end 1.1: tool-calls']))
    expect(only(runs).told).not.toContain('tool-start')
    expect(only(runs).told.at(-1)).toBe('run-end')
  })

  test('is told of questions beside the rounds, each with its own tries', async () => {
    const { telemetry, runs } = lookout()
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

describe('a run that goes on with another', () => {
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

  test('says with which, and where that was traced', async () => {
    const { telemetry, runs } = lookout()
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

  test('finds that in the log, also in another process, and also of a run that was cut off', async () => {
    const told: RunEvent[] = JSON.parse(JSON.stringify(await collect(suspended(lookout().telemetry))))
    const { telemetry, runs } = lookout({ first: 50 })
    const again = agent({ model: scriptedModel(['Wiped.']), tools: [wipe], telemetry })
    const [start] = of(told, 'run-start')
    const resumed = again.resume(told, { decisions, conversation: 'the desk, later' })
    await resumed.result
    expect(runs[0]?.resumes).toMatchObject({
      runId: start?.runId,
      trace: traceparent(1),
      calls: [{ name: 'wipe' }],
    })
    expect(runs[0]?.conversation).toBe('the desk, later')

    const cut = told.slice(0, -3)
    const third = again.resume(cut)
    third.cancel()
    expect(runs[1]?.resumes).toMatchObject({ runId: start?.runId, trace: traceparent(1) })
    // And so on: the run before is the latest one.
    agent({ model: scriptedModel(['Wiped.']), tools: [wipe], telemetry })
      .resume([...told, ...(await collect(resumed)).slice(0, -1)])
      .cancel()
    expect(runs[2]?.resumes).toEqual({ runId: resumed.id, trace: traceparent(50), calls: [] })
  })

  test('has no trace of one that nobody looked on at', async () => {
    const told = await collect(suspended())
    const { telemetry, runs } = lookout()
    agent({ model: scriptedModel(['Wiped.']), tools: [wipe], telemetry })
      .resume(told, { decisions })
      .cancel()
    expect(runs[0]?.resumes).toMatchObject({ runId: of(told, 'run-start')[0]?.runId, trace: undefined })
  })
})

describe('an agent that is a tool', () => {
  const outer = (tools: AgentOptions['tools'], telemetry?: Telemetry) =>
    agent({
      name: 'boss',
      model: scriptedModel(script.tool('helper', { prompt: 'Help.' }, 'Done.')),
      tools,
      telemetry,
    })
  const inner = (telemetry?: Telemetry) =>
    agent({ name: 'helper', model: scriptedModel(['Helped.']), telemetry }).asTool({ description: 'Helps' })

  test('is looked on at from inside the call that has started it', async () => {
    const [boss, helper] = [lookout(), lookout()]
    await outer([inner(helper.telemetry)], boss.telemetry).run('Go.')
    expect(boss.runs).toMatchObject([
      { agent: 'boss', inside: undefined },
      { agent: 'helper', inside: 'boss/call_1', begunAt: 'boss/call_1', inThread: false },
    ])
    expect(boss.runs[1]?.told).toEqual(expect.arrayContaining(['run-start', 'call 1.1', 'run-end']))
    expect(helper.runs).toEqual([])
  })

  test('has its own onlooker where nobody looks on at the caller', async () => {
    const { telemetry, runs } = lookout()
    await outer([inner(telemetry)]).run('Go.')
    expect(only(runs)).toMatchObject({ agent: 'helper', inside: undefined })
  })
})

describe('what cannot be used is refused', () => {
  const model = scriptedModel((_: ModelRequest) => 'Yes.')
  const { telemetry } = lookout()

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
            `option 'telemetry' must be what otel\\(\\) or logs\\(\\) gives, or a list of that, not ${kind}`,
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
