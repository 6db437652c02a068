import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type {
  CallObserver,
  DoneEvent,
  ModelCall,
  ModelEvent,
  RunInfo,
  RunTelemetry,
  Telemetry,
} from '../protocol/index.ts'
import { MillraceError, pushedStream } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import { combineTelemetry, observeModelCall } from './combine-telemetry.ts'
import { recordingTelemetry, traceparent } from './recording-telemetry.test-kit.ts'

const done: DoneEvent = { type: 'done', finish: 'stop' }
const call: ModelCall = {
  runId: 'run_1',
  round: 1,
  attempt: 1,
  model: scriptedModel([]),
  request: { messages: [], tools: [], settings: {} },
}
const runInfo = { runId: 'run_1', agent: 'a', inThread: false, parentTraces: [] }

/** Run telemetry that does nothing, except for the given methods. */
function emptyTelemetry(parts: Partial<RunTelemetry> = {}): Telemetry {
  return {
    startRun: () => ({
      event() {},
      modelCall: () => ({ end() {} }),
      runInContext: (_, work) => work(),
      nested: () => emptyTelemetry(),
      handedOver() {},
      ...parts,
    }),
  }
}

const observing = (observer: Partial<CallObserver>) =>
  emptyTelemetry({ modelCall: () => ({ end() {}, ...observer }) })

function startedRun(...all: Telemetry[]): RunTelemetry {
  const run = combineTelemetry(all)?.startRun(runInfo)
  if (!run) throw new Error('no telemetry')
  return run
}

const fail = () => {
  throw new Error('telemetry failed')
}
const doing = <Value>(work: () => Value) => work()
const failLater = async () => fail()

/** Each way to fail. */
const failing: Record<string, Telemetry> = {
  'when a run starts': { startRun: fail },
  'in every other method': {
    startRun: () => ({
      get trace(): string {
        return fail()
      },
      event: fail,
      modelCall: fail,
      runInContext: fail,
      nested: fail,
      handedOver: fail,
    }),
    activeTrace: fail,
    openApp: fail,
  },
  'after the work': emptyTelemetry({
    runInContext: (_, work) => {
      work()
      return fail()
    },
  }),
  'by returning something else': emptyTelemetry({ runInContext: (_, work) => [work()] as never }),
  'by running it twice': emptyTelemetry({ runInContext: (_, work) => [work(), work()] as never }),
  'by not running it': emptyTelemetry({ runInContext: () => undefined as never }),
  'in a model call': emptyTelemetry({
    modelCall: () => ({
      get wire(): never {
        return fail()
      },
      get headers(): never {
        return fail()
      },
      runInContext: fail,
      received: fail,
      end: fail,
    }),
  }),
  'at each wire event': observing({ wire: { sent: fail, responded: fail, received: fail } }),
  // An unhandled rejection fails the test run.
  later: emptyTelemetry({
    event: failLater,
    handedOver: failLater,
    modelCall: () => ({ received: failLater, end: failLater }),
  }),
  'by returning nothing': { startRun: () => undefined as never, openApp: () => undefined as never },
}

describe('telemetry that fails', () => {
  async function eventsOf(telemetry: readonly Telemetry[]) {
    const helper = agent({ name: 'helper', model: scriptedModel(['Helped.']) })
    let counted = 0
    const count = tool({ name: 'count', description: 'Counts', input: z.object({}), run: () => ++counted })
    const round = [{ call: 'helper', input: { prompt: 'Help.' } }, { call: 'count' }]
    const model = scriptedModel([[{ error: { code: 'overloaded' } }], round, 'Done.'])
    const tools = [helper.asTool({ description: 'Helps' }), count]
    const run = agent({ model, tools, telemetry, retry: { baseMs: 0 } }).stream('Go.')
    const events = await collect(run)
    const { outcome } = await run.result
    return { types: typesOf(events).sort(), outcome, counted, asked: model.requests.length }
  }

  test.each(Object.entries(failing))('%s affects neither the run nor other telemetry', async (_, bad) => {
    const alone = await eventsOf([])
    const [before, after] = [recordingTelemetry(), recordingTelemetry()]
    expect(alone).toMatchObject({ outcome: 'completed', counted: 1, asked: 3 })
    expect(await eventsOf([before.telemetry, bad, after.telemetry])).toEqual(alone)
    for (const { runs } of [before, after]) {
      expect(runs.map(({ agent }) => agent)).toEqual(['agent', 'helper'])
      expect(runs[0]?.records.filter((one) => /^(call|end) /.test(one))).toEqual([
        'call 1.1',
        'end 1.1: overloaded',
        'call 1.2',
        'end 1.2: tool-calls',
        'call 2.1',
        'end 2.1: stop',
      ])
      expect(runs.map(({ events }) => events.at(-1)?.type)).toEqual(['run-end', 'run-end'])
    }
  })

  test.each(Object.entries(failing))('%s: the work runs once and its result is kept', (_, bad) => {
    for (const all of [[bad], [bad, bad, bad], [emptyTelemetry(), bad], [bad, emptyTelemetry()]]) {
      const run = startedRun(...all)
      for (const within of [
        run.runInContext.bind(run, 'call_1'),
        run.modelCall(call).runInContext ?? doing,
      ]) {
        let count = 0
        expect(within(() => ++count)).toBe(1)
        expect(count).toBe(1)
      }
    }
  })

  test.each([
    ['throws its own error', () => fail()],
    ['swallows it', () => undefined as never],
  ])('the error of the work itself is rethrown if telemetry %s', (_, instead) => {
    let count = 0
    const swallowing = emptyTelemetry({
      runInContext(_, work) {
        try {
          return work()
        } catch {
          return instead()
        }
      },
    })
    const own = new Error('the work cannot')
    const work = () => {
      count++
      throw own
    }
    expect(() => startedRun(swallowing, emptyTelemetry(), swallowing).runInContext(undefined, work)).toThrow(
      own,
    )
    expect(count).toBe(1)
  })

  test('does not keep other telemetry from observing the app', () => {
    const { telemetry, apps } = recordingTelemetry()
    const gauges = { followers: () => 1, lag: () => 2, running: () => 3, waiting: () => 4, buffered: () => 5 }
    const broken: Telemetry = {
      ...emptyTelemetry(),
      openApp: () => ({ flushed: fail, failed: fail, closed: fail }),
    }
    const app = combineTelemetry([
      broken,
      { ...emptyTelemetry(), openApp: fail },
      emptyTelemetry(),
      telemetry,
    ])?.openApp?.(gauges)
    const error = new MillraceError({ op: 'thread.append', code: 'store_error', message: 'full' })
    app?.flushed({ events: 1, threads: 1, ms: 1, failed: false })
    app?.failed(error)
    app?.closed()
    expect(apps).toMatchObject([
      { gaugesAtOpen: [1, 2, 3, 4], flushes: [{ events: 1 }], errors: [{ message: 'full' }], closed: 1 },
    ])
  })
})

describe('several telemetries', () => {
  const recordingTelemetryOf = (name: string, order: string[]) =>
    emptyTelemetry({
      runInContext(_, work) {
        order.push(name)
        const value = work()
        order.push(`${name} again`)
        return value
      },
      event: () => void order.push(name),
    })

  test('are called in the order in which they were passed, the first outermost', () => {
    const order: string[] = []
    const run = startedRun(recordingTelemetryOf('one', order), recordingTelemetryOf('two', order))
    run.runInContext(undefined, () => order.push('work'))
    run.event({ type: 'text', text: 'Hi' })
    expect(order).toEqual(['one', 'two', 'work', 'two again', 'one again', 'one', 'two'])
  })

  test('share the trace of the first that has one', () => {
    const a = recordingTelemetry({ firstTrace: 7, activeTrace: () => traceparent(1) })
    const b = recordingTelemetry({ firstTrace: 9, activeTrace: () => traceparent(2) })
    expect(startedRun(emptyTelemetry(), a.telemetry, b.telemetry).trace).toBe(a.runs[0]?.trace)
    expect(combineTelemetry([emptyTelemetry(), a.telemetry, b.telemetry])?.activeTrace?.()).toBe(
      traceparent(1),
    )
    expect(startedRun(emptyTelemetry()).trace).toBeUndefined()
    expect(combineTelemetry(emptyTelemetry())?.activeTrace?.()).toBeUndefined()
  })

  test.each([42, '', 'traceparent', `${traceparent(1)}\n`, Promise.resolve(traceparent(1))])(
    'put only valid trace contexts into the log: %s',
    (trace) => {
      const withTrace = (found: unknown) => {
        const { telemetry } = recordingTelemetry()
        return {
          ...telemetry,
          activeTrace: () => found,
          startRun: (run: RunInfo) => ({ ...telemetry.startRun(run), trace: found }),
        } as Telemetry
      }
      expect(startedRun(withTrace(trace)).trace).toBeUndefined()
      expect(startedRun(withTrace(trace), withTrace(traceparent(2))).trace).toBe(traceparent(2))
      expect(combineTelemetry(withTrace(trace))?.activeTrace?.()).toBeUndefined()
      expect(combineTelemetry([withTrace(trace), withTrace(traceparent(2))])?.activeTrace?.()).toBe(
        traceparent(2),
      )
    },
  )

  test('none gives undefined', () => {
    expect(combineTelemetry(undefined)).toBeUndefined()
    expect(combineTelemetry([])).toBeUndefined()
    expect(observeModelCall([undefined], call)).toBeUndefined()
  })
})

describe('an observed model call', () => {
  test('has wire and read listeners only if an observer has them', () => {
    const calls: string[] = []
    const listener = (name: string) => ({
      sent: () => void calls.push(`${name} sent`),
      responded: () => void calls.push(`${name} answered`),
      received: () => void calls.push(`${name} received`),
    })
    const plain = startedRun(emptyTelemetry()).modelCall(call)
    expect([plain.wire, plain.received, plain.headers]).toEqual([undefined, undefined, undefined])
    const { wire } = startedRun(
      observing({ wire: listener('a') }),
      emptyTelemetry(),
      observing({ wire: listener('b') }),
    ).modelCall(call)
    wire?.sent({ url: 'http://host/', headers: {}, body: '' })
    wire?.responded({ status: 200, headers: {} })
    wire?.received('text')
    expect(calls).toEqual(['a sent', 'b sent', 'a answered', 'b answered', 'a received', 'b received'])
  })

  test("sends the observers' headers, except those that the caller set in any case", async () => {
    const model = scriptedModel(script.text('Yes.'))
    const seen: ModelCall[] = []
    const sending = (headers: Record<string, string>) =>
      emptyTelemetry({
        modelCall(call) {
          seen.push(call)
          return { headers, end() {} }
        },
      })
    const telemetry = [
      sending({ traceparent: 'theirs', tracestate: 'theirs' }),
      emptyTelemetry(),
      sending({ baggage: 'theirs' }),
    ]
    const headers = { Traceparent: 'mine', 'x-tenant': 'mine' }
    await agent({ model, telemetry, settings: { headers, seed: 7 } }).run('Hi')
    expect(model.requests[0]?.settings).toEqual({
      seed: 7,
      headers: { tracestate: 'theirs', baggage: 'theirs', Traceparent: 'mine', 'x-tenant': 'mine' },
    })
    for (const { request } of seen) expect(request.settings).toEqual({ headers, seed: 7 })
  })

  test('reports each read once, however many events it contained', async () => {
    const { telemetry, runs } = recordingTelemetry()
    const lists: ModelEvent[][] = [
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      [{ type: 'text', text: 'c' }],
      [done],
    ]
    const model = {
      ...scriptedModel([]),
      stream: () =>
        pushedStream(async (onEvents) => {
          for (const list of lists) await onEvents(list)
        }),
    }
    expect((await agent({ model, telemetry }).run('Hi')).text).toBe('abc')
    expect(runs[0]?.calls).toMatchObject([{ reads: 3, end: { done } }])
  })
})
