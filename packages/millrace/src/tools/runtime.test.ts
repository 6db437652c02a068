import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../../test/size.ts'
import { agent } from '../agent/index.ts'
import type {
  ApprovalEvent,
  JsonObject,
  RunEvent,
  ToolProgressEvent,
  ToolResultEvent,
  ToolResultPart,
} from '../protocol/index.ts'
import { sleep } from '../protocol/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import type { JsonSchema, Resumed, Tool, ToolContext, ToolOptions } from './index.ts'
import { nestedRunOf, pending, repeatDetector, tool, toolContent } from './index.ts'
import type { RuntimeOptions } from './runtime.ts'
import { toolRuntime } from './runtime.ts'

const anything = {
  jsonSchema: { type: 'object' },
  validate: (value: unknown) => ({ value: value as JsonObject }),
} satisfies JsonSchema

type Run = ToolOptions<typeof anything, unknown>['run']
type More = Partial<Omit<ToolOptions<typeof anything, unknown>, 'name' | 'input' | 'run'>>

/** A tool that takes anything. */
const make = (name: string, run: Run, more: More = {}): Tool =>
  tool({ name, description: name, input: anything, run, ...more })

const forever = () => new Promise<never>(() => {})

/** A tool that ends when the test says so, and its inputs. */
function held(name: string, more: More = {}) {
  const running: { context: ToolContext; end: (value?: unknown) => void; fail: (error: unknown) => void }[] =
    []
  const made = make(
    name,
    (_, context) => new Promise((end, fail) => running.push({ context, end, fail })),
    more,
  )
  const at = (index: number) => {
    const one = running[index]
    if (!one) throw new Error(`${name} has not started ${index + 1} times`)
    return one
  }
  return { tool: made, running, at }
}

function setUp(tools: readonly Tool[], more: Partial<RuntimeOptions<unknown>> = {}) {
  const clock = fakeClock()
  const events: RunEvent[] = []
  const failures: string[][] = []
  const runtime = toolRuntime<unknown>({
    emit: (event) => events.push(event),
    commit: undefined,
    clock,
    runId: 'run_2',
    originId: 'run_1',
    context: undefined,
    concurrency: 8,
    timeoutMs: 300_000,
    maxResultChars: 50_000,
    maxOutputChars: 1_000_000,
    metadata: { current: () => ({}), update: () => {} },
    repeats: undefined,
    policies: undefined,
    runSignal: undefined,
    beforeCall: undefined,
    afterCall: undefined,
    onFailure: (name, reason) => failures.push([name, reason]),
    ...more,
  })
  const byName = new Map(tools.map((one) => [one.name, one]))
  const results = () => events.filter((event) => event.type === 'tool-result') as ToolResultEvent[]
  let count = 0
  return {
    clock,
    events,
    failures,
    runtime,
    submit(
      name: string,
      input: JsonObject = {},
      state: {
        problem?: string
        decision?: Omit<ApprovalEvent, 'type' | 'callId'>
        resumed?: Resumed
        attempt?: number
      } = {},
    ) {
      const callId = `c${++count}`
      const { problem, decision, resumed, attempt = 1 } = state
      runtime.submit({
        call: { type: 'tool-call', callId, name, input, ...(problem !== undefined && { problem, raw: '{' }) },
        tools: byName,
        attempt,
        ...(decision && { decision: { type: 'approval', callId, ...decision } }),
        ...(resumed && { resumed }),
      })
      return callId
    },
    /** What happened, in short: `tool-start c1`. */
    story: () => events.map((event) => `${event.type} ${'callId' in event ? event.callId : ''}`),
    results,
    starts: () => events.flatMap((event) => (event.type === 'tool-start' ? [event.callId] : [])),
    progress: () => events.filter((event) => event.type === 'tool-progress') as ToolProgressEvent[],
    /** The only result, once every call has one. */
    async result() {
      await clock.until(runtime.settled())
      const [only, ...others] = results()
      if (!only || others.length > 0) throw new Error(`there are ${others.length + (only ? 1 : 0)} results`)
      return only
    },
  }
}

const textOf = (parts: readonly ToolResultPart[] | undefined) =>
  parts?.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join(' ')

/** Runs everything that needs no time. */
const settle = (clock: { advance(ms: number): Promise<void> }) => clock.advance(0)

describe('a call', () => {
  test('starts in the same turn in which it is submitted, if no check is async', () => {
    const { submit, story } = setUp([make('look', forever)])
    submit('look')
    expect(story()).toEqual(['tool-start c1'])
  })

  test('starts in the same turn with a synchronous hook', () => {
    const { submit, story } = setUp([make('look', forever)], { beforeCall: () => undefined })
    submit('look')
    expect(story()).toEqual(['tool-start c1'])
  })

  test("gets the schema's output as input, and its context", async () => {
    const seen: unknown[] = []
    const look = tool({
      name: 'look',
      description: 'd',
      input: z.object({ id: z.string().transform((id) => id.length) }),
      run: (...given) => {
        seen.push(...given)
      },
    })
    const context = { userId: 'u1' }
    const { submit, result } = setUp([look], { context })
    submit('look', { id: 'abc' })
    await result()
    expect(seen).toEqual([
      { id: 3 },
      expect.objectContaining({
        callId: 'c1',
        runId: 'run_2',
        idempotencyKey: 'run_1:c1',
        attempt: 1,
        context,
      }),
    ])
    expect((seen[1] as ToolContext).context).toBe(context)
    expect((seen[1] as ToolContext).signal.aborted).toBe(false)
  })

  test('starts without an input in tool-start if it is the model’s own', async () => {
    const { submit, events, result } = setUp([make('look', () => 'seen')])
    submit('look', { id: 1 })
    await result()
    expect(events).toStrictEqual([
      { type: 'tool-start', callId: 'c1', name: 'look', attempt: 1 },
      {
        type: 'tool-result',
        callId: 'c1',
        name: 'look',
        output: [{ type: 'text', text: 'seen' }],
        status: 'ok',
        isError: false,
        ms: 0,
        overlapMs: 0,
      },
    ])
  })

  test('is known until the round ends', () => {
    const { submit, runtime } = setUp([make('look', () => 'seen')])
    const callId = submit('look')
    expect(runtime.has(callId)).toBe(true)
    expect(runtime.has('other')).toBe(false)
    runtime.endRound()
    expect(runtime.has(callId)).toBe(false)
  })

  test('reports how long it ran, and how much of that overlapped with the generation', async () => {
    const { clock, runtime, submit, results } = setUp([
      make('before', (_, { signal }) => sleep(40, { clock, signal })),
      make('across', (_, { signal }) => sleep(100, { clock, signal })),
    ])
    submit('before')
    submit('across')
    await clock.advance(70)
    runtime.modelDone()
    submit('before')
    await clock.until(runtime.settled())
    expect(results()).toMatchObject([
      { callId: 'c1', ms: 40, overlapMs: 40 },
      { callId: 'c2', ms: 100, overlapMs: 70 },
      { callId: 'c3', ms: 40, overlapMs: 0 },
    ])
  })

  test('that the loop rejects gets its result at once and is never known', () => {
    const { runtime, results, failures } = setUp([])
    const call = { type: 'tool-call', callId: 'x', name: 'look', input: {} } as const
    runtime.reject(call, 'Not run.', 'blocked')
    expect(results()).toMatchObject([{ callId: 'x', status: 'blocked', isError: true, ms: 0 }])
    expect(failures).toEqual([])
    runtime.reject(call, 'Not run.', 'rejected')
    expect(failures).toEqual([['look', 'Not run.']])
    expect(runtime.has('x')).toBe(false)
  })
})

describe('parallel calls', () => {
  test('run at the same time up to the limit, and the next starts when one is done', async () => {
    const { tool: look, at } = held('look')
    const { submit, clock, starts } = setUp([look])
    for (let count = 0; count < 10; count++) submit('look')
    expect(starts()).toEqual(['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8'])
    at(4).end()
    await settle(clock)
    expect(starts()).toHaveLength(9)
    at(0).end()
    await settle(clock)
    expect(starts()).toHaveLength(10)
  })

  test('an exclusive one runs alone, in its turn', async () => {
    const look = held('look')
    const pay = held('pay', { exclusive: true })
    const { submit, clock, starts, runtime } = setUp([look.tool, pay.tool])
    for (const name of ['look', 'pay', 'look', 'pay']) submit(name)
    expect(starts()).toEqual(['c1'])
    look.at(0).end()
    await settle(clock)
    expect(starts()).toEqual(['c1', 'c2'])
    pay.at(0).end()
    await settle(clock)
    expect(starts()).toEqual(['c1', 'c2', 'c3'])
    look.at(1).end()
    await settle(clock)
    expect(starts()).toEqual(['c1', 'c2', 'c3', 'c4'])
    pay.at(1).end()
    await runtime.settled()
  })

  test('a rejected one takes no slot', async () => {
    const pay = held('pay', { exclusive: true })
    const { submit, starts, results } = setUp([pay.tool])
    submit('nothing')
    submit('pay')
    expect(results()).toHaveLength(1)
    expect(starts()).toEqual(['c2'])
  })

  test('are settled when the last has a result or waits for approval, and not before', async () => {
    const look = held('look')
    const { submit, clock, runtime } = setUp([look.tool, make('ask', () => '', { approve: true })])
    let settled = 0
    const count = () => {
      settled++
    }
    await runtime.settled()
    submit('look')
    submit('look')
    submit('ask')
    void runtime.settled().then(count)
    void runtime.settled().then(count)
    look.at(0).end()
    await settle(clock)
    expect(settled).toBe(0)
    look.at(1).end()
    await settle(clock)
    expect(settled).toBe(2)
  })

  test('those that have not started when the round ends never start, and get no result', async () => {
    const look = held('look')
    const slowHook = () => sleep(10, { clock: hookClock })
    const hookClock = fakeClock()
    const { submit, runtime, events } = setUp([look.tool, make('ask', () => '', { approve: true })], {
      beforeCall: slowHook,
    })
    submit('look')
    submit('ask')
    const settled = runtime.settled()
    runtime.endRound()
    await settled
    await hookClock.advance(100)
    expect(events).toEqual([])
    expect(look.running).toEqual([])
  })
})

describe('the return value of a tool', () => {
  test.each<[string, unknown, ToolResultPart[]]>([
    ['text', 'seen', [{ type: 'text', text: 'seen' }]],
    ['JSON', { ok: [1] }, [{ type: 'json', value: { ok: [1] } }]],
    ['null', null, [{ type: 'json', value: null }]],
    ['nothing', undefined, [{ type: 'text', text: '(no output)' }]],
    [
      'an image of bytes',
      toolContent([
        { type: 'text', text: 'look' },
        { type: 'image', data: new TextEncoder().encode('hello'), mediaType: 'image/png' },
      ]),
      [
        { type: 'text', text: 'look' },
        { type: 'image', data: 'aGVsbG8=', mediaType: 'image/png' },
      ],
    ],
  ])('%s is its result', async (_, value, output) => {
    const { submit, result, failures } = setUp([make('look', async () => value)])
    submit('look')
    expect(await result()).toMatchObject({ output, isError: false })
    expect(failures).toEqual([])
  })

  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  test.each<[string, unknown]>([
    ['a bigint', 10n],
    ['a cycle', cycle],
    ['invalid content', toolContent([{ type: 'video' } as never])],
  ])('%s is not a valid result, and the model gets the error', async (_, value) => {
    const { submit, result, failures } = setUp([make('look', () => value)])
    submit('look')
    const { output, isError } = await result()
    expect(isError).toBe(true)
    expect(textOf(output)).toMatch(/^The tool failed: ./)
    expect(failures).toHaveLength(1)
  })

  test('a large one is complete in the event and truncated for the model, with a note that says how much', async () => {
    const whole = `${'a'.repeat(400)}${'b'.repeat(600)}`
    const { submit, result } = setUp([make('look', () => whole)], { maxResultChars: 100 })
    submit('look')
    const { output, shown } = await result()
    expect(output).toEqual([{ type: 'text', text: whole }])
    expect(textOf(shown)).toBe(
      `${'a'.repeat(50)}\n[… 900 of 1000 characters left out here …]\n${'b'.repeat(50)}`,
    )
  })

  test('a very large one is truncated in the event too, but never shorter than for the model', async () => {
    const whole = `${'a'.repeat(400)}${'b'.repeat(600)}`
    const { submit, result } = setUp([make('look', () => whole)], {
      maxResultChars: 100,
      maxOutputChars: 400,
    })
    submit('look')
    const { output, shown } = await result()
    expect(textOf(output)).toBe(
      `${'a'.repeat(200)}\n[… 600 of 1000 characters left out here …]\n${'b'.repeat(200)}`,
    )
    expect(textOf(shown)).toContain('[… 900 of 1000 characters left out here …]')
    const generous = setUp([make('look', () => whole, { maxResultChars: 1000 })], { maxOutputChars: 400 })
    generous.submit('look')
    const all = await generous.result()
    expect(all.output).toEqual([{ type: 'text', text: whole }])
    expect(all).not.toHaveProperty('shown')
  })

  test('the tool’s own limit overrides the agent’s', async () => {
    const whole = 'x'.repeat(1000)
    const long = setUp([make('look', () => whole, { maxResultChars: 1000 })], { maxResultChars: 10 })
    long.submit('look')
    expect(await long.result()).not.toHaveProperty('shown')
    const short = setUp([make('look', () => whole, { maxResultChars: 10 })], { maxResultChars: 1000 })
    short.submit('look')
    expect(textOf((await short.result()).shown)).toContain('[… 990 of 1000')
  })
})

describe('failures are reported to the model and to the loop', () => {
  test('a tool that throws, at once or later', async () => {
    for (const run of [
      () => {
        throw new Error('no such order')
      },
      () => Promise.reject(new Error('no such order')),
      async function* () {
        yield 1
        throw new Error('no such order')
      },
    ]) {
      const { submit, result, failures } = setUp([make('look', run)])
      submit('look')
      expect(await result()).toMatchObject({
        output: [{ type: 'text', text: 'The tool failed: no such order' }],
        isError: true,
      })
      expect(failures).toEqual([['look', 'The tool failed: no such order']])
    }
  })

  test('a tool that throws something strange', async () => {
    for (const thrown of [undefined, null, 0, '', { toString: null }]) {
      const { submit, result } = setUp([make('look', () => Promise.reject(thrown))])
      submit('look')
      expect((await result()).isError).toBe(true)
    }
  })

  test('an unknown tool, with the closest name and all names', () => {
    const { submit, results, failures, starts } = setUp([
      make('get_weather', () => ''),
      make('refund', () => ''),
    ])
    submit('getWether')
    expect(textOf(results()[0]?.output)).toBe(
      "There is no tool named 'getWether'. Did you mean 'get_weather'? Available: get_weather, refund.",
    )
    expect(failures).toHaveLength(1)
    expect(starts()).toEqual([])
  })

  test('an unknown tool of an agent without tools', () => {
    const { submit, results } = setUp([])
    submit('look')
    expect(textOf(results()[0]?.output)).toContain('Answer without tools')
  })

  test('arguments that could not be parsed', () => {
    const { submit, results, failures, starts } = setUp([make('look', () => '')])
    submit('look', {}, { problem: 'the arguments are not valid JSON: oops' })
    expect(results()[0]).toMatchObject({ isError: true, ms: 0 })
    expect(textOf(results()[0]?.output)).toBe(
      'Not run: the arguments are not valid JSON: oops. Call the tool again with complete arguments, as one JSON object.',
    )
    expect(failures).toHaveLength(1)
    expect(starts()).toEqual([])
  })

  test('arguments that do not match the schema, naming each field', () => {
    const input = z.object({ id: z.string(), count: z.number() })
    const look = tool({ name: 'look', description: 'd', input, run: () => '' })
    const { submit, results, failures, starts } = setUp([look])
    submit('look', { id: 7 })
    const text = textOf(results()[0]?.output)
    expect(text).toContain("Not run: the arguments do not match the schema of 'look'.")
    expect(text).toMatch(/\n- id: .*string/)
    expect(text).toMatch(/\n- count: .*number/)
    expect(failures).toHaveLength(1)
    expect(starts()).toEqual([])
  })

  test('arguments checked against plain JSON Schema, which takes a turn', async () => {
    const input = { jsonSchema: { type: 'object', properties: { id: { type: 'string' } } } }
    const look = tool({ name: 'look', description: 'd', input, run: () => 'seen' })
    const { submit, clock, runtime, results } = setUp([look])
    submit('look', { id: 7 })
    submit('look', { id: 'a' })
    // The validator is loaded from disk on first use, which the fake clock does not control.
    await runtime.settled()
    await settle(clock)
    expect(results()).toHaveLength(2)
    expect(textOf(results().find(({ callId }) => callId === 'c1')?.output)).toContain('- id: ')
    expect(textOf(results().find(({ callId }) => callId === 'c2')?.output)).toBe('seen')
  })

  test('a validator that returns nonsense later leaves no call without a result', async () => {
    const validate = async () => ({ issues: [null] }) as never
    const input = { jsonSchema: { type: 'object' }, validate }
    const look = tool({ name: 'look', description: 'd', input, run: () => '' })
    expect((await look.schema.check({})).issues).toHaveLength(1)
    const { submit, result } = setUp([look])
    submit('look')
    expect((await result()).isError).toBe(true)
  })

  test('thousands of issues are not all listed', () => {
    const validate = () => ({ issues: Array.from({ length: 1000 }, () => ({ message: 'no' })) })
    const input = { jsonSchema: { type: 'object' }, validate }
    const { submit, results } = setUp([tool({ name: 'look', description: 'd', input, run: () => '' })])
    submit('look')
    expect(textOf(results()[0]?.output)?.split('\n- ')).toHaveLength(21)
  })
})

describe('the status of a call', () => {
  const look = make('look', ({ how }) => {
    if (how === 'hang') return forever()
    if (how === 'throw') throw new Error('no')
    return how === 'bigint' ? 10n : 'seen'
  })
  const vague = make('vague', () => '', { approve: () => Promise.reject(new Error('no idea')) })

  type ExpectedStatus = [ToolResultEvent['status'], isError: boolean, failures: number]
  type SubmitArgs = Parameters<ReturnType<typeof setUp>['submit']>
  type Hooks = Pick<Partial<RuntimeOptions<unknown>>, 'beforeCall' | 'afterCall'>

  test.each<[string, ExpectedStatus, SubmitArgs, Hooks?]>([
    ['returned', ['ok', false, 0], ['look']],
    ['threw', ['failed', true, 1], ['look', { how: 'throw' }]],
    ['returned a value that is not JSON', ['failed', true, 1], ['look', { how: 'bigint' }]],
    ['timed out', ['timeout', true, 1], ['look', { how: 'hang' }]],
    ['has no tool', ['rejected', true, 1], ['nothing']],
    ['could not be parsed', ['rejected', true, 1], ['look', {}, { problem: 'no JSON' }]],
    ['was blocked', ['blocked', true, 0], ['look'], { beforeCall: () => ({ block: 'no' }) }],
    ['was denied', ['denied', true, 0], ['look', {}, { decision: { approved: false } }]],
    [
      'had a beforeCall hook that threw',
      ['failed', true, 1],
      ['look'],
      { beforeCall: () => Promise.reject(1) },
    ],
    [
      'had an afterCall hook that threw',
      ['failed', true, 1],
      ['look'],
      { afterCall: () => Promise.reject(1) },
    ],
    ['had an approval check that failed', ['failed', true, 1], ['vague']],
    [
      'was turned into an error',
      ['failed', true, 1],
      ['look'],
      { afterCall: () => ({ output: 1, isError: true }) },
    ],
    ['was only replaced', ['ok', false, 0], ['look'], { afterCall: () => ({ output: 1 }) }],
    [
      'timed out and was replaced',
      ['timeout', true, 1],
      ['look', { how: 'hang' }],
      { afterCall: () => ({ output: 'late' }) },
    ],
    [
      'failed and was replaced',
      ['ok', false, 0],
      ['look', { how: 'throw' }],
      { afterCall: () => ({ output: 'fine', isError: false }) },
    ],
  ])('of one that %s', async (_, expected, args, hooks = {}) => {
    const { submit, result, failures } = setUp([look, vague], hooks)
    submit(...args)
    const { status, isError } = await result()
    expect([status, isError, failures.length]).toEqual(expected)
  })

  test('of one that was canceled while it ran', async () => {
    const { submit, runtime, results, failures } = setUp([look])
    submit('look', { how: 'hang' })
    runtime.cancel('enough')
    expect(results().map(({ status, isError }) => [status, isError])).toEqual([['canceled', true]])
    expect(failures).toEqual([])
  })
})

describe('a timeout', () => {
  test('stops the tool, is reported to the model and frees its slot', async () => {
    const look = held('look', { timeoutMs: 100 })
    const { submit, clock, results, failures, starts } = setUp([look.tool], { concurrency: 1 })
    submit('look')
    submit('look')
    await clock.advance(99)
    expect(results()).toEqual([])
    expect(look.at(0).context.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(results()).toMatchObject([{ callId: 'c1', isError: true, ms: 100 }])
    expect(textOf(results()[0]?.output)).toBe('The tool did not finish within 100 ms and was stopped.')
    expect(look.at(0).context.signal.reason).toMatchObject({ name: 'TimeoutError' })
    expect(failures).toHaveLength(1)
    expect(starts()).toEqual(['c1', 'c2'])
  })

  test('defaults to the agent’s', async () => {
    const slow = held('slow')
    const own = held('own', { timeoutMs: 500 })
    const { submit, clock, results } = setUp([slow.tool, own.tool], { timeoutMs: 50 })
    submit('own')
    submit('slow')
    await clock.advance(50)
    expect(results().map(({ callId }) => callId)).toEqual(['c2'])
    await clock.advance(450)
    expect(results().map(({ callId }) => callId)).toEqual(['c2', 'c1'])
  })

  test('does not start while the call waits for a slot', async () => {
    const look = held('look', { timeoutMs: 100 })
    const { submit, clock, results } = setUp([look.tool], { concurrency: 1 })
    submit('look')
    submit('look')
    await clock.advance(90)
    look.at(0).end()
    await clock.advance(90)
    expect(results()).toHaveLength(1)
    await clock.advance(10)
    expect(results()).toMatchObject([{ isError: false }, { isError: true, ms: 100 }])
  })

  test('of Infinity sets no timer, and an unneeded timer is canceled', async () => {
    const { submit, clock, runtime, results } = setUp([
      make('endless', forever, { timeoutMs: Number.POSITIVE_INFINITY }),
      make('quick', () => 'seen', { timeoutMs: 10 }),
    ])
    submit('quick')
    await settle(clock)
    submit('endless')
    expect(results()).toHaveLength(1)
    await expect(clock.until(runtime.settled())).rejects.toThrow('no timers left')
    expect(clock.now()).toBe(0)
  })

  test('ignores what the tool does afterwards', async () => {
    const look = held('look', { timeoutMs: 10 })
    const { submit, clock, events } = setUp([look.tool])
    submit('look')
    await clock.advance(10)
    const before = structuredClone(events)
    const { context, end } = look.at(0)
    context.progress('late')
    nestedRunOf(context).relay?.({ type: 'text', text: 'late' })
    end('late')
    await clock.advance(10)
    expect(events).toEqual(before)
  })

  test('leaves no unhandled rejection if the tool fails later', async () => {
    const look = held('look', { timeoutMs: 10 })
    const { submit, clock, results } = setUp([look.tool])
    submit('look')
    await clock.advance(10)
    look.at(0).fail(new Error('late'))
    await settle(clock)
    expect(results()).toHaveLength(1)
  })

  test('ignores a tool that keeps running, even while the afterCall hook runs', async () => {
    const look = held('look', { timeoutMs: 10 })
    const { submit, clock, progress, results } = setUp([look.tool], {
      afterCall: () => sleep(100, { clock }),
    })
    submit('look')
    await clock.advance(50)
    look.at(0).context.progress('late')
    await clock.advance(100)
    expect(results()).toHaveLength(1)
    expect(progress()).toEqual([])
  })
})

describe('progress', () => {
  test('is emitted as it happens, as JSON', async () => {
    const { submit, events, result } = setUp([
      make('look', async (_, context) => {
        const { progress } = context
        progress({ at: 1, when: undefined } as never)
        nestedRunOf(context).relay?.({ type: 'text', text: 'inner' })
        progress('two')
        return 'seen'
      }),
    ])
    submit('look')
    await result()
    expect(events.slice(1, 4)).toStrictEqual([
      { type: 'tool-progress', callId: 'c1', data: { at: 1 } },
      { type: 'tool-progress', callId: 'c1', event: { type: 'text', text: 'inner' } },
      { type: 'tool-progress', callId: 'c1', data: 'two' },
    ])
  })

  test('is a copy: the tool may mutate its own', async () => {
    const state = { at: 1 }
    const { submit, progress, result } = setUp([
      make('look', (_, context) => {
        context.progress(state)
        state.at = 2
        context.progress(state)
      }),
    ])
    submit('look')
    await result()
    expect(progress().map(({ data }) => data)).toEqual([{ at: 1 }, { at: 2 }])
  })

  test('of an async generator is what it yields, and its result what it returns', async () => {
    const { submit, events, result } = setUp([
      make('look', async function* () {
        yield 1
        yield { at: 2 }
        return 'seen'
      }),
    ])
    submit('look')
    expect(await result()).toMatchObject({ output: [{ type: 'text', text: 'seen' }], isError: false })
    expect(events.slice(1, -1)).toStrictEqual([
      { type: 'tool-progress', callId: 'c1', data: 1 },
      { type: 'tool-progress', callId: 'c1', data: { at: 2 } },
    ])
  })

  test('a generator that returns nothing has no output', async () => {
    const { submit, result } = setUp([
      make('look', async function* () {
        yield 1
      }),
    ])
    submit('look')
    expect(textOf((await result()).output)).toBe('(no output)')
  })

  test('that is not JSON fails the tool, and its generator is closed', async () => {
    let closed = false
    const { submit, result } = setUp([
      make('look', async function* () {
        try {
          yield 10n
          return 'seen'
        } finally {
          closed = true
        }
      }),
    ])
    submit('look')
    expect(await result()).toMatchObject({ isError: true })
    expect(closed).toBe(true)
  })

  test('after the result changes nothing', async () => {
    let late: ToolContext | undefined
    const { submit, events, result } = setUp([
      make('look', (_, context) => {
        late = context
        return 'seen'
      }),
    ])
    submit('look')
    await result()
    late?.progress('late')
    expect(events).toHaveLength(2)
  })
})

describe('cancel', () => {
  test('emits one result for every call at once and aborts every signal, but leaves calls that wait for approval to the log', async () => {
    const look = held('look')
    const pay = held('pay', { exclusive: true })
    const { submit, runtime, clock, results, starts, failures } = setUp(
      [look.tool, pay.tool, make('ask', () => '', { approve: true }), make('done', () => 'seen')],
      { beforeCall: ({ name }) => (name === 'done' ? sleep(1000, { clock }) : undefined) },
    )
    for (const name of ['look', 'ask', 'pay', 'done']) submit(name)
    await settle(clock)
    expect(starts()).toEqual(['c1'])
    runtime.cancel('Not finished: enough.')
    expect(results().map(({ callId, output, isError }) => [callId, textOf(output), isError])).toEqual([
      ['c1', 'Not finished: enough.', true],
      ['c3', 'Not finished: enough.', true],
      ['c4', 'Not finished: enough.', true],
    ])
    expect(look.at(0).context.signal.reason).toMatchObject({
      name: 'AbortError',
      message: 'Not finished: enough.',
    })
    await runtime.settled()
    runtime.cancel('again')
    await clock.advance(10_000)
    expect(results()).toHaveLength(3)
    expect(starts()).toEqual(['c1'])
    expect(pay.running).toEqual([])
    expect(failures).toEqual([])
  })

  test('does not wait for a tool that ignores its signal, and its late result changes nothing', async () => {
    const look = held('look')
    const { submit, runtime, clock, events } = setUp([look.tool])
    submit('look')
    await clock.advance(30)
    runtime.cancel('enough')
    expect(events).toHaveLength(2)
    expect(events[1]).toMatchObject({ type: 'tool-result', ms: 30 })
    look.at(0).context.progress('late')
    look.at(0).end('late')
    await settle(clock)
    expect(events).toHaveLength(2)
  })

  test('leaves no unhandled rejection after a late failure', async () => {
    const look = held('look')
    const { submit, runtime, clock, results } = setUp([look.tool])
    submit('look')
    runtime.cancel('enough')
    look.at(0).fail(new Error('late'))
    await settle(clock)
    expect(results()).toHaveLength(1)
  })

  test('lets a generator clean up', async () => {
    const steps: string[] = []
    const { submit, runtime, clock, results } = setUp([
      make('look', async function* (_, { signal }) {
        try {
          yield 'begun'
          await sleep(1000, { clock, signal })
          steps.push('woken')
          yield 'late'
          steps.push('never')
        } finally {
          steps.push('closed')
        }
      }),
    ])
    submit('look')
    await settle(clock)
    runtime.cancel('enough')
    await settle(clock)
    expect(steps).toEqual(['woken', 'closed'])
    expect(results()).toHaveLength(1)
  })

  test('leaves a stuck generator alone', async () => {
    const { submit, runtime, clock, results } = setUp([
      make('look', async function* () {
        yield 1
        await forever()
      }),
    ])
    submit('look')
    await settle(clock)
    runtime.cancel('enough')
    await runtime.settled()
    expect(results()).toHaveLength(1)
  })

  test('leaves no unhandled rejection if the clean-up of a generator fails', async () => {
    const { submit, runtime, clock, results } = setUp([
      make('look', async function* () {
        try {
          yield 1
          await sleep(10, { clock })
          yield 2
        } finally {
          // biome-ignore lint/correctness/noUnsafeFinally: it is what the test is about
          throw new Error('clean-up failed')
        }
      }),
    ])
    submit('look')
    await settle(clock)
    runtime.cancel('enough')
    await clock.advance(10)
    expect(results()).toHaveLength(1)
  })

  test('reaches every call, even if return() of a custom iterator does not return a promise', async () => {
    const handwritten = make('clumsy', () => ({
      next: forever,
      return: () => undefined,
      throw: forever,
      [Symbol.asyncIterator]() {
        return this
      },
    }))
    const { submit, runtime, clock, results } = setUp([handwritten])
    submit('clumsy')
    submit('clumsy')
    await settle(clock)
    expect(() => runtime.cancel('enough')).not.toThrow()
    expect(results()).toHaveLength(2)
  })

  test('by a tool itself, in the turn in which it starts, reaches its signal', () => {
    const seen: boolean[] = []
    const { submit, runtime, results } = setUp([
      make('stop', (_, { signal }) => {
        runtime.cancel('enough')
        seen.push(signal.aborted)
        signal.addEventListener('abort', () => seen.push(true))
        return forever()
      }),
    ])
    submit('stop')
    expect(results()).toHaveLength(1)
    expect(seen).toContain(true)
  })

  test('by a listener of tool-start keeps the tool from running', async () => {
    const ran: string[] = []
    const events: RunEvent[] = []
    const { submit, runtime, clock } = setUp([make('pay', () => ran.push('pay'))], {
      emit: (event) => {
        events.push(event)
        if (event.type === 'tool-start') runtime.cancel('enough')
      },
    })
    submit('pay')
    await settle(clock)
    expect(events.filter(({ type }) => type === 'tool-result')).toHaveLength(1)
    expect(ran).toEqual([])
  })
})

describe('the beforeCall hook', () => {
  test('sees the call as the model made it', async () => {
    const seen: unknown[] = []
    const { submit, result } = setUp([make('look', () => '')], {
      context: 'ours',
      beforeCall: (call) => {
        seen.push(call)
      },
    })
    submit('look', { id: 1 })
    await result()
    expect(seen).toEqual([{ callId: 'c1', runId: 'run_2', name: 'look', input: { id: 1 }, context: 'ours' }])
  })

  test('blocks it with a reason, which does not count as a failure', async () => {
    const { submit, result, starts, failures } = setUp([make('look', () => '')], {
      beforeCall: async () => ({ block: 'not on Sundays' }),
    })
    submit('look')
    const { output, isError } = await result()
    expect([textOf(output), isError]).toEqual(['Not run: not on Sundays', true])
    expect(starts()).toEqual([])
    expect(failures).toEqual([])
  })

  test('replaces the input, which tool-start has', async () => {
    const seen: unknown[] = []
    const { submit, events, result } = setUp([make('look', (input) => seen.push(input))], {
      beforeCall: ({ input }) => ({ input: { ...input, limit: 10 } }),
    })
    submit('look', { id: 1 })
    await result()
    expect(seen).toEqual([{ id: 1, limit: 10 }])
    expect(events[0]).toStrictEqual({
      type: 'tool-start',
      callId: 'c1',
      name: 'look',
      attempt: 1,
      input: { id: 1, limit: 10 },
    })
  })

  test('has its input checked like the model’s', async () => {
    const input = z.object({ id: z.string() })
    const look = tool({ name: 'look', description: 'd', input, run: () => '' })
    const { submit, result, starts } = setUp([look], { beforeCall: () => ({ input: { id: 7 } }) })
    submit('look', { id: 'a' })
    expect(textOf((await result()).output)).toContain('- id: ')
    expect(starts()).toEqual([])
  })

  test.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('policy server down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('policy server down')) as never],
  ])('that %s lets no call run', async (_, beforeCall) => {
    const { submit, result, starts, failures } = setUp([make('look', () => '')], { beforeCall })
    submit('look')
    expect(textOf((await result()).output)).toBe(
      'Not run: the check before this call failed (policy server down).',
    )
    expect(starts()).toEqual([])
    expect(failures).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['true', true],
    ['an input that is not JSON', { input: { n: 1n } }],
  ])('that returns %s lets no call run', async (_, returned) => {
    const { submit, result, starts } = setUp([make('look', () => '')], {
      beforeCall: () => returned as never,
    })
    submit('look')
    expect((await result()).isError).toBe(true)
    expect(starts()).toEqual([])
  })

  test('is not called for a call that cannot run anyway', async () => {
    let asked = 0
    const { submit, clock } = setUp([make('look', () => '')], {
      beforeCall: () => {
        asked++
      },
    })
    submit('nothing')
    submit('look', {}, { problem: 'no JSON' })
    await settle(clock)
    expect(asked).toBe(0)
  })
})

describe('the afterCall hook', () => {
  test('sees the call with the input it ran with, and its result', async () => {
    const seen: unknown[] = []
    const { submit, clock, result } = setUp([make('look', () => sleep(20, { clock }).then(() => 'seen'))], {
      beforeCall: () => ({ input: { id: 2 } }),
      afterCall: (...given) => {
        seen.push(...given)
      },
    })
    submit('look', { id: 1 })
    expect(textOf((await result()).output)).toBe('seen')
    expect(seen).toEqual([
      { callId: 'c1', runId: 'run_2', name: 'look', input: { id: 2 }, context: undefined },
      { output: [{ type: 'text', text: 'seen' }], isError: false, ms: 20 },
    ])
  })

  test('replaces the result with anything a tool may return', async () => {
    const { submit, result } = setUp([make('look', () => 'secret')], {
      afterCall: async () => ({ output: { seen: '***' } }),
    })
    submit('look')
    const { output, shown, isError } = await result()
    expect([output, shown, isError]).toEqual([[{ type: 'json', value: { seen: '***' } }], undefined, false])
  })

  test('makes a result an error, and an error a result', async () => {
    const bad = setUp([make('look', () => 'odd')], { afterCall: () => ({ output: 'no', isError: true }) })
    bad.submit('look')
    expect((await bad.result()).isError).toBe(true)
    const recovered = setUp([make('look', () => Promise.reject(new Error('x')))], {
      afterCall: () => ({ output: 'fine', isError: false }),
    })
    recovered.submit('look')
    expect((await recovered.result()).isError).toBe(false)
    expect(recovered.failures).toEqual([])
  })

  test('replaces the text of a failure, which stays a failure', async () => {
    const { submit, result, failures } = setUp(
      [make('look', () => Promise.reject(new Error('password x')))],
      {
        afterCall: () => ({ output: 'It failed.' }),
      },
    )
    submit('look')
    expect(await result()).toMatchObject({ output: [{ type: 'text', text: 'It failed.' }], isError: true })
    expect(failures).toEqual([['look', 'It failed.']])
  })

  test.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('redaction down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('redaction down')) as never],
    ['returns a value that is not JSON', () => ({ output: 1n }) as never],
  ])('that %s hides the result', async (_, afterCall) => {
    const { submit, result, failures } = setUp([make('look', () => 'secret')], { afterCall })
    submit('look')
    const { output, isError } = await result()
    expect(isError).toBe(true)
    expect(textOf(output)).toContain('The tool ran, but its result cannot be shown')
    expect(textOf(output)).not.toContain('secret')
    expect(failures).toHaveLength(1)
  })

  test('is not called for a call that did not run', async () => {
    let asked = 0
    const { submit, clock } = setUp([make('look', () => '')], {
      beforeCall: () => ({ block: 'no' }),
      afterCall: () => {
        asked++
      },
    })
    submit('look')
    submit('nothing')
    await settle(clock)
    expect(asked).toBe(0)
  })
})

describe('a call that needs approval', () => {
  test('emits a request instead of running, and the runtime is settled', async () => {
    const { submit, events, runtime } = setUp([make('pay', () => '', { approve: true })])
    submit('pay', { amount: 5 })
    await runtime.settled()
    expect(events).toStrictEqual([
      { type: 'approval-request', callId: 'c1', name: 'pay', input: { amount: 5 } },
    ])
  })

  test('includes the reason, if any', () => {
    const { submit, events } = setUp([make('pay', () => '', { approve: () => 'more than 100' })])
    submit('pay')
    expect(events[0]).toMatchObject({ type: 'approval-request', reason: 'more than 100' })
  })

  test('may depend on the input, sync or async', async () => {
    for (const later of [false, true]) {
      const { submit, clock, runtime, story } = setUp([
        make('pay', () => '', {
          approve: ({ amount }) => {
            const asks = Number(amount) > 100
            return later ? sleep(10, { clock }).then(() => asks) : asks
          },
        }),
      ])
      submit('pay', { amount: 500 })
      submit('pay', { amount: 5 })
      await clock.until(runtime.settled())
      expect(story()).toEqual(['approval-request c1', 'tool-start c2', 'tool-result c2'])
    }
  })

  test('passes the caller’s context and the schema’s output to approve', async () => {
    const seen: unknown[] = []
    const pay = tool({
      name: 'pay',
      description: 'd',
      input: z.object({ amount: z.string().transform(Number) }),
      run: () => '',
      approve: (...given) => {
        seen.push(...given)
        return false
      },
    })
    const { submit, result } = setUp([pay], { context: 'ours' })
    submit('pay', { amount: '5' })
    await result()
    expect(seen).toEqual([{ amount: 5 }, { callId: 'c1', context: 'ours' }])
  })

  test.each<[string, () => never]>([
    [
      'throws',
      () => {
        throw new Error('no idea')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no idea')) as never],
  ])('whose approve %s is not run', async (_, approve) => {
    const { submit, result, starts, failures } = setUp([make('pay', () => '', { approve })])
    submit('pay')
    expect(textOf((await result()).output)).toBe('Not run: the approval check failed (no idea).')
    expect(starts()).toEqual([])
    expect(failures).toHaveLength(1)
  })

  test('shows the input from the hook', async () => {
    const { submit, clock, events } = setUp([make('pay', () => '', { approve: true })], {
      beforeCall: () => ({ input: { amount: 10 } }),
    })
    submit('pay', { amount: 1000 })
    await settle(clock)
    expect(events).toMatchObject([{ type: 'approval-request', input: { amount: 10 } }])
  })

  test('runs, once approved, with the input that was shown, not with the model’s', async () => {
    const paid: unknown[] = []
    const cashier = agent({
      model: scriptedModel(script.tool('pay', { amount: 1000 }, 'paid')),
      tools: [make('pay', (input) => paid.push(input), { approve: true })],
      beforeCall: ({ input }) => ({ input: { amount: Math.min(10, Number(input.amount)) } }),
    })
    const run = cashier.stream('pay')
    const { approvals } = await run.result
    expect(approvals).toMatchObject([{ input: { amount: 10 } }])
    await run.resume({ callId: approvals[0]?.callId ?? '', approved: true }).result
    expect(paid).toEqual([{ amount: 10 }])
  })
})

describe('a decided call', () => {
  const seen: unknown[] = []
  const pay = tool({
    name: 'pay',
    description: 'd',
    input: z.object({ amount: z.number() }),
    approve: true,
    run: (input) => {
      seen.push(input)
      return 'paid'
    },
  })

  test('runs when approved, without another request', async () => {
    seen.length = 0
    const { submit, story, result } = setUp([pay])
    submit('pay', { amount: 5 }, { decision: { approved: true } })
    expect(textOf((await result()).output)).toBe('paid')
    expect(story()).toEqual(['tool-start c1', 'tool-result c1'])
    expect(seen).toEqual([{ amount: 5 }])
  })

  test('runs with the changed input, which tool-start has', async () => {
    seen.length = 0
    const { submit, events, result } = setUp([pay])
    submit('pay', { amount: 500 }, { decision: { approved: true, input: { amount: 50 } } })
    await result()
    expect(seen).toEqual([{ amount: 50 }])
    expect(events[0]).toMatchObject({ type: 'tool-start', input: { amount: 50 } })
  })

  test('calls the hook for a changed input, and not again for the original', async () => {
    for (const input of [undefined, { amount: 50 }]) {
      const asked: unknown[] = []
      const { submit, result } = setUp([pay], {
        beforeCall: (call) => {
          asked.push(call.input)
        },
      })
      submit('pay', { amount: 500 }, { decision: { approved: true, ...(input && { input }) } })
      await result()
      expect(asked).toEqual(input ? [input] : [])
    }
  })

  test('is not run with an invalid input', async () => {
    seen.length = 0
    const { submit, result, starts } = setUp([pay])
    submit('pay', { amount: 500 }, { decision: { approved: true, input: { amount: 'much' } } })
    expect(textOf((await result()).output)).toContain('- amount: ')
    expect(starts()).toEqual([])
    expect(seen).toEqual([])
  })

  test.each<[string | undefined, string]>([
    ['too much', 'Not run: the call was denied: too much'],
    [undefined, 'Not run: the call was denied.'],
  ])('is not run when denied with the reason %j, which does not count as a failure', async (reason, text) => {
    const { submit, result, starts, failures } = setUp([pay])
    submit('pay', { amount: 5 }, { decision: { approved: false, ...(reason && { reason }) } })
    const { output, isError } = await result()
    expect([textOf(output), isError]).toEqual([text, true])
    expect(starts()).toEqual([])
    expect(failures).toEqual([])
  })

  test('gets a result when its tool no longer exists', async () => {
    const { submit, result, failures } = setUp([])
    submit('pay', { amount: 5 }, { decision: { approved: true } })
    expect(textOf((await result()).output)).toContain("the tool 'pay' no longer exists")
    expect(failures).toHaveLength(1)
  })
})

describe('a call whose nested run waits for approval', () => {
  const request = { type: 'approval-request', callId: 'inner', name: 'pay', input: { amount: 5 } } as const

  test('emits a request with its id as prefix, and has no result yet', async () => {
    const { submit, events, runtime } = setUp([make('ask', async () => pending([request]))])
    submit('ask')
    await runtime.settled()
    expect(events).toStrictEqual([
      { type: 'tool-start', callId: 'c1', name: 'ask', attempt: 1 },
      { ...request, callId: 'c1/inner' },
    ])
  })

  test('resumes where it was, without another request', async () => {
    const resumed: Resumed = {
      events: [{ type: 'text', text: 'before' }],
      decisions: [{ type: 'approval', callId: 'inner', approved: true }],
    }
    const seen: unknown[] = []
    const ask = make('ask', (_, context) => seen.push(nestedRunOf(context).resumed), { approve: true })
    const { submit, story, result } = setUp([ask])
    submit('ask', {}, { resumed, attempt: 2 })
    await result()
    expect(story()).toEqual(['tool-start c1', 'tool-result c1'])
    expect(seen).toEqual([resumed])
  })

  test('is not known while it waits, so that it can be submitted again', async () => {
    const { submit, results, runtime } = setUp([make('ask', () => pending([request]))])
    const callId = submit('ask')
    expect(runtime.has(callId)).toBe(true)
    await runtime.settled()
    expect(runtime.has(callId)).toBe(false)
    runtime.cancel('enough')
    expect(results()).toEqual([])
  })
})

describe('a repeated call', () => {
  const repeats = () => repeatDetector({ warn: 3, block: 6 })

  async function callTimes(times: number, look: Tool, input: JsonObject = {}) {
    const it = setUp([look], { repeats: repeats(), maxResultChars: 10 })
    for (let time = 0; time < times; time++) {
      it.submit('look', input)
      await it.clock.until(it.runtime.settled())
    }
    return it
  }

  test('gets a warning with the result from the third time on, and is blocked from the sixth', async () => {
    const { results, starts, failures } = await callTimes(
      7,
      make('look', () => 'nothing'),
    )
    expect(results().map(({ shown }) => shown?.length)).toEqual([
      undefined,
      undefined,
      2,
      2,
      2,
      undefined,
      undefined,
    ])
    expect(results()[2]).toMatchObject({
      output: [{ type: 'text', text: 'nothing' }],
      shown: [{ type: 'text', text: 'nothing' }, { text: expect.stringContaining('for the 3rd time') }],
      isError: false,
    })
    expect(textOf(results()[5]?.output)).toContain(
      'Not run: this exact call has returned the same result 5 times',
    )
    expect(results().map(({ isError }) => isError)).toEqual([false, false, false, false, false, true, true])
    expect(starts()).toHaveLength(5)
    expect(failures).toEqual([])
  })

  test('with a large result is truncated and gets a warning', async () => {
    const { results } = await callTimes(
      3,
      make('look', () => 'x'.repeat(100)),
    )
    expect(textOf(results()[2]?.shown)).toMatch(/90 of 100 characters left out[\s\S]*3rd time/)
    expect(textOf(results()[2]?.output)).toBe('x'.repeat(100))
  })

  test('that fails each time gets a warning too', async () => {
    const { results } = await callTimes(
      3,
      make('look', () => Promise.reject(new Error('no'))),
    )
    expect(textOf(results()[2]?.shown)).toContain('3rd time')
    expect(results()[2]?.isError).toBe(true)
  })

  test('with another result each time is left alone', async () => {
    let count = 0
    const { results, starts } = await callTimes(
      8,
      make('look', () => ++count),
    )
    expect(starts()).toHaveLength(8)
    expect(results().every(({ shown }) => shown === undefined)).toBe(true)
  })

  test('of a polling tool is left alone, even if the detector has recorded it', async () => {
    const known = repeats()
    for (let time = 0; time < 5; time++) known.record('look', {}, [{ type: 'text', text: 'wait' }])
    const { submit, result } = setUp([make('look', () => 'wait', { polling: true })], { repeats: known })
    submit('look')
    expect((await result()).isError).toBe(false)
  })

  test('of a polling tool is left alone', async () => {
    const { results, starts } = await callTimes(
      8,
      make('look', () => 'wait', { polling: true }),
    )
    expect(starts()).toHaveLength(8)
    expect(results().every(({ shown }) => shown === undefined)).toBe(true)
  })
})

describe('for any events in any order', () => {
  const kinds = ['return', 'throw', 'hang', 'obey', 'generate', 'ask', 'ask-later', 'nonsense'] as const
  const callArbitrary = fc.record({
    kind: fc.constantFrom(...kinds, 'unknown', 'problem', 'denied', 'approved'),
    at: fc.nat(60),
    takes: fc.nat(60),
    exclusive: fc.boolean(),
  })
  const plan = fc.record({
    calls: fc.array(callArbitrary, { minLength: 1, maxLength: 12 }),
    concurrency: fc.integer({ min: 1, max: 4 }),
    hookMs: fc.option(fc.nat(20), { nil: undefined }),
    cancelAt: fc.option(fc.nat(150), { nil: undefined }),
  })

  test('every call has one result or waits for approval; nothing runs in parallel with an exclusive one', async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ calls, concurrency, hookMs, cancelAt }) => {
        const running = new Set<string>()
        const alone = new Set<string>()
        let most = 0
        let crowded = false
        const hook = () => (hookMs === undefined ? undefined : sleep(hookMs, { clock }))
        const tools = kinds.flatMap((kind) =>
          [false, true].map((exclusive) =>
            make(`${kind}_${exclusive}`, runOf(kind), {
              exclusive,
              timeoutMs: 50,
              approve:
                kind === 'ask'
                  ? true
                  : kind === 'ask-later'
                    ? () => sleep(5, { clock }).then(() => true)
                    : false,
            }),
          ),
        )
        const { clock, events, failures, runtime, submit } = setUp(tools, {
          concurrency,
          beforeCall: hook,
          afterCall: hook,
          emit: (event) => {
            events.push(event)
            if (event.type === 'tool-result') running.delete(event.callId)
            if (event.type !== 'tool-start') return
            running.add(event.callId)
            most = Math.max(most, running.size)
            if (running.size > 1 && [...running].some((callId) => alone.has(callId))) crowded = true
          },
        })

        function runOf(kind: (typeof kinds)[number]): Run {
          const wait = (input: JsonObject, signal?: AbortSignal) =>
            sleep(Number(input.takes), { clock, ...(signal && { signal }) })
          if (kind === 'generate')
            return async function* (input) {
              yield 1
              await wait(input)
              yield 2
              return 'seen'
            }
          return async (input, { signal, progress }) => {
            progress('begun')
            await wait(input, kind === 'obey' ? signal : undefined)
            progress('late or not')
            if (kind === 'throw') throw new Error('no')
            if (kind === 'hang') return forever()
            return kind === 'nonsense' ? 10n : 'seen'
          }
        }

        const canceledAt = cancelAt ?? Number.POSITIVE_INFINITY
        const submitted: { callId: string; asks: boolean }[] = []
        for (const { kind, at, takes, exclusive } of calls)
          clock.after(at, () => {
            if (at >= canceledAt) return
            const decided = kind === 'denied' || kind === 'approved'
            const name = decided ? 'return' : kind === 'problem' ? 'throw' : kind
            if (exclusive) alone.add(`c${submitted.length + 1}`)
            const callId = submit(
              `${name}_${exclusive}`,
              { takes },
              {
                ...(kind === 'problem' && { problem: 'no JSON' }),
                ...(decided && { decision: { approved: kind === 'approved' } }),
              },
            )
            submitted.push({ callId, asks: kind === 'ask' || kind === 'ask-later' })
          })
        if (cancelAt !== undefined) clock.after(cancelAt, () => runtime.cancel('enough'))
        await clock.advance(cancelAt ?? 100)
        if (cancelAt !== undefined)
          for (const { callId } of submitted) {
            const asked = events.some((it) => it.type === 'approval-request' && it.callId === callId)
            const answers = events.filter((it) => it.type === 'tool-result' && it.callId === callId)
            expect(answers).toHaveLength(asked ? 0 : 1)
          }
        await clock.advance(5000)
        await runtime.settled()

        for (const { callId, asks } of submitted) {
          const mine = events.filter((event) => 'callId' in event && event.callId === callId)
          const types = mine.map(({ type }) => type)
          const count = (type: string) => types.filter((it) => it === type).length
          const waits = asks && count('approval-request') > 0
          expect(count('tool-result')).toBe(waits ? 0 : 1)
          expect(count('tool-start')).toBeLessThanOrEqual(1)
          if (asks) expect(count('tool-start')).toBe(0)
          if (waits) expect(types).toEqual(['approval-request'])
          else expect(types.at(-1)).toBe('tool-result')
          if (count('tool-progress') > 0) expect(types[0]).toBe('tool-start')
        }
        expect(most).toBeLessThanOrEqual(concurrency)
        expect(crowded).toBe(false)
        expect(events.filter(({ type }) => type === 'tool-result').length).toBeGreaterThanOrEqual(
          failures.length,
        )
      }),
      { numRuns: sized(300) },
    )
  })
})

describe('runSignal', () => {
  test('outlives the call, and is aborted when the run is canceled', async () => {
    const held = heldSignals()
    const { runtime, submit } = setUp([held.tool])
    submit('keep')
    await runtime.settled()
    runtime.endRound()
    expect(held.signals[0]?.aborted).toBe(false)
    runtime.cancel('enough')
    expect(held.signals[0]?.aborted).toBe(true)
  })

  test('is not aborted when the run completes', async () => {
    const held = heldSignals()
    const { runtime, submit } = setUp([held.tool])
    submit('keep')
    await runtime.settled()
    runtime.cancel('over', { keepBackground: true })
    expect(held.signals[0]?.aborted).toBe(false)
  })

  test('of a suspended run is aborted when the resumed run is canceled', async () => {
    const held = heldSignals()
    const first = setUp([held.tool], { originId: 'run_waiting' })
    first.submit('keep')
    await first.runtime.settled()
    const later = setUp([held.tool], { originId: 'run_waiting', runId: 'run_later' })
    const other = setUp([held.tool], { originId: 'run_other' })
    other.runtime.cancel('not meant')
    expect(held.signals[0]?.aborted).toBe(false)
    later.runtime.cancel('enough')
    expect(held.signals[0]?.aborted).toBe(true)
  })

  test('of a nested run is also aborted with the parent’s', async () => {
    const held = heldSignals()
    const outer = new AbortController()
    const { runtime, submit } = setUp([held.tool], { runSignal: outer.signal })
    submit('keep')
    await runtime.settled()
    runtime.cancel('over', { keepBackground: true })
    outer.abort()
    expect(held.signals[0]?.aborted).toBe(true)
  })

  /** A tool that records its signals. */
  function heldSignals() {
    const signals: AbortSignal[] = []
    return { signals, tool: make('keep', (_, { runSignal }) => void signals.push(runSignal)) }
  }
})
