import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { recordingTelemetry, tracePath, traceparent } from '../agent/recording-telemetry.test-kit.ts'
import { soon } from '../log/sqlite/sqlite.test-kit.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel, testScript } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { AppOptions, Thread } from './index.ts'
import { firstCalls, kinds, testApps } from './test-apps.test-kit.ts'
import { eventsOf, heldTool, untilIdle } from './threads.test-kit.ts'

const { storeOf, start } = testApps()

const tracesOf = async (thread: Thread) => {
  const entries = await untilIdle(thread)
  const traces = (type: 'input' | 'run-start') => eventsOf(entries, type).map(({ trace }) => trace)
  return { inputs: traces('input'), runs: traces('run-start'), entries }
}

describe.each(kinds)('a traced thread, in %s', (kind) => {
  test('has the trace of each sender and of each run in its log', async () => {
    let active: string | undefined = traceparent(7)
    const { telemetry, runs } = recordingTelemetry({ activeTrace: () => active })
    const { app } = start({ store: storeOf(kind), telemetry })
    const thread = app.thread('t')
    // The active trace is read right away, and takes precedence over the option.
    const first = thread.send('One', { trace: traceparent(6) })
    active = undefined
    await first
    await untilIdle(thread)
    await thread.send('Two', { trace: traceparent(8) })
    await untilIdle(thread)
    await thread.send('Three')
    const { inputs, runs: traced } = await tracesOf(thread)
    expect(inputs).toEqual([traceparent(7), traceparent(8), undefined])
    expect(traced).toEqual([traceparent(1), traceparent(2), traceparent(3)])
    expect(runs).toMatchObject([
      { conversation: 't', inThread: true, parentTraces: [traceparent(7)], agent: 'helper' },
      { conversation: 't', inThread: true, parentTraces: [traceparent(8)] },
      { conversation: 't', inThread: true, parentTraces: [] },
    ])
    for (const run of runs) expect(run).not.toHaveProperty('resumes')
  })

  test('a run has the traces of all messages it answers as parents', async () => {
    const held = heldTool('hold')
    const { telemetry, runs } = recordingTelemetry()
    const { app } = start({ store: storeOf(kind), telemetry, tools: [held.tool], rounds: firstCalls('hold') })
    const thread = app.thread()
    await thread.send('One', { trace: traceparent(7) })
    await held.startedTimes(1)
    await thread.send('Two', { trace: traceparent(8) })
    await thread.send('And')
    await thread.send('Three', { mode: 'interrupt', trace: traceparent(9) })
    await untilIdle(thread)
    expect(runs.map(({ parentTraces }) => parentTraces)).toEqual([
      [traceparent(7)],
      [traceparent(8), traceparent(9)],
    ])
  })

  test('an app that takes over knows the run it resumes', async () => {
    let time = 1_000_000
    const store = storeOf(kind, { now: () => time })
    await store.create({ id: 't', agent: 'helper' })
    const message = { role: 'user', content: 'Go.' } as const
    const send = (number: number) =>
      store.signal('t', crypto.randomUUID(), {
        type: 'input',
        message,
        mode: 'queue',
        trace: traceparent(number),
      })
    await send(7)
    const claimed = await store.claim('t', 'a lost worker', 1000)
    if (!claimed) throw new Error('the thread is not runnable')
    const started = {
      type: 'run-start',
      version: 1,
      runId: 'run_1',
      agent: 'helper',
      input: [],
      inputs: [1],
    } as const
    await store.append([
      { lease: claimed.lease, number: 1, events: [{ ...started, trace: traceparent(70) }] },
    ])
    await send(8)
    time += 1001

    const { telemetry, runs } = recordingTelemetry()
    const { app } = start({ store, telemetry })
    const { runs: traced, entries } = await tracesOf(app.thread('t'))
    expect(traced).toEqual([traceparent(70), traceparent(1), traceparent(2)])
    expect(runs).toMatchObject([
      { parentTraces: [], resumes: { runId: 'run_1', trace: traceparent(70) } },
      { parentTraces: [traceparent(8)] },
    ])
    expect(runs[1]).not.toHaveProperty('resumes')
    expect(eventsOf(entries, 'run-start').map(({ losses }) => losses)).toEqual([undefined, 1, undefined])
    expect(runs[0]?.events[0]).toMatchObject({ type: 'run-start', losses: 1 })
  })

  test('a closed app reports the run as abandoned, and the next app resumes it', async () => {
    const store = storeOf(kind)
    const held = heldTool('hold', { repeat: 'safe' })
    const [first, second] = [recordingTelemetry(), recordingTelemetry({ firstTrace: 50 })]
    const rounds: ScriptRound[] = [[{ call: 'hold' }, { text: 'One moment.' }, { hang: true }]]
    const { app } = start({ store, telemetry: first.telemetry, tools: [held.tool], rounds })
    await app.thread('t').send('Go.', { trace: traceparent(7) })
    await held.startedTimes(1)
    await app.close({ graceMs: 0 })
    expect(first.runs[0]?.records.slice(-2)).toEqual(['end 1.1: stream_interrupted', 'abandoned'])
    expect(first.runs[0]?.records.filter((one) => one === 'abandoned')).toHaveLength(1)
    expect(first.runs[0]?.records).not.toContain('run-end')

    const { app: next } = start({ store, telemetry: second.telemetry, tools: [held.tool] })
    await held.startedTimes(2)
    held.runs[1]?.release()
    const { runs } = await tracesOf(next.thread('t'))
    expect(runs).toEqual([traceparent(1), traceparent(50)])
    expect(second.runs).toMatchObject([
      { parentTraces: [], resumes: { runId: first.runs[0]?.runId, trace: traceparent(1) } },
    ])
  })

  test('an app that has lost its lease reports the run as abandoned', async () => {
    let time = 1_000_000
    const store = storeOf(kind, { now: () => time })
    const held = heldTool('hold')
    const { telemetry, runs } = recordingTelemetry()
    const { app } = start({ store, telemetry, tools: [held.tool], rounds: firstCalls('hold'), leaseMs: 60 })
    await app.thread('t').send('Go.')
    await held.startedTimes(1)
    // The app may have just renewed it.
    await soon(async () => {
      time += 61
      return (await store.claim('t', 'another worker', 1_000_000)) !== undefined
    })
    await soon(() => runs[0]?.records.at(-1) === 'abandoned')
    expect(runs[0]?.records).not.toContain('run-end')
  })
})

test('a run in a thread has its own trace context, not that of the sender', async () => {
  const contexts: string[] = []
  const record = (what: string) => void contexts.push(`${what}: ${tracePath.getStore()}`)
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    approve() {
      record('approve')
      return false
    },
    run: () => record('tool'),
  })
  const scripted = scriptedModel([[{ call: 'look' }], 'Done.', 'Again.'])
  const { telemetry } = recordingTelemetry()
  const { app } = start({
    agents: agent({
      name: 'helper',
      tools: [look],
      prepareRound: () => record('prepareRound'),
      model: {
        ...scripted,
        stream(...args) {
          record('model')
          return scripted.stream(...args)
        },
      },
    }),
    telemetry,
  })
  const thread = app.thread()
  await tracePath.run('a sender', () => thread.send('One'))
  await untilIdle(thread)
  await tracePath.run('another', () => thread.send('Two'))
  await untilIdle(thread)
  expect(contexts).toEqual([
    'prepareRound: helper',
    'model: helper 1.1',
    'approve: helper',
    'tool: helper/call_1',
    'prepareRound: helper',
    'model: helper 2.1',
    'prepareRound: helper',
    'model: helper 1.1',
  ])
})

test('a call that is approved while the run is being resumed has the context of the run', async () => {
  const contexts: string[] = []
  const preparing = Promise.withResolvers<void>()
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes',
    input: z.object({}),
    approve: true,
    run: () => void contexts.push(`tool: ${tracePath.getStore()}`),
  })
  const rounds: ScriptRound[] = [[{ call: 'wipe' }, { call: 'wipe' }], 'Done.']
  let planned = 0
  const { app } = start({
    telemetry: recordingTelemetry().telemetry,
    agents: agent({
      name: 'helper',
      model: scriptedModel(rounds),
      tools: [wipe],
      async prepareRound() {
        contexts.push(`prepareRound: ${tracePath.getStore()}`)
        if (++planned === 2) await preparing.promise
      },
    }),
  })
  const thread = app.thread()
  await thread.send('Go.')
  await untilIdle(thread)
  await tracePath.run('a person', () => thread.approve('call_1', { approved: true }))
  await soon(() => planned === 2)
  await tracePath.run('a person', () => thread.approve('call_2', { approved: true }))
  await soon(() => planned === 3)
  preparing.resolve()
  await untilIdle(thread)
  expect(contexts.sort()).toEqual([
    ...Array(4).fill('prepareRound: helper'),
    'tool: helper/call_1',
    'tool: helper/call_2',
  ])
})

describe('telemetry of an app', () => {
  test('comes from the app, otherwise from the agent', async () => {
    const [ofApp, ofAgent] = [recordingTelemetry(), recordingTelemetry({ firstTrace: 50 })]
    const { app } = start({ telemetry: ofApp.telemetry, agentTelemetry: ofAgent.telemetry })
    await app.thread().send('Go.')
    await soon(() => ofApp.runs[0]?.records.at(-1) === 'run-end')
    expect(ofAgent.runs).toEqual([])

    const { app: other } = start({ agentTelemetry: ofAgent.telemetry })
    const thread = other.thread('t')
    await thread.send('Go.')
    expect((await tracesOf(thread)).runs).toEqual([traceparent(50)])
    expect(ofAgent.runs).toMatchObject([{ conversation: 't', inThread: true }])
  })

  test('without telemetry, leaves no traces in the log', async () => {
    const { app } = start({})
    const thread = app.thread()
    await thread.send('Go.', { trace: traceparent(7) })
    const { entries } = await tracesOf(thread)
    expect(JSON.stringify(entries)).not.toContain('"trace"')
  })

  test('does not change the test script of a conversation', async () => {
    const { telemetry } = recordingTelemetry()
    const { app } = start({ telemetry })
    const { app: plain } = start({})
    const [traced, untraced] = [app.thread('t'), plain.thread('t')]
    for (const thread of [traced, untraced]) await thread.send('Go.', { trace: traceparent(7) })
    expect(testScript(await untilIdle(traced))).toBe(testScript(await untilIdle(untraced)))
  })

  test.each([7, '', 'abc', `${traceparent(7)}-01`, traceparent(0), `ff${traceparent(7).slice(2)}`])(
    'rejects the invalid trace %j',
    async (trace) => {
      const { app } = start({ telemetry: recordingTelemetry().telemetry })
      await expect(app.thread().send('Go.', { trace } as { trace: string })).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringMatching(/option 'trace' must be/),
      })
    },
  )

  test.each(['otel', {}, [undefined]])('rejects %j', (telemetry) => {
    expect(() => start({ telemetry } as Partial<AppOptions>)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringMatching(/option 'telemetry' must be the result of otel\(\) or logs\(\)/),
      }),
    )
  })
})
