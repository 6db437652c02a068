import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { lookout, place, traceparent } from '../agent/lookout.test-kit.ts'
import { soon } from '../log/sqlite/sqlite.test-kit.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel, testScript } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { AppOptions, Thread } from './index.ts'
import { eventsOf, heldTool, untilIdle } from './threads.test-kit.ts'
import { firstCalls, kinds, watchedApps } from './watched-apps.test-kit.ts'

const { storeOf, start } = watchedApps()

const tracesOf = async (thread: Thread) => {
  const entries = await untilIdle(thread)
  const traces = (type: 'input' | 'run-start') => eventsOf(entries, type).map(({ trace }) => trace)
  return { inputs: traces('input'), runs: traces('run-start'), entries }
}

describe.each(kinds)('where a thread is traced, in %s', (kind) => {
  test('its log says who spoke and where each run was traced', async () => {
    let speaker: string | undefined = traceparent(7)
    const { telemetry, runs } = lookout({ active: () => speaker })
    const { app } = start({ store: storeOf(kind), telemetry })
    const thread = app.thread('t')
    // Who is calling is asked at once, and counts more than what it says.
    const first = thread.send('One', { trace: traceparent(6) })
    speaker = undefined
    await first
    await untilIdle(thread)
    await thread.send('Two', { trace: traceparent(8) })
    await untilIdle(thread)
    await thread.send('Three')
    const { inputs, runs: traced } = await tracesOf(thread)
    expect(inputs).toEqual([traceparent(7), traceparent(8), undefined])
    expect(traced).toEqual([traceparent(1), traceparent(2), traceparent(3)])
    expect(runs).toMatchObject([
      { conversation: 't', inThread: true, causes: [traceparent(7)], agent: 'helper' },
      { conversation: 't', inThread: true, causes: [traceparent(8)] },
      { conversation: 't', inThread: true, causes: [] },
    ])
    for (const run of runs) expect(run).not.toHaveProperty('resumes')
  })

  test('a run has everybody whose words it answers for a cause', async () => {
    const held = heldTool('hold')
    const { telemetry, runs } = lookout()
    const { app } = start({ store: storeOf(kind), telemetry, tools: [held.tool], rounds: firstCalls('hold') })
    const thread = app.thread()
    await thread.send('One', { trace: traceparent(7) })
    await held.startedTimes(1)
    await thread.send('Two', { trace: traceparent(8) })
    await thread.send('And')
    await thread.send('Three', { mode: 'interrupt', trace: traceparent(9) })
    await untilIdle(thread)
    expect(runs.map(({ causes }) => causes)).toEqual([[traceparent(7)], [traceparent(8), traceparent(9)]])
  })

  test('an app that takes over from one that is gone knows of the run before', async () => {
    let time = 1_000_000
    const store = storeOf(kind, { now: () => time })
    await store.create({ id: 't', agent: 'helper' })
    const message = { role: 'user', content: 'Go.' } as const
    const say = (number: number) =>
      store.signal('t', undefined, { type: 'input', message, mode: 'queue', trace: traceparent(number) })
    await say(7)
    const claimed = await store.claim('t', 'somebody who is gone', 1000)
    if (!claimed) throw new Error('it is not runnable')
    const begun = {
      type: 'run-start',
      version: 1,
      runId: 'run_1',
      agent: 'helper',
      input: [],
      heard: [1],
    } as const
    await store.append([{ lease: claimed.lease, events: [{ ...begun, trace: traceparent(70) }] }])
    await say(8)
    time += 1001

    const { telemetry, runs } = lookout()
    const { app } = start({ store, telemetry })
    const { runs: traced, entries } = await tracesOf(app.thread('t'))
    expect(traced).toEqual([traceparent(70), traceparent(1), traceparent(2)])
    expect(runs).toMatchObject([
      { causes: [], resumes: { runId: 'run_1', trace: traceparent(70) } },
      { causes: [traceparent(8)] },
    ])
    expect(runs[1]).not.toHaveProperty('resumes')
    expect(eventsOf(entries, 'run-start').map(({ losses }) => losses)).toEqual([undefined, 1, undefined])
    expect(runs[0]?.events[0]).toMatchObject({ type: 'run-start', losses: 1 })
  })

  test('one that is closed says that the run goes on elsewhere, and the next goes on with it', async () => {
    const store = storeOf(kind)
    const held = heldTool('hold', { repeat: 'safe' })
    const [first, second] = [lookout(), lookout({ first: 50 })]
    const rounds: ScriptRound[] = [[{ call: 'hold' }, { text: 'One moment.' }, { hang: true }]]
    const { app } = start({ store, telemetry: first.telemetry, tools: [held.tool], rounds })
    await app.thread('t').send('Go.', { trace: traceparent(7) })
    await held.startedTimes(1)
    await app.close({ graceMs: 0 })
    expect(first.runs[0]?.told.slice(-2)).toEqual(['end 1.1: stream_interrupted', 'abandoned'])
    expect(first.runs[0]?.told.filter((one) => one === 'abandoned')).toHaveLength(1)
    expect(first.runs[0]?.told).not.toContain('run-end')

    const { app: next } = start({ store, telemetry: second.telemetry, tools: [held.tool] })
    await held.startedTimes(2)
    held.runs[1]?.release()
    const { runs } = await tracesOf(next.thread('t'))
    expect(runs).toEqual([traceparent(1), traceparent(50)])
    expect(second.runs).toMatchObject([
      { causes: [], resumes: { runId: first.runs[0]?.runId, trace: traceparent(1) } },
    ])
  })

  test('one that has lost its lease says so as well', async () => {
    let time = 1_000_000
    const store = storeOf(kind, { now: () => time })
    const held = heldTool('hold')
    const { telemetry, runs } = lookout()
    const { app } = start({ store, telemetry, tools: [held.tool], rounds: firstCalls('hold'), leaseMs: 60 })
    await app.thread('t').send('Go.')
    await held.startedTimes(1)
    // The app may have renewed it just now.
    await soon(async () => {
      time += 61
      return (await store.claim('t', 'somebody else', 1_000_000)) !== undefined
    })
    await soon(() => runs[0]?.told.at(-1) === 'abandoned')
    expect(runs[0]?.told).not.toContain('run-end')
  })
})

test('a run in a thread is done inside, whoever has sent what it answers', async () => {
  const places: string[] = []
  const note = (what: string) => void places.push(`${what}: ${place.getStore()}`)
  const look = tool({
    name: 'look',
    description: 'Looks',
    input: z.object({}),
    approve() {
      note('approve')
      return false
    },
    run: () => note('tool'),
  })
  const scripted = scriptedModel([[{ call: 'look' }], 'Done.', 'Again.'])
  const { telemetry } = lookout()
  const { app } = start({
    agents: agent({
      name: 'helper',
      tools: [look],
      prepareRound: () => note('prepareRound'),
      model: {
        ...scripted,
        stream(...asked) {
          note('model')
          return scripted.stream(...asked)
        },
      },
    }),
    telemetry,
  })
  const thread = app.thread()
  await place.run('a sender', () => thread.send('One'))
  await untilIdle(thread)
  await place.run('another', () => thread.send('Two'))
  await untilIdle(thread)
  expect(places).toEqual([
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

test('and so is what a decision sets going while the run is being taken up', async () => {
  const places: string[] = []
  const going = Promise.withResolvers<void>()
  const wipe = tool({
    name: 'wipe',
    description: 'Wipes',
    input: z.object({}),
    approve: true,
    run: () => void places.push(`tool: ${place.getStore()}`),
  })
  const rounds: ScriptRound[] = [[{ call: 'wipe' }, { call: 'wipe' }], 'Done.']
  let planned = 0
  const { app } = start({
    telemetry: lookout().telemetry,
    agents: agent({
      name: 'helper',
      model: scriptedModel(rounds),
      tools: [wipe],
      async prepareRound() {
        places.push(`prepareRound: ${place.getStore()}`)
        if (++planned === 2) await going.promise
      },
    }),
  })
  const thread = app.thread()
  await thread.send('Go.')
  await untilIdle(thread)
  await place.run('a person', () => thread.approve('call_1', { approved: true }))
  await soon(() => planned === 2)
  await place.run('a person', () => thread.approve('call_2', { approved: true }))
  await soon(() => planned === 3)
  going.resolve()
  await untilIdle(thread)
  expect(places.sort()).toEqual([
    ...Array(4).fill('prepareRound: helper'),
    'tool: helper/call_1',
    'tool: helper/call_2',
  ])
})

describe('who looks on at the runs of an app', () => {
  test('is whom the app was given, else whom the agent was', async () => {
    const [ofApp, ofAgent] = [lookout(), lookout({ first: 50 })]
    const { app } = start({ telemetry: ofApp.telemetry, agentTelemetry: ofAgent.telemetry })
    await app.thread().send('Go.')
    await soon(() => ofApp.runs[0]?.told.at(-1) === 'run-end')
    expect(ofAgent.runs).toEqual([])

    const { app: other } = start({ agentTelemetry: ofAgent.telemetry })
    const thread = other.thread('t')
    await thread.send('Go.')
    expect((await tracesOf(thread)).runs).toEqual([traceparent(50)])
    expect(ofAgent.runs).toMatchObject([{ conversation: 't', inThread: true }])
  })

  test('leaves nothing in the log of an app that nobody looks on at', async () => {
    const { app } = start({})
    const thread = app.thread()
    await thread.send('Go.', { trace: traceparent(7) })
    const { entries } = await tracesOf(thread)
    expect(JSON.stringify(entries)).not.toContain('"trace"')
  })

  test('is no part of the test that is made of a conversation', async () => {
    const { telemetry } = lookout()
    const { app } = start({ telemetry })
    const { app: plain } = start({})
    const [traced, untraced] = [app.thread('t'), plain.thread('t')]
    for (const thread of [traced, untraced]) await thread.send('Go.', { trace: traceparent(7) })
    expect(testScript(await untilIdle(traced))).toBe(testScript(await untilIdle(untraced)))
  })

  test.each([7, '', 'abc', `${traceparent(7)}-01`, traceparent(0), `ff${traceparent(7).slice(2)}`])(
    'is given no trace such as %j',
    async (trace) => {
      const { app } = start({ telemetry: lookout().telemetry })
      await expect(app.thread().send('Go.', { trace } as { trace: string })).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringMatching(/option 'trace' must be/),
      })
    },
  )

  test.each(['otel', {}, [undefined]])('is not %j', (telemetry) => {
    expect(() => start({ telemetry } as Partial<AppOptions>)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringMatching(/option 'telemetry' must be what otel\(\) or logs\(\) gives/),
      }),
    )
  })
})
