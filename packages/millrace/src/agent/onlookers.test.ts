import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type {
  CallObserver,
  DoneEvent,
  ModelCall,
  ModelEvent,
  RunBeginning,
  RunTelemetry,
  Telemetry,
} from '../protocol/index.ts'
import { MillraceError } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, typesOf } from './agent.test-kit.ts'
import { agent } from './agent.ts'
import { lookout, traceparent } from './lookout.test-kit.ts'
import { observed, onlookers } from './onlookers.ts'

const done: DoneEvent = { type: 'done', finish: 'stop' }
const call: ModelCall = {
  runId: 'run_1',
  round: 1,
  attempt: 1,
  model: scriptedModel([]),
  request: { messages: [], tools: [], settings: {} },
}
const beginning = { runId: 'run_1', agent: 'a', inThread: false, causes: [] }

/** Looks on at one run; does nothing but what is given. */
function watcher(parts: Partial<RunTelemetry> = {}): Telemetry {
  return {
    begin: () => ({
      event() {},
      call: () => ({ end() {} }),
      within: (_, work) => work(),
      inside: () => watcher(),
      abandoned() {},
      ...parts,
    }),
  }
}

const observing = (observer: Partial<CallObserver>) => watcher({ call: () => ({ end() {}, ...observer }) })

function begun(...all: Telemetry[]): RunTelemetry {
  const run = onlookers(all)?.begin(beginning)
  if (!run) throw new Error('nobody looks on')
  return run
}

const fail = () => {
  throw new Error('the onlooker cannot')
}
const doing = <Value>(work: () => Value) => work()
const failLater = async () => fail()

/** Each way to go wrong. */
const clumsy: Record<string, Telemetry> = {
  'when a run begins': { begin: fail },
  'in all else': {
    begin: () => ({
      get trace(): string {
        return fail()
      },
      event: fail,
      call: fail,
      within: fail,
      inside: fail,
      abandoned: fail,
    }),
    active: fail,
    open: fail,
  },
  'after the work': watcher({
    within: (_, work) => {
      work()
      return fail()
    },
  }),
  'by giving something else': watcher({ within: (_, work) => [work()] as never }),
  'by doing it twice': watcher({ within: (_, work) => [work(), work()] as never }),
  'by not doing it': watcher({ within: () => undefined as never }),
  'in a model call': watcher({
    call: () => ({
      get wire(): never {
        return fail()
      },
      get headers(): never {
        return fail()
      },
      within: fail,
      received: fail,
      end: fail,
    }),
  }),
  'at each word on the wire': observing({ wire: { sent: fail, answered: fail, received: fail } }),
  // What nobody catches fails the whole run of the tests.
  later: watcher({
    event: failLater,
    abandoned: failLater,
    call: () => ({ received: failLater, end: failLater }),
  }),
  'by giving nothing': { begin: () => undefined as never, open: () => undefined as never },
}

describe('an onlooker that goes wrong', () => {
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

  test.each(Object.entries(clumsy))(
    '%s disturbs neither the run nor who looks on beside it',
    async (_, bad) => {
      const alone = await eventsOf([])
      const [before, after] = [lookout(), lookout()]
      expect(alone).toMatchObject({ outcome: 'completed', counted: 1, asked: 3 })
      expect(await eventsOf([before.telemetry, bad, after.telemetry])).toEqual(alone)
      for (const { runs } of [before, after]) {
        expect(runs.map(({ agent }) => agent)).toEqual(['agent', 'helper'])
        expect(runs[0]?.told.filter((one) => /^(call|end) /.test(one))).toEqual([
          'call 1.1',
          'end 1.1: overloaded',
          'call 1.2',
          'end 1.2: tool-calls',
          'call 2.1',
          'end 2.1: stop',
        ])
        expect(runs.map(({ events }) => events.at(-1)?.type)).toEqual(['run-end', 'run-end'])
      }
    },
  )

  test.each(Object.entries(clumsy))('%s leaves the work done once, as it came out', (_, bad) => {
    for (const all of [[bad], [bad, bad, bad], [watcher(), bad], [bad, watcher()]]) {
      const run = begun(...all)
      for (const within of [run.within.bind(run, 'call_1'), run.call(call).within ?? doing]) {
        let count = 0
        expect(within(() => ++count)).toBe(1)
        expect(count).toBe(1)
      }
    }
  })

  test.each([
    ['that throws its own error', () => fail()],
    ['that swallows it', () => undefined as never],
  ])('the error of the work itself comes through one %s', (_, instead) => {
    let count = 0
    const swallowing = watcher({
      within(_, work) {
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
    expect(() => begun(swallowing, watcher(), swallowing).within(undefined, work)).toThrow(own)
    expect(count).toBe(1)
  })

  test('does not keep the app from being looked at', () => {
    const { telemetry, apps } = lookout()
    const gauges = { followers: () => 1, lag: () => 2, running: () => 3, waiting: () => 4, buffered: () => 5 }
    const broken: Telemetry = {
      ...watcher(),
      open: () => ({ flushed: fail, failed: fail, closed: fail }),
    }
    const app = onlookers([broken, { ...watcher(), open: fail }, watcher(), telemetry])?.open?.(gauges)
    const error = new MillraceError({ op: 'thread.append', code: 'store_error', message: 'full' })
    app?.flushed({ events: 1, threads: 1, ms: 1, failed: false })
    app?.failed(error)
    app?.closed()
    expect(apps).toMatchObject([
      { atFirst: [1, 2, 3, 4], flushes: [{ events: 1 }], errors: [{ message: 'full' }], closed: 1 },
    ])
  })
})

describe('several onlookers', () => {
  const around = (name: string, order: string[]) =>
    watcher({
      within(_, work) {
        order.push(name)
        const value = work()
        order.push(`${name} again`)
        return value
      },
      event: () => void order.push(name),
    })

  test('are told in the order in which they were given, the first of them outermost', () => {
    const order: string[] = []
    const run = begun(around('one', order), around('two', order))
    run.within(undefined, () => order.push('work'))
    run.event({ type: 'text', text: 'Hi' })
    expect(order).toEqual(['one', 'two', 'work', 'two again', 'one again', 'one', 'two'])
  })

  test('share the trace of the first that has one', () => {
    const a = lookout({ first: 7, active: () => traceparent(1) })
    const b = lookout({ first: 9, active: () => traceparent(2) })
    expect(begun(watcher(), a.telemetry, b.telemetry).trace).toBe(a.runs[0]?.trace)
    expect(onlookers([watcher(), a.telemetry, b.telemetry])?.active?.()).toBe(traceparent(1))
    expect(begun(watcher()).trace).toBeUndefined()
    expect(onlookers(watcher())?.active?.()).toBeUndefined()
  })

  test.each([42, '', 'traceparent', `${traceparent(1)}\n`, Promise.resolve(traceparent(1))])(
    'put nothing into the log that is no trace context: %s',
    (trace) => {
      const telling = (found: unknown) => {
        const { telemetry } = lookout()
        return {
          ...telemetry,
          active: () => found,
          begin: (run: RunBeginning) => ({ ...telemetry.begin(run), trace: found }),
        } as Telemetry
      }
      expect(begun(telling(trace)).trace).toBeUndefined()
      expect(begun(telling(trace), telling(traceparent(2))).trace).toBe(traceparent(2))
      expect(onlookers(telling(trace))?.active?.()).toBeUndefined()
      expect(onlookers([telling(trace), telling(traceparent(2))])?.active?.()).toBe(traceparent(2))
    },
  )

  test('none is nobody', () => {
    expect(onlookers(undefined)).toBeUndefined()
    expect(onlookers([])).toBeUndefined()
    expect(observed([undefined], call)).toBeUndefined()
  })
})

describe('a model call that is looked on at', () => {
  test('has a wire only where somebody wants to know, and a listener for reads likewise', () => {
    const told: string[] = []
    const listener = (name: string) => ({
      sent: () => void told.push(`${name} sent`),
      answered: () => void told.push(`${name} answered`),
      received: () => void told.push(`${name} received`),
    })
    const plain = begun(watcher()).call(call)
    expect([plain.wire, plain.received, plain.headers]).toEqual([undefined, undefined, undefined])
    const { wire } = begun(
      observing({ wire: listener('a') }),
      watcher(),
      observing({ wire: listener('b') }),
    ).call(call)
    wire?.sent({ url: 'http://host/', headers: {}, body: '' })
    wire?.answered({ status: 200, headers: {} })
    wire?.received('text')
    expect(told).toEqual(['a sent', 'b sent', 'a answered', 'b answered', 'a received', 'b received'])
  })

  test('sends their headers along, but none that the caller has set, in whatever case', async () => {
    const model = scriptedModel(script.text('Yes.'))
    const seen: ModelCall[] = []
    const sending = (headers: Record<string, string>) =>
      watcher({
        call(call) {
          seen.push(call)
          return { headers, end() {} }
        },
      })
    const telemetry = [
      sending({ traceparent: 'theirs', tracestate: 'theirs' }),
      watcher(),
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

  test('is told of each read once, however many events were in it', async () => {
    const { telemetry, runs } = lookout()
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
        Object.assign(generator(lists.flat()), { batches: () => generator<readonly ModelEvent[]>(lists) }),
    }
    expect((await agent({ model, telemetry }).run('Hi')).text).toBe('abc')
    expect(runs[0]?.calls).toMatchObject([{ reads: 3, end: { done } }])
  })
})

async function* generator<Item>(items: readonly Item[]) {
  yield* items
}
