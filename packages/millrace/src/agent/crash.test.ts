import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sized } from '../../../../test/size.ts'
import type { Message, RunEvent } from '../protocol/index.ts'
import { findUnpaired, foldLog, openRequests, toolCallsOf } from '../protocol/index.ts'
import type { ScriptRound, ScriptStep } from '../testing/index.ts'
import { fakeClock, script, scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { collect, of, pairs } from './agent.test-kit.ts'
import type { Agent } from './agent.ts'
import { agent } from './agent.ts'
import type { AsToolOptions } from './as-tool.ts'
import type { Decision, RunResult } from './run.ts'

// A process can die between any two events. These tests cut the log of a run at each event and
// resume from there, with nested agents and approvals.

type Decide = (request: { callId: string; input: Record<string, unknown> }) => Omit<Decision, 'callId'>

/** Events with the ids of the calls they belong to, at any depth: `boss/clerk/pay`. */
function deep(events: readonly RunEvent[], path = ''): { path: string; event: RunEvent }[] {
  return events.flatMap((event) =>
    event.type === 'tool-progress' && event.event
      ? deep([event.event], `${path}${event.callId}/`)
      : [{ path, event }],
  )
}

/** Where each call of these tools was started, in order. */
function starts(events: readonly RunEvent[], names: readonly string[]): string[] {
  return deep(events).flatMap(({ path, event }) =>
    event.type === 'tool-start' && names.includes(event.name) ? [path + event.callId] : [],
  )
}

/** The decisions in a log, by the ids of the top-level requests. */
function decidedIn(events: readonly RunEvent[]): string[] {
  return of(events, 'approval').map(({ callId }) => callId)
}

/** Resumes from a log until nothing waits for approval. */
async function resumeUntilDone(
  make: () => Agent,
  log: readonly RunEvent[],
  decide: Decide,
): Promise<{ result: RunResult<unknown>; log: RunEvent[]; asked: string[] }> {
  let whole = [...log]
  const asked = of(log, 'approval-request').map(({ callId }) => callId)
  for (let turn = 0; turn < 30; turn++) {
    const state = foldLog(whole)
    const decisions =
      state.outcome === 'suspended'
        ? openRequests(state).map((request) => ({ callId: request.callId, ...decide(request) }))
        : []
    const clock = fakeClock()
    const run = make().resume(JSON.parse(JSON.stringify(whole)), { decisions })
    const decided = new Set([...decidedIn(whole), ...decisions.map(({ callId }) => callId)])
    const events = await clock.until(collect(run))
    const result = await run.result
    for (const { callId } of [...of(events, 'approval-request'), ...result.approvals]) {
      // Decided calls are not asked about again.
      expect(decided).not.toContain(callId)
      asked.push(callId)
    }
    whole = [...whole, ...events]
    if (result.outcome !== 'suspended') return { result, log: whole, asked }
  }
  throw new Error('the run is suspended again and again')
}

/**
 * Calls each tool of `names` that has not been called, then answers. Stateless, so that it behaves
 * the same in another process.
 */
function clerkModel(answer: string, calls: readonly Extract<ScriptStep, { call: string }>[]) {
  return scriptedModel(
    ({ messages }) => {
      const made = new Set(
        messages.flatMap((message: Message) => toolCallsOf(message)).map(({ name }) => name),
      )
      const missing = calls.filter(({ call }) => !made.has(call))
      return missing.length > 0 ? [{ text: 'One moment. ' }, ...missing] : answer
    },
    { deltaChars: 7 },
  )
}

const ran: { key: string; amount: number }[] = []
const pay = tool({
  name: 'pay',
  description: 'Pays after approval',
  input: z.object({ amount: z.number() }),
  approve: true,
  run: ({ amount }, { idempotencyKey }) => {
    ran.push({ key: idempotencyKey, amount })
    return `paid ${amount}`
  },
})
const note = tool({
  name: 'note',
  description: 'Notes',
  input: z.object({}),
  run: (_, { idempotencyKey }) => {
    ran.push({ key: idempotencyKey, amount: 0 })
    return 'noted'
  },
})
const leaves = ['pay', 'note']

const clerk = () =>
  agent({
    name: 'clerk',
    model: clerkModel('Settled.', [{ call: 'note' }, { call: 'pay', input: { amount: 5 } }]),
    tools: [pay, note],
  })

/** An agent that delegates everything to a sub-agent. */
const delegating = (name: string, subAgent: Agent, more: Partial<AsToolOptions> = {}) =>
  agent({
    name,
    model: clerkModel(`${name} is done.`, [{ call: subAgent.name, input: { prompt: 'pay' } }]),
    tools: [subAgent.asTool({ description: 'Does it', ...more })],
  })

const agents: [string, () => Agent, depth: number][] = [
  ['a sub-agent', () => delegating('boss', clerk()), 1],
  ['a sub-agent that needs approval itself', () => delegating('boss', clerk(), { approve: true }), 1],
  ['a sub-agent two levels deep', () => delegating('chief', delegating('boss', clerk())), 2],
  [
    'two levels that both need approval',
    () => delegating('chief', delegating('boss', clerk(), { approve: true }), { approve: true }),
    2,
  ],
]

describe.each(agents)('%s, interrupted at any event', (_, make, depth) => {
  const name = depth === 2 ? 'chief' : 'boss'

  /** The events of an uninterrupted run, including its resumed parts. */
  async function uncut(decide: Decide) {
    ran.length = 0
    const first = await collect(make().stream('go'))
    expect(first.at(-1)).toMatchObject({ outcome: 'suspended' })
    return resumeUntilDone(make, first, decide)
  }

  async function atEveryEvent(
    decide: Decide,
    check: (cut: Awaited<ReturnType<typeof resumeUntilDone>>, before: RunEvent[]) => void,
  ) {
    const whole = await uncut(decide)
    expect(whole.result).toMatchObject({ outcome: 'completed', text: `${name} is done.` })
    for (let length = 1; length < whole.log.length; length++) {
      ran.length = 0
      const before = whole.log.slice(0, length)
      const cut = await resumeUntilDone(make, before, decide)
      expect(cut.result).toMatchObject({ outcome: 'completed', text: `${name} is done.`, approvals: [] })
      expect(findUnpaired(cut.result.messages)).toBeUndefined()
      expect(cut.asked.length).toBeGreaterThan(0)
      const started = starts(cut.log, leaves)
      expect(new Set(started).size).toBe(started.length)
      // The tools that ran now are those that the log says started now; the process that died
      // started the others.
      expect(ran).toHaveLength(started.length - starts(before, leaves).length)
      expect(new Set(ran.map(({ key }) => key)).size).toBe(ran.length)
      check(cut, before)
    }
  }

  test('and approved, it reaches the same end and pays once', () =>
    atEveryEvent(
      () => ({ approved: true }),
      ({ log }) => {
        expect(starts(log, ['pay'])).toHaveLength(1)
        expect(starts(log, ['note'])).toHaveLength(1)
      },
    ))

  test('and approved with another amount, it never pays the original amount', () =>
    atEveryEvent(
      ({ input }) => ({ approved: true, ...('amount' in input && { input: { amount: 7 } }) }),
      ({ log }) => {
        expect(starts(log, ['pay'])).toHaveLength(1)
        for (const { amount } of ran) expect([0, 7]).toContain(amount)
      },
    ))

  test('and denied, it stays denied', () =>
    atEveryEvent(
      ({ input }) => ('amount' in input ? { approved: false, reason: 'too much' } : { approved: true }),
      ({ log }) => {
        expect(starts(log, ['pay'])).toEqual([])
        const results = deep(log).flatMap(({ event }) =>
          event.type === 'tool-result' && event.name === 'pay' ? [event.status] : [],
        )
        expect(results).toEqual(['denied'])
      },
    ))
})

test('a denied sub-agent is never started, wherever the log is cut', async () => {
  const make = () => delegating('boss', clerk(), { approve: true })
  const first = await collect(make().stream('go'))
  const whole = await resumeUntilDone(make, first, () => ({ approved: false }))
  for (let length = 1; length < whole.log.length; length++) {
    ran.length = 0
    const { result, log } = await resumeUntilDone(make, whole.log.slice(0, length), () => ({
      approved: false,
    }))
    expect(result).toMatchObject({ outcome: 'completed', text: 'boss is done.' })
    expect(pairs(result).map(([, text]) => text)).toEqual(['Not run: the call was denied.'])
    expect(of(log, 'tool-start')).toEqual([])
    expect(ran).toEqual([])
  }
})

describe('a log that lost only its run-end', () => {
  test.each([
    [
      'failed',
      async () =>
        collect(agent({ model: scriptedModel(script.failing({ code: 'auth' }, 'Half an')) }).stream('go')),
    ],
    [
      'was canceled',
      async () => {
        const run = agent({ model: scriptedModel(script.hanging('Half an')) }).stream('go')
        for await (const event of run) if (event.type === 'text') break
        run.cancel('enough')
        return collect(run)
      },
    ],
  ])('of a run that %s in the middle of a sentence generates the round again', async (_, make) => {
    const events = await make()
    expect(events.at(-2)).toMatchObject({ type: 'round-end', finish: 'interrupted' })
    const model = scriptedModel(['A whole answer.'])
    const run = agent({ model }).resume(events.slice(0, -1))
    const more = await collect(run)
    expect(of(more, 'round-retract')).toHaveLength(1)
    expect(await run.result).toMatchObject({
      outcome: 'completed',
      text: 'A whole answer.',
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'text', text: 'A whole answer.' }] },
      ],
    })
    expect(model.requests).toHaveLength(1)
  })

  test('of a run that failed before any text calls the model once more', async () => {
    const events = await collect(
      agent({ model: scriptedModel(script.failing({ code: 'auth' })) }).stream('go'),
    )
    const run = agent({ model: scriptedModel(['Now.']) }).resume(events.slice(0, -1))
    expect(await run.result).toMatchObject({ outcome: 'completed', text: 'Now.' })
  })

  test.each([
    ['completed', scriptedModel(['Done.']), {}],
    ['truncated', scriptedModel([[{ text: 'Done' }, { finish: 'length' }]]), {}],
    ['max-rounds', scriptedModel([[{ call: 'note' }]]), { maxRounds: 0 }],
  ] as const)(
    'of a run that was %s ends the same way, without calling the model',
    async (outcome, model, more) => {
      const one = agent({ model, tools: [note], ...more })
      const events = await collect(one.stream('go'))
      expect(events.at(-1)).toMatchObject({ outcome })
      expect(await one.resume(events.slice(0, -1)).result).toMatchObject({ outcome })
      expect(model.requests).toHaveLength(1)
    },
  )
})

describe("a parent log that lost its sub-agent's result", () => {
  const boss = (inner: Agent) => delegating('boss', inner)
  const inner = (model: ReturnType<typeof scriptedModel>, more: object = {}) =>
    agent({ name: 'clerk', model, tools: [note], ...more })

  /** The log up to the end of the sub-agent's run. */
  async function cutBeforeResult(make: () => Agent) {
    const events = await collect(make().stream('go'))
    const end = events.findIndex((event) => event.type === 'tool-result')
    expect(events[end - 1]).toMatchObject({ type: 'tool-progress', event: { type: 'run-end' } })
    return events.slice(0, end)
  }

  test.each<[string, readonly ScriptRound[], object, string]>([
    [
      'a failure',
      script.failing({ code: 'auth', message: 'bad key' }, 'Half'),
      {},
      'The tool failed: bad key',
    ],
    [
      'an answer that was cut off',
      [[{ text: 'Half' }, { finish: 'length' }]],
      {},
      "The tool failed: the agent 'clerk' did not finish (truncated); partial answer: Half",
    ],
    [
      'too many rounds',
      [[{ call: 'note' }]],
      { maxRounds: 0 },
      "The tool failed: the agent 'clerk' did not finish (max-rounds)",
    ],
    ['an answer', ['Settled.'], {}, 'Settled.'],
  ])('gets %s, and the sub-agent does not run again', async (_, rounds, more, text) => {
    const log = await cutBeforeResult(() => boss(inner(scriptedModel(rounds), more)))
    const model = scriptedModel([])
    const run = boss(inner(model, more)).resume(log)
    const events = await collect(run)
    expect(of(events, 'tool-result')).toMatchObject([
      { status: text === 'Settled.' ? 'ok' : 'failed', output: [{ text: text }] },
    ])
    expect(await run.result).toMatchObject({ outcome: 'completed' })
    expect(model.requests).toEqual([])
  })

  test("repeats the sub-agent's approval request if that was lost", async () => {
    const make = () => delegating('boss', clerk())
    const events = await collect(make().stream('go'))
    const asked = events.findIndex((event) => event.type === 'approval-request')
    const run = make().resume(events.slice(0, asked))
    expect(await run.result).toMatchObject({
      outcome: 'suspended',
      approvals: [{ name: 'pay', callId: of(events, 'approval-request')[0]?.callId }],
    })
  })
})

// Random trees of agents with random rounds. Requests with an odd number are approved, those with
// an even number are denied.

interface Tree {
  readonly rounds: readonly (readonly ScriptStep[])[]
  readonly below: Tree | undefined
  readonly approve: boolean
}

const leafStep: fc.Arbitrary<ScriptStep> = fc.oneof(
  { weight: 2, arbitrary: fc.lorem({ maxCount: 2 }).map((text) => ({ text })) },
  {
    weight: 5,
    arbitrary: fc.record({
      call: fc.constantFrom('quick', 'careful', 'careful', 'broken', 'missing'),
      input: fc.record({ n: fc.integer({ min: 1, max: 4 }) }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ call: fc.constant('below'), input: fc.constant({ prompt: 'do it', n: 1 }) }),
  },
)

const tree = (depth: number): fc.Arbitrary<Tree> =>
  fc.record({
    rounds: fc.array(fc.array(leafStep, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
    below: depth > 0 ? tree(depth - 1) : fc.constant(undefined),
    approve: fc.boolean(),
  })

function grow({ rounds, below }: Tree, used: { key: string; name: string; n: number }[], depth = 0): Agent {
  const define = (name: string, more: object, answer: () => unknown = () => 'ok') =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      ...more,
      run: ({ n }, { idempotencyKey }) => {
        used.push({ key: idempotencyKey, name, n })
        return answer()
      },
    })
  return agent({
    name: `agent${depth}`,
    repeatLimits: false,
    model: scriptedModel(
      ({ messages }) => rounds[messages.filter(({ role }) => role === 'assistant').length] ?? 'That is all.',
    ),
    tools: [
      define('quick', {}),
      define('careful', { approve: true }),
      define('broken', {}, () => Promise.reject(new Error('out of order'))),
      ...(below
        ? [
            grow(below, used, depth + 1).asTool({
              name: 'below',
              description: 'Below',
              approve: below.approve,
            }),
          ]
        : []),
    ],
  })
}

test('any tree of agents, interrupted repeatedly, ends paired; no call runs twice, no denied call runs', () =>
  fc.assert(
    fc.asyncProperty(
      tree(2),
      fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (root, cuts, oneByOne) => {
        const used: { key: string; name: string; n: number }[] = []
        const make = () => grow(root, used)
        const decide: Decide = ({ input }) => ({ approved: Number(input.n ?? 1) % 2 === 1 })
        const names = ['quick', 'careful', 'broken']
        let log = await collect(make().stream('go'))
        let result: RunResult<unknown> | undefined
        for (let turn = 0; ; turn++) {
          // A tree with too many requests takes too long.
          fc.pre(turn < 60)
          const at = cuts[turn]
          if (at !== undefined) log = log.slice(0, 1 + (at % log.length))
          const state = foldLog(log)
          if (state.outcome && state.outcome !== 'suspended') break
          const open = state.outcome === 'suspended' ? openRequests(state) : []
          const decisions = (oneByOne ? open.slice(0, 1) : open).map((request) => ({
            callId: request.callId,
            ...decide(request),
          }))
          const startedBefore = starts(log, names)
          const ranBefore = used.length
          const run = make().resume(JSON.parse(JSON.stringify(log)), { decisions })
          const events = await collect(run)
          result = await run.result
          const decided = new Set([...decidedIn(log), ...decidedIn(events)])
          for (const { callId } of result.approvals) expect(decided).not.toContain(callId)
          const startedNow = starts(events, names)
          expect(used.length - ranBefore).toBe(startedNow.length)
          for (const path of startedNow) expect(startedBefore).not.toContain(path)
          log = [...log, ...events]
          if (result.outcome !== 'suspended' && turn >= cuts.length - 1) break
        }
        const { outcome } = foldLog(log)
        expect(outcome).toBe('completed')
        if (result) expect(findUnpaired(result.messages)).toBeUndefined()
        for (const { name, n } of used) if (name === 'careful') expect(n % 2).toBe(1)
      },
    ),
    { numRuns: sized(150) },
  ))
