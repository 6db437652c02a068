import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type {
  ApprovalRequestEvent,
  JsonObject,
  JsonPart,
  RunEvent,
  TextPart,
  ToolResultPart,
} from '../protocol/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { type Tool, type Toolbox, type ToolContext, tool, toolContent } from '../tools/index.ts'
import { collect } from './agent.test-kit.ts'
import { type Agent, agent } from './agent.ts'
import type { AgentOptions } from './options.ts'
import type { Plan, PlanResult } from './plan.ts'
import type { Run, RunResult, RunStream } from './run.ts'
import type { RunEventOf } from './tool-types.ts'

interface Order {
  readonly id: string
  readonly placed: Date
  readonly lines: readonly { readonly sku: string; readonly count: number | undefined }[]
  readonly note?: string | undefined
  cancel?(): void
}

/** The same after a round trip through JSON. */
interface OrderJson {
  readonly id: string
  readonly placed: string
  readonly lines: readonly { readonly sku: string; readonly count?: number }[]
  readonly note?: string
  cancel?: never
}

const lookupOrder = tool({
  name: 'lookup_order',
  description: 'Look up an order',
  input: z.object({
    orderId: z.string(),
    since: z
      .string()
      .transform((day) => Date.parse(day))
      .optional(),
  }),
  run: async ({ orderId }): Promise<Order> => ({
    id: orderId,
    placed: new Date(0),
    lines: [{ sku: 'mill', count: undefined }],
    cancel() {},
  }),
})
const track = tool({
  name: 'track',
  description: 'Follow a parcel',
  input: z.object({ parcel: z.number() }),
  approve: ({ parcel }) => parcel > 9,
  async *run({ parcel }) {
    yield 'asking'
    return parcel > 1 ? { at: 'Oslo' } : 'no such parcel'
  },
})
const calls = script.parallel(
  [
    ['lookup_order', { orderId: 'A-1' }],
    ['track', { parcel: 2 }],
  ],
  'Done.',
)
const model = scriptedModel(calls)
const desk = agent({ name: 'desk', model, tools: [lookupOrder, track] })
type Desk = RunEventOf<typeof desk>

describe('the types of tools reach the events of a run', () => {
  test('type and name narrow input and output to those of the tool', async () => {
    const seen: unknown[] = []
    for await (const event of agent({ model: scriptedModel(calls), tools: [lookupOrder, track] }).stream(
      '?',
    )) {
      if (event.type === 'tool-call' && event.name === 'lookup_order') {
        expectTypeOf(event.input).toEqualTypeOf<{ orderId: string; since?: string }>()
        seen.push(event.input)
      }
      if (event.type === 'tool-call' && event.name === 'track') {
        expectTypeOf(event.input).toEqualTypeOf<{ parcel: number }>()
        seen.push(event.input)
      }
      if (event.type === 'tool-result' && event.name === 'lookup_order') {
        expectTypeOf(event.output).toEqualTypeOf<readonly (TextPart | JsonPart<OrderJson>)[]>()
        expectTypeOf(event.shown).toEqualTypeOf<readonly (TextPart | JsonPart<OrderJson>)[] | undefined>()
        for (const part of event.output) if (part.type === 'json') seen.push(part.value)
      }
      if (event.type === 'tool-result' && event.name === 'track')
        for (const part of event.output) {
          expectTypeOf(part).toEqualTypeOf<TextPart | JsonPart<{ at: string }>>()
          if (part.type === 'json') seen.push(part.value.at)
        }
      if (event.type === 'tool-start' && event.name === 'track')
        expectTypeOf(event.input).toEqualTypeOf<{ parcel: number } | undefined>()
      if (event.type === 'approval-request' && event.name === 'track')
        expectTypeOf(event.input).toEqualTypeOf<{ parcel: number }>()
      if (event.type === 'tool-input-start' && event.name === 'track')
        expectTypeOf(event.name).toEqualTypeOf<'track'>()
    }
    expect(seen).toEqual([
      { orderId: 'A-1' },
      { id: 'A-1', placed: '1970-01-01T00:00:00.000Z', lines: [{ sku: 'mill' }] } satisfies OrderJson,
      { parcel: 2 },
      'Oslo',
    ])
  })

  test('a switch over the names leaves invented names', async () => {
    const invents = scriptedModel(script.tool('look_up_order', { id: 1 }, 'Sorry.'))
    const results: string[] = []
    for await (const event of agent({ model: invents, tools: [lookupOrder, track] }).stream('?')) {
      if (event.type !== 'tool-result') continue
      switch (event.name) {
        case 'lookup_order':
        case 'track':
          throw new Error('it has another name')
        default:
          expectTypeOf(event.output).toEqualTypeOf<readonly ToolResultPart[]>()
          expectTypeOf(event.name).toExtend<string>()
          results.push(`${event.name}: ${event.status}`)
      }
    }
    expect(results).toEqual(['look_up_order: rejected'])
    type Other = Exclude<Extract<Desk, { type: 'tool-call' }>, { name: 'lookup_order' | 'track' }>
    expectTypeOf<Other['input']>().toEqualTypeOf<JsonObject>()
  })

  test('a misspelled name is a type error', async () => {
    for await (const event of desk.stream('?'))
      if (event.type === 'tool-call')
        // @ts-expect-error: unknown tool
        expect(event.name === 'lookup_oder').toBe(false)
  })

  test('a list in a variable keeps its tools, with or without `as const`', () => {
    const list = [lookupOrder, track]
    const constant = [lookupOrder, track] as const
    const fromList = agent({ model, tools: list })
    const fromConstant = agent({ model, tools: constant })
    expectTypeOf<RunEventOf<typeof fromList>>().toEqualTypeOf<Desk>()
    expectTypeOf<RunEventOf<typeof fromConstant>>().toEqualTypeOf<Desk>()
  })

  test('an inline tool keeps its types', () => {
    const inline = agent({
      model,
      tools: [
        tool({ name: 'roll', description: 'x', input: z.object({ dice: z.number() }), run: () => [1] }),
      ],
    })
    type Event = RunEventOf<typeof inline>
    expectTypeOf<Extract<Event, { type: 'tool-call'; name: 'roll' }>['input']>().toEqualTypeOf<{
      dice: number
    }>()
    expectTypeOf<Extract<Event, { type: 'tool-result'; name: 'roll' }>['output']>().toEqualTypeOf<
      readonly (TextPart | JsonPart<number[]>)[]
    >()
  })

  test('a text result has no JSON part, and content may have any parts', () => {
    const input = z.object({})
    const say = tool({ name: 'say', description: 'x', input, run: () => 'hi' })
    const nothing = tool({ name: 'nothing', description: 'x', input, run: async () => {} })
    const show = tool({ name: 'show', description: 'x', input, run: () => toolContent([]) })
    const any = tool({ name: 'any', description: 'x', input, run: (): unknown => 1 })
    const shows = agent({ model, tools: [say, nothing, show, any] })
    type Result<Name> = Extract<RunEventOf<typeof shows>, { type: 'tool-result'; name: Name }>
    expectTypeOf<Result<'say'>['output']>().toEqualTypeOf<readonly TextPart[]>()
    expectTypeOf<Result<'nothing'>['output']>().toEqualTypeOf<readonly TextPart[]>()
    expectTypeOf<Result<'show'>['output']>().toEqualTypeOf<readonly ToolResultPart[]>()
    expectTypeOf<Result<'any'>['output']>().toEqualTypeOf<readonly ToolResultPart[]>()
  })

  test('the result type includes what afterCall returns', async () => {
    const audited = agent({ model, tools: [track], afterCall: () => {} })
    const hiding = agent({
      model: scriptedModel(script.tool('track', { parcel: 2 }, 'Done.')),
      tools: [track],
      afterCall: ({ name }) => (name === 'track' ? { output: { hidden: true } } : undefined),
    })
    type Part<Event> =
      Extract<Event, { type: 'tool-result'; name: 'track' }> extends { output: infer Parts } ? Parts : never
    expectTypeOf<Part<RunEventOf<typeof audited>>>().toEqualTypeOf<
      readonly (TextPart | JsonPart<{ at: string }>)[]
    >()
    expectTypeOf<Part<RunEventOf<typeof hiding>>>().toEqualTypeOf<
      readonly (TextPart | JsonPart<{ at: string } | { hidden: boolean }>)[]
    >()
    expect(await collect(hiding.stream('?'))).toContainEqual(
      expect.objectContaining({ type: 'tool-result', output: [{ type: 'json', value: { hidden: true } }] }),
    )
  })
})

describe('the types of tools reach results', () => {
  test('calls that wait for approval', async () => {
    const asks = agent({
      model: scriptedModel(script.tool('track', { parcel: 10 }, '')),
      tools: [lookupOrder, track],
    })
    const { approvals } = await asks.run('?')
    for (const request of approvals)
      if (request.name === 'track') expectTypeOf(request.input).toEqualTypeOf<{ parcel: number }>()
    expect(approvals).toMatchObject([{ name: 'track', input: { parcel: 10 } }])
  })

  test('planned calls, whose input is only checked without a problem', async () => {
    const plans = agent({
      model: scriptedModel([
        [
          { call: 'track', input: { parcel: 1 } },
          { call: 'track', input: { parcel: 'one' } },
        ],
      ]),
      tools: [lookupOrder, track],
    })
    const seen: unknown[] = []
    for (const call of (await plans.plan('?').result).calls) {
      if (call.name !== 'track') continue
      expectTypeOf(call.input).toEqualTypeOf<{ parcel: number } | JsonObject>()
      if (call.problem !== undefined) continue
      expectTypeOf(call.input).toEqualTypeOf<{ parcel: number }>()
      seen.push(call.input)
    }
    expect(seen).toEqual([{ parcel: 1 }])
  })
})

describe('an agent as a tool', () => {
  const clerk = agent({ name: 'clerk', model, tools: [track], output: z.object({ paid: z.number() }) })

  test('has its name, a prompt as input and its answer as output', () => {
    const boss = agent({ model, tools: [clerk.asTool({ description: 'x' }), lookupOrder] })
    type Event = RunEventOf<typeof boss>
    expectTypeOf<Extract<Event, { type: 'tool-call'; name: 'clerk' }>['input']>().toEqualTypeOf<{
      prompt: string
    }>()
    expectTypeOf<Extract<Event, { type: 'tool-result'; name: 'clerk' }>['output']>().toEqualTypeOf<
      readonly (TextPart | JsonPart<{ paid: number }>)[]
    >()
    expectTypeOf(clerk.asTool({ name: 'cashier', description: 'x' }).name).toEqualTypeOf<'cashier'>()
  })

  test('requests approval for its own tools, whose names its parent does not know', () => {
    const boss = agent({ model, tools: [clerk.asTool({ description: 'x' }), lookupOrder] })
    expectTypeOf<
      Extract<RunEventOf<typeof boss>, { type: 'approval-request' }>
    >().toEqualTypeOf<ApprovalRequestEvent>()
  })
})

describe('the default types', () => {
  test('are those of an agent with unknown tools', () => {
    const list: Tool[] = [lookupOrder]
    const box: Toolbox = { tools: list }
    const named = (name: string) => tool({ name, description: 'x', input: z.object({}), run: () => 1 })
    const options: AgentOptions = { model, tools: [lookupOrder] }
    const ofList = agent({ model, tools: list })
    const ofBox = agent({ model, tools: [box, track] })
    const ofName = agent({ model, tools: [named('one'), track] })
    const ofOptions = agent(options)
    const withoutTools = agent({ model, tools: [] })
    expectTypeOf<RunEventOf<typeof ofList>>().toEqualTypeOf<RunEvent>()
    expectTypeOf<RunEventOf<typeof ofBox>>().toEqualTypeOf<RunEvent>()
    expectTypeOf<RunEventOf<typeof ofName>>().toEqualTypeOf<RunEvent>()
    expectTypeOf<RunEventOf<typeof ofOptions>>().toEqualTypeOf<RunEvent>()
    expectTypeOf<RunEventOf<typeof withoutTools>>().toEqualTypeOf<RunEvent>()
    expectTypeOf<RunEventOf<Agent>>().toEqualTypeOf<RunEvent>()
  })

  test('accept narrower types', () => {
    expectTypeOf(desk).toExtend<Agent>()
    expectTypeOf(desk).toExtend<Agent<never>>()
    expectTypeOf<ReturnType<typeof desk.stream>>().toExtend<Run>()
    expectTypeOf<ReturnType<typeof desk.stream>>().toExtend<RunStream>()
    expectTypeOf<ReturnType<typeof desk.plan>>().toExtend<Plan>()
    expectTypeOf<Awaited<ReturnType<typeof desk.run>>>().toExtend<RunResult>()
    expectTypeOf<Desk>().toExtend<RunEvent>()
    expectTypeOf(lookupOrder).toExtend<Tool>()
    expectTypeOf(lookupOrder).toExtend<Tool<unknown>>()
    expectTypeOf(track).toExtend<Tool<{ user: string }>>()
  })

  test('are unchanged without type arguments', () => {
    interface Own extends RunResult, PlanResult {
      readonly more: string
    }
    expectTypeOf<Own['output']>().toEqualTypeOf<undefined>()
    expectTypeOf<RunResult<unknown>['output']>().toEqualTypeOf<unknown>()
    expectTypeOf<RunResult['approvals']>().toEqualTypeOf<readonly ApprovalRequestEvent[]>()
    const input = z.object({ id: z.string() })
    const explicit = tool<typeof input, { user: string }>({
      name: 'explicit',
      description: 'x',
      input,
      run: ({ id }, { context }: ToolContext<{ user: string }>) => id + context.user,
    })
    expectTypeOf(explicit).toEqualTypeOf<Tool<{ user: string }, string, { id: string }, unknown>>()
  })
})

test('unknown options are type errors', () => {
  const input = z.object({})
  const broken = [
    // @ts-expect-error: it is called tools
    () => agent({ model, tool: [track] }),
    // @ts-expect-error: also next to the right one
    () => agent({ model, tools: [track], maxRound: 3 }),
    // @ts-expect-error: attempts
    () => agent({ model, retry: { attemps: 2 } }),
    // @ts-expect-error: temperature
    () => agent({ model, settings: { temprature: 0 } }),
    // @ts-expect-error: block
    () => agent({ model, repeatLimits: { warn: 2, block: 3, blocked: 4 } }),
    // @ts-expect-error: a model, not its name
    () => agent({ model: 'openai/gpt-5' }),
    // @ts-expect-error: timeoutMs
    () => tool({ name: 'x', description: 'x', input, run: () => 1, timeout: 3 }),
    // @ts-expect-error: also for a run
    () => desk.stream('?', { maxRound: 3 }),
  ]
  for (const one of broken) expect(one).toThrow(/does not exist|has no|must be a Model/)
})
