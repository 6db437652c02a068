import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Model, RunEvent } from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import type { Tool } from '../tools/index.ts'
import { tool } from '../tools/index.ts'
import {
  collect,
  echo,
  failOnUnhandledRejections,
  of,
  pairs,
  refund,
  refundModel,
  refundOnApproval,
  refunds,
  typesOf,
} from './agent.test-kit.ts'
import { agent } from './agent.ts'
import type { AgentOptions } from './options.ts'

failOnUnhandledRejections()

function desk(model = refundModel(500)) {
  refunds.length = 0
  return { model, desk: agent({ model, tools: [echo, refund] }) }
}

describe('approval', () => {
  test('a call that needs approval suspends the run when everything else is done', async () => {
    const { desk: one, model } = desk(refundModel(500, 50))
    const run = one.stream('refund me')
    const events = await collect(run)
    expect(of(events, 'approval-request')).toEqual([
      {
        type: 'approval-request',
        callId: 'call_2',
        name: 'refund',
        input: { amount: 500 },
        reason: '500 is a lot',
      },
    ])
    expect(events.at(-1)).toMatchObject({ type: 'run-end', outcome: 'suspended' })
    expect(refunds.map(({ amount }) => amount)).toEqual([50])
    expect((await run.result).approvals).toMatchObject([{ callId: 'call_2' }])
    expect(model.requests).toHaveLength(1)
  })

  test('approved, the call runs, and the run continues', async () => {
    const { desk: one, model } = desk()
    const first = one.stream('refund me')
    await first.result
    const second = first.resume({ callId: 'call_2', approved: true })
    const events = await collect(second)
    expect(typesOf(events).slice(0, 4)).toEqual(['run-start', 'approval', 'tool-start', 'tool-result'])
    expect(events[0]).toMatchObject({ resumes: first.id, input: [] })
    expect(refunds).toEqual([{ amount: 500, key: `${first.id}:call_2`, attempt: 1 }])
    const result = await second.result
    expect(result).toMatchObject({ outcome: 'completed', text: 'All settled.', rounds: 2 })
    expect(pairs(result)).toEqual([
      ['call_1', 'x'],
      ['call_2', 'refunded 500'],
    ])
    expect(model.requests[1]?.messages).toHaveLength(4)
  })

  test('denied, the model gets the reason and nothing runs', async () => {
    const { desk: one } = desk()
    const first = one.stream('refund me')
    await first.result
    const result = await first.resume([{ callId: 'call_2', approved: false, reason: 'ask the manager' }])
      .result
    expect(refunds).toEqual([])
    expect(pairs(result)[1]).toEqual(['call_2', 'Not run: the call was denied: ask the manager'])
  })

  test('approved with changed input, the call runs with it, and the log shows it', async () => {
    const { desk: one } = desk()
    const first = one.stream('refund me')
    await first.result
    const second = first.resume({ callId: 'call_2', approved: true, input: { amount: 120 } })
    const events = await collect(second)
    expect(refunds).toMatchObject([{ amount: 120 }])
    expect(of(events, 'approval')).toMatchObject([{ input: { amount: 120 } }])
    expect(of(events, 'tool-start')).toMatchObject([{ input: { amount: 120 } }])
  })

  test('the input from a hook is what the request shows, and what runs', async () => {
    refunds.length = 0
    const seen: unknown[] = []
    const halving = () =>
      agent({
        model: refundModel(1000),
        tools: [echo, refund],
        beforeCall: ({ name, input }) => {
          if (name !== 'refund') return undefined
          seen.push(input.amount)
          return { input: { amount: Number(input.amount) / 2 } }
        },
      }).stream('refund me')
    const first = halving()
    expect((await first.result).approvals).toMatchObject([{ input: { amount: 500 } }])
    await first.resume({ callId: 'call_2', approved: true }).result
    expect(refunds).toMatchObject([{ amount: 500 }])
    // A changed input is new to the hook, which may block it but not replace it.
    const second = halving()
    await second.result
    await second.resume({ callId: 'call_2', approved: true, input: { amount: 300 } }).result
    expect(refunds).toMatchObject([{ amount: 500 }, { amount: 300 }])
    expect(seen).toEqual([1000, 1000, 300])
  })

  test('some calls can be decided while others keep waiting', async () => {
    const { desk: one } = desk(refundModel(500, 600))
    const first = one.stream('refund me')
    await first.result
    const second = first.resume({ callId: 'call_3', approved: true })
    expect(await second.result).toMatchObject({ outcome: 'suspended', approvals: [{ callId: 'call_2' }] })
    const third = second.resume({ callId: 'call_2', approved: false })
    expect(await third.result).toMatchObject({ outcome: 'completed' })
    expect(refunds).toEqual([{ amount: 600, key: `${first.id}:call_3`, attempt: 1 }])
  })

  test('another process can decide, with only the events', async () => {
    const { desk: one } = desk()
    const saved = JSON.stringify(await collect(one.stream('refund me')))
    const otherProcess = agent({ model: scriptedModel(['Done elsewhere.']), tools: [echo, refund] })
    const run = otherProcess.resume(JSON.parse(saved), { decisions: [{ callId: 'call_2', approved: true }] })
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Done elsewhere.' })
    expect(refunds).toHaveLength(1)
  })

  test.each([
    ['no decision', [], /pass at least one decision; calls waiting for a decision: 'call_2' \(refund\)/],
    ['a call that does not wait', [{ callId: 'call_1', approved: true }], /no call 'call_1' is waiting/],
    [
      'the same call twice',
      [
        { callId: 'call_2', approved: true },
        { callId: 'call_2', approved: true },
      ],
      /two decisions for the call/,
    ],
    ['neither approved nor denied', [{ callId: 'call_2' }], /approved: true \| false/],
    ['a reason that is not a string', [{ callId: 'call_2', approved: false, reason: 1 }], /must be a string/],
    ['input that is not an object', [{ callId: 'call_2', approved: true, input: 'x' }], /must be an object/],
    [
      'input that does not match the schema',
      [{ callId: 'call_2', approved: true, input: { amount: 'x' } }],
      /does not fit the schema of 'refund': amount: /,
    ],
  ])('%s is rejected before anything happens', async (_, decisions, message) => {
    const run = desk().desk.stream('refund me')
    await run.result
    expect(() => run.resume(decisions as never)).toThrow(message)
    expect(refunds).toEqual([])
  })

  test('a run is resumed once: a second click does not pay twice', async () => {
    const run = desk().desk.stream('refund me')
    await run.result
    expect(() => run.resume({ callId: 'nonsense', approved: true })).toThrow(/no call 'nonsense' is waiting/)
    const next = run.resume({ callId: 'call_2', approved: true })
    expect(() => run.resume({ callId: 'call_2', approved: true })).toThrow(/was already resumed/)
    await next.result
    expect(refunds).toHaveLength(1)
  })

  test('only a suspended run can be resumed', async () => {
    const run = agent({ model: scriptedModel(script.text('hi')) }).stream('hi')
    expect(() => run.resume({ callId: 'x', approved: true })).toThrow(/still running/)
    await run.result
    expect(() => run.resume({ callId: 'x', approved: true })).toThrow(/this one is completed/)
    const events = await collect(run)
    expect(() => agent({ model: scriptedModel([]) }).resume(events)).toThrow(
      /the run has ended \(completed\)/,
    )
  })

  test.each([
    ['nothing', undefined],
    ['an empty log', []],
    ['a log without its beginning', [{ type: 'text', text: 'x' }]],
  ])('%s cannot be resumed', (_, log) => {
    expect(() => agent({ model: scriptedModel([]) }).resume(log as never)).toThrow(
      /starting with its 'run-start'/,
    )
  })

  test('a log from a newer version is rejected', () => {
    const log: RunEvent[] = [{ type: 'run-start', version: 3, runId: 'r', agent: 'a', input: [] }]
    expect(() => agent({ model: scriptedModel([]) }).resume(log)).toThrow(/update millrace/)
  })

  test('canceling a resumed run emits results for calls that still wait', async () => {
    const { desk: one } = desk(refundModel(500, 600))
    const first = one.stream('refund me')
    await first.result
    const second = first.resume({ callId: 'call_3', approved: true })
    second.cancel('closed')
    const result = await second.result
    expect(result.outcome).toBe('canceled')
    expect(pairs(result)).toHaveLength(3)
    expect(result.approvals).toEqual([])
  })
})

describe('a log that was cut off', () => {
  const runs: string[] = []
  const counted = (name: string, repeat: 'safe' | 'never') =>
    tool({
      name,
      description: 'Counts',
      input: z.object({}),
      repeat,
      run: (_, { attempt, idempotencyKey }) => void runs.push(`${name} ${attempt} ${idempotencyKey}`),
    })
  const tools = [counted('once', 'never'), counted('again', 'safe')]
  const unfinished: RunEvent[] = [
    { type: 'run-start', version: 2, runId: 'R', agent: 'a', input: [{ role: 'user', content: 'go' }] },
    { type: 'round-start', round: 1, model: 'm' },
    { type: 'text', text: 'Half' },
  ]
  const call = (callId: string, name: string): RunEvent[] => [
    { type: 'tool-call', callId, name, input: {} },
    { type: 'tool-start', callId, name, attempt: 1 },
  ]

  function resume(log: RunEvent[], ...rounds: string[]) {
    runs.length = 0
    const model = scriptedModel(rounds)
    return { model, run: agent({ model, tools }).resume(log) }
  }

  test('an unfinished round without a started call is retracted and generated again', async () => {
    const { run } = resume(
      [...unfinished, { type: 'tool-call', callId: 'c', name: 'once', input: {} }],
      'Whole',
    )
    expect(typesOf(await collect(run))).toEqual([
      'run-start',
      'round-retract',
      'round-start',
      'text',
      'round-end',
      'run-end',
    ])
    expect(await run.result).toMatchObject({
      rounds: 1,
      messages: [{ role: 'user' }, { role: 'assistant', content: [{ type: 'text', text: 'Whole' }] }],
    })
    expect(runs).toEqual([])
  })

  test('a call in flight runs again only if that is safe, with the same key; otherwise its outcome is unknown', async () => {
    const { run, model } = resume([...unfinished, ...call('c1', 'once'), ...call('c2', 'again')], 'Whole')
    const events = await collect(run)
    expect(runs).toEqual(['again 2 R:c2'])
    expect(of(events, 'round-end')[0]).toMatchObject({ round: 1, finish: 'interrupted' })
    expect(pairs(await run.result)).toEqual([
      ['c1', expect.stringMatching(/Whether it took effect is unknown/)],
      ['c2', '(no output)'],
    ])
    expect(model.requests).toHaveLength(1)
  })

  test('a call with a result does not run again, one that never started does', async () => {
    const ended: RunEvent = {
      type: 'round-end',
      round: 1,
      model: 'm',
      finish: 'tool-calls',
      timings: { ms: 1 },
    }
    const result: RunEvent = {
      type: 'tool-result',
      callId: 'c1',
      name: 'once',
      output: [{ type: 'text', text: 'first' }],
      status: 'ok',
      isError: false,
      ms: 1,
      overlapMs: 0,
    }
    const { run } = resume(
      [
        ...unfinished,
        ...call('c1', 'once'),
        { type: 'tool-call', callId: 'c2', name: 'once', input: {} },
        ended,
        result,
      ],
      'Whole',
    )
    expect(pairs(await run.result)).toEqual([
      ['c1', 'first'],
      ['c2', '(no output)'],
    ])
    expect(runs).toEqual(['once 1 R:c2'])
  })

  test('repeated calls are counted across a resume', async () => {
    const log = (times: number): RunEvent[] =>
      Array.from({ length: times }, (_, index): RunEvent[] => [
        { type: 'round-start', round: index + 1, model: 'm' },
        ...call(`c${index}`, 'once'),
        { type: 'round-end', round: index + 1, model: 'm', finish: 'tool-calls', timings: { ms: 1 } },
        {
          type: 'tool-result',
          callId: `c${index}`,
          name: 'once',
          output: [{ type: 'text', text: '(no output)' }],
          status: 'ok',
          isError: false,
          ms: 1,
          overlapMs: 0,
        },
      ]).flat()
    runs.length = 0
    const model = scriptedModel(script.tool('once', {}, 'done'))
    const run = agent({ model, tools }).resume([unfinished[0] as RunEvent, ...log(5)])
    expect(of(await collect(run), 'tool-result')).toMatchObject([{ status: 'blocked' }])
    expect(runs).toEqual([])
  })

  test('interrupted anywhere, a run reaches the same end and no call runs twice', async () => {
    const model = () =>
      scriptedModel(
        ({ messages }) =>
          messages.some((message) => message.role === 'tool')
            ? 'Done.'
            : [{ text: 'Go. ' }, { call: 'once' }, { call: 'once' }],
        { deltaChars: 3 },
      )
    const whole = await collect(agent({ model: model(), tools }).stream('go'))
    for (let length = 1; length < whole.length; length++) {
      runs.length = 0
      const log = whole.slice(0, length)
      const run = agent({ model: model(), tools }).resume(log)
      const rest = await collect(run)
      const result = await run.result
      expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
      expect(pairs(result).length).toBeGreaterThan(0)
      const starts = [...of(log, 'tool-start'), ...of(rest, 'tool-start')].map((event) => event.callId)
      // A call that started and was then lost with its round would be the worst bug here.
      expect(new Set(starts).size).toBe(starts.length)
    }
  })

  test('a log can be interrupted and resumed repeatedly', async () => {
    const model = scriptedModel(({ messages }) =>
      messages.some((message) => message.role === 'tool') ? 'Done.' : [{ call: 'again' }],
    )
    let log = (await collect(agent({ model, tools }).stream('go'))).slice(0, 5)
    for (let turn = 0; turn < 3; turn++) {
      const more = await collect(agent({ model, tools }).resume(log))
      log = [...log, ...more.slice(0, 3)]
    }
    const result = await agent({ model, tools }).resume(log).result
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(pairs(result)).toHaveLength(1)
  })
})

describe('resuming', () => {
  const desk = (more: Partial<AgentOptions> = {}) => {
    const model = scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : [{ call: 'refund', input: { amount: 5 } }],
    )
    return {
      model,
      desk: agent({ model, tools: [refundOnApproval], ...more } as { model: Model; tools: Tool[] }),
    }
  }
  const yes = { callId: 'call_1', approved: true }

  test('a resumed run ignores the signal of the run before', async () => {
    const request = new AbortController()
    const first = desk().desk.stream('go', { signal: request.signal })
    await first.result
    request.abort()
    expect(await first.resume(yes).result).toMatchObject({ outcome: 'completed', text: 'Done.' })
  })

  test('a resumed run can override options, and keeps the others', async () => {
    const contexts: unknown[] = []
    const { desk: one, model } = desk({ beforeCall: ({ context }) => void contexts.push(context) })
    const first = one.stream('go', { context: 'mine', settings: { temperature: 0.5 }, maxRounds: 5 })
    await first.result
    const request = new AbortController()
    const second = first.resume(yes, { settings: { seed: 7 }, signal: request.signal })
    await second.result
    expect(contexts).toEqual(['mine'])
    expect(model.requests[1]?.settings).toEqual({ seed: 7 })
    const aborted = AbortSignal.abort('too late')
    const again = desk().desk.stream('go')
    await again.result
    expect(await again.resume(yes, { signal: aborted }).result).toMatchObject({
      outcome: 'canceled',
      error: { message: 'too late' },
    })
    const third = desk().desk.stream('go')
    await third.result
    expect(() => third.resume(yes, { maxRound: 1 } as never)).toThrow(/did you mean 'maxRounds'/)
    expect((await third.resume(yes).result).outcome).toBe('completed')
  })

  test('the second of two runs is rejected without the first', async () => {
    const { desk: one } = desk()
    const first = one.stream('go')
    const before = await collect(first)
    const after = await collect(first.resume(yes))
    expect(() => one.resume(after.slice(0, -1))).toThrow(/put the events of that run before them/)
    expect(await one.resume([...before, ...after.slice(0, -1)]).result).toMatchObject({
      outcome: 'completed',
    })
  })

  const start = {
    type: 'run-start',
    version: 1,
    runId: 'R',
    agent: 'a',
    input: [{ role: 'user', content: 'x' }],
  }
  test.each<[string, unknown, unknown, RegExp]>([
    ['a run-start without input', [{ ...start, input: [] }], {}, /has no input/],
    ['a run-start whose input is missing', [{ ...start, input: undefined }], {}, /has no input/],
    ['an event that is null', [start, null], {}, /events\[1\] is not an event: null/],
    ['an event without a type', [start, {}], {}, /events\[1\] is not an event/],
    ['options that are null', [start], null, /run options must be an object, not null/],
    ['decisions that are null', [start], { decisions: null }, /decisions must be an array/],
  ])('%s is rejected', (_, events, options, message) => {
    const model = scriptedModel([])
    expect(() => agent({ model }).resume(events as never, options as never)).toThrow(message)
    expect(model.requests).toEqual([])
  })

  test('a call that runs again after a crash has its original input, whatever the hook would return now', async () => {
    const inputs: unknown[] = []
    const hooked: unknown[] = []
    const again = tool({
      name: 'again',
      description: 'May be repeated',
      input: z.object({ value: z.string() }),
      repeat: 'safe',
      run: ({ value }, { attempt }) => void inputs.push([attempt, value]),
    })
    const make = (stamp: string) =>
      agent({
        model: scriptedModel(({ messages }) =>
          messages.some(({ role }) => role === 'tool') ? 'Done.' : [{ call: 'again', input: { value: 'x' } }],
        ),
        tools: [again],
        beforeCall: ({ input }) => {
          hooked.push(stamp)
          return { input: { value: `${input.value} ${stamp}` } }
        },
      })
    const events = await collect(make('before').stream('go'))
    const started = events.findIndex(({ type }) => type === 'tool-start')
    await make('after').resume(events.slice(0, started + 1)).result
    expect(inputs).toEqual([
      [1, 'x before'],
      [2, 'x before'],
    ])
    expect(hooked).toEqual(['before'])
  })

  test('a tool from prepareRound is available again for the call that waited', async () => {
    const model = scriptedModel([[{ call: 'refund', input: { amount: 5 } }], 'Done.'])
    const first = agent({ model, prepareRound: () => ({ tools: [refundOnApproval] }) }).stream('go')
    expect(await first.result).toMatchObject({ outcome: 'suspended' })
    const result = await first.resume({ callId: 'call_1', approved: true }).result
    expect(result).toMatchObject({ outcome: 'completed', text: 'Done.' })
    expect(pairs(result)).toEqual([['call_1', 'refunded 5']])
  })
})
