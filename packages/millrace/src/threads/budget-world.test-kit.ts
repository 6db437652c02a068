import fc from 'fast-check'
import { z } from 'zod'
import type { Budget, Compact } from '../agent/index.ts'
import { agent, estimateRequest } from '../agent/index.ts'
import type { Limits, Model, ModelEvent, ModelRequest } from '../protocol/index.ts'
import type { ScriptStep } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import { sleep } from './chaos.test-kit.ts'
import type { StoreLink } from './chaos-store.test-kit.ts'
import { injected, linkTo } from './chaos-store.test-kit.ts'
import type { App, ThreadStore } from './index.ts'
import { millrace } from './index.ts'

/** One request, as the model has served it. */
export interface Served {
  /** Reported in its usage, so that it can be found in the log. */
  readonly id: number
  readonly thread: string
  readonly instance: BudgetInstance
  readonly inputTokens: number
  /** Of the whole answer. */
  readonly outputTokens: number
  readonly isSummary: boolean
  /** The run has certainly received an event of it. */
  received: boolean
  /** The last event, with its usage, was sent. */
  done: boolean
}

/** One app, with its link to the store. */
export interface BudgetInstance {
  readonly app: App
  readonly link: StoreLink
  /** It was killed, closed or frozen, or its store failed. */
  isDisturbed: boolean
}

export interface BudgetConditions {
  readonly instances: number
  readonly threads: number
  readonly budget: Pick<Budget, keyof Limits | 'thread' | 'userPerDay' | 'agentPerDay'>
  readonly onLimit: 'end' | 'ask' | 'cheaper'
  readonly compacts: boolean
  readonly paceMs: number
  /** What the models do, in turn. */
  readonly turns: readonly number[]
}

/** In tokens: a request takes about 50 to 400. */
const tokens = fc.oneof(fc.nat(1000), fc.nat(8000))
const limits: fc.Arbitrary<Limits> = fc.oneof(
  fc.record({ usd: tokens.map((count) => count / 1e6) }),
  fc.record({ tokens }),
  fc.record({ rounds: fc.nat(20) }),
  fc.record({ usd: tokens.map((count) => count / 1e6), tokens, rounds: fc.nat(20) }),
)
const sometimes = fc.oneof(fc.constant({}), fc.constant({}), limits)

export const budgetConditions: fc.Arbitrary<BudgetConditions> = fc.record({
  instances: fc.integer({ min: 1, max: 4 }),
  threads: fc.integer({ min: 1, max: 6 }),
  budget: fc
    .record({ run: sometimes, thread: sometimes, userPerDay: sometimes, agentPerDay: sometimes })
    .map(({ run, ...others }) => ({ ...run, ...others })),
  onLimit: fc.constantFrom('end', 'end', 'ask', 'cheaper'),
  compacts: fc.boolean(),
  paceMs: fc.nat(2),
  turns: fc.array(fc.nat(50), { minLength: 5, maxLength: 9 }),
})

/** The user and the agent of a thread. Some have no user. */
export const ownerOf = (index: number) => ({
  agent: index % 3 === 2 ? 'beta' : 'alpha',
  user: (['ann', 'ann', 'bob', undefined] as const)[index % 4],
})

export const prices = { honest: { input: 1, output: 2 }, cheap: { input: 0.1, output: 0.2 } }
const settings = { maxOutputTokens: 60 }

/** Apps on one store with honest models, and a list of the requests that these have served. */
export function budgetWorld(store: ThreadStore, conditions: BudgetConditions, leaseMs: number) {
  const { budget, onLimit, compacts, paceMs, turns } = conditions
  const served: Served[] = []
  const instances: BudgetInstance[] = []
  const unexpectedErrors: string[] = []
  const cutSummaries = new Set<string>()
  let turn = 0

  /** Cut at most once, since what several requests for one summary have cost is added up. */
  function summaryRound(thread: string, turn: number, { messages }: ModelRequest): ScriptStep[] {
    const key = JSON.stringify(messages)
    const isCut = turn % 3 === 0 && !cutSummaries.has(key)
    cutSummaries.add(key)
    return [{ text: `A summary of ${thread}.` }, { pause: turn % 20 }, ...(isCut ? [cut] : [])]
  }

  /** Reports what was really sent and generated. */
  function honest(
    id: 'honest' | 'cheap',
    link: StoreLink,
    play: (turn: number, request: ModelRequest) => ScriptStep[],
  ) {
    const plans = new Map<ModelRequest, Served>()
    const model = scriptedModel(
      (request) => {
        const thread = threadOf(request)
        const summary = isSummary(request)
        const steps = summary
          ? summaryRound(thread, turn++, request)
          : play(turns[turn++ % turns.length] as number, request)
        const inputTokens = estimateRequest(request)
        const outputTokens = Math.ceil(charsIn(steps) / 4)
        const instance = instances.find((one) => one.link === link) as BudgetInstance
        const record: Served = {
          ...{ id: served.length + 1, thread, instance, inputTokens, outputTokens },
          ...{ isSummary: summary, received: false, done: false },
        }
        served.push(record)
        plans.set(request, record)
        return [...steps, { usage: { inputTokens, outputTokens, webSearches: record.id } }]
      },
      { id, paceMs, deltaChars: 8 },
    )

    async function* serve(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent, void> {
      const events = model.stream(request, { signal })
      const record = plans.get(request) as Served
      for await (const event of events) {
        if (link.isDead) return void (await dead(signal))
        if (event.type === 'done') record.done = true
        yield event
        record.received = true
      }
    }
    return { ...model, stream: (request, { signal }) => serve(request, signal) } satisfies Model
  }

  function agentsFor(link: StoreLink) {
    const options = {
      prices,
      settings,
      retry: { baseMs: 1, attempts: 3 },
      ...(compacts && { maxContextTokens: 150, compact }),
    }
    const cheaper = { model: honest('cheap', link, mainRound) }
    const budgeted = { ...budget, onLimit: onLimit === 'cheaper' ? cheaper : onLimit }
    const sub = agent({
      ...options,
      name: 'sub',
      model: honest('honest', link, subRound),
      tools: [look],
      maxRounds: 2,
      // Its parents have the other limits.
      budget: { agentPerDay: budget.agentPerDay },
    })
    const main = (name: string) =>
      agent({
        ...options,
        name,
        model: honest('honest', link, mainRound),
        tools: [look, sub.asTool({ description: 'Helps' })],
        maxRounds: 4,
        budget: budgeted,
      })
    return { alpha: main('alpha'), beta: main('beta') }
  }

  function open(): BudgetInstance {
    const link = linkTo(store)
    const app = millrace({
      agents: agentsFor(link),
      store: link.store,
      leaseMs,
      recoverMs: 10,
      flushMs: 1,
      maxLosses: 1000,
      onError({ message }) {
        if (!link.isDead && !known.test(message)) unexpectedErrors.push(message)
      },
    })
    const instance: BudgetInstance = { app, link, isDisturbed: false }
    instances.push(instance)
    return instance
  }

  return { store, conditions, served, instances, unexpectedErrors, open }
}

export type BudgetWorld = ReturnType<typeof budgetWorld>

/** Nothing more happens in a process that was killed. */
const dead = (signal: AbortSignal) =>
  new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))

/** The second one: a write took longer than a lease lasts, on a busy machine. */
const known = new RegExp(`${injected}|another write to it did not end`)

const summaryPrompt = 'Summarize'
let summaries = 0
const compact: Compact = async ({ messages, ask }) => ({
  keep: Math.min(3, messages.length),
  summary: await ask({ prompt: `${summaryPrompt} ${threadOf({ messages })}, message ${++summaries}.` }),
})

const isSummary = ({ messages }: ModelRequest) => JSON.stringify(messages).includes(`"${summaryPrompt} `)

/** Every message of a user, task and summary names its thread. */
function threadOf({ messages }: Pick<ModelRequest, 'messages'>): string {
  const [id] = /\bt\d+\b/.exec(JSON.stringify(messages)) ?? []
  if (!id) throw new Error(`no thread in ${JSON.stringify(messages)}`)
  return id
}

const look = tool({
  name: 'look',
  description: 'Looks',
  input: z.object({ v: z.number() }),
  async run({ v }) {
    await sleep(v % 3)
    return 'x'.repeat(20 * (v % 5))
  },
})

const cut: ScriptStep = { error: { code: 'stream_interrupted', message: 'cut', retryable: true } }
const busy: ScriptStep = { error: { code: 'overloaded', message: 'busy', retryable: true } }
const lookAt = (v: number): ScriptStep => ({ call: 'look', input: { v } })

function mainRound(turn: number, request: ModelRequest): ScriptStep[] {
  const ask: ScriptStep = { call: 'sub', input: { prompt: `${threadOf(request)} help` } }
  const rounds: readonly ScriptStep[][] = [
    [{ text: 'Only text' }, { pause: turn }, { text: ' here.' }],
    [{ text: 'Looking.' }, lookAt(turn)],
    [lookAt(turn), lookAt(turn + 1), { pause: 2 }, lookAt(turn + 2)],
    [ask],
    [ask, lookAt(turn), ask],
    [{ text: 'A cut answer' }, { pause: turn }, cut],
    [lookAt(turn), { pause: 4 }, { text: 'and more' }, cut],
    // An empty answer.
    [],
    [busy],
    [{ text: 'A long answer. '.repeat(10) }, { pause: turn % 9 }, lookAt(turn)],
  ]
  return rounds[turn % rounds.length] as ScriptStep[]
}

function subRound(turn: number): ScriptStep[] {
  const rounds: readonly ScriptStep[][] = [
    [{ text: 'sub answer' }],
    [{ text: 'sub ' }, { pause: turn }, lookAt(turn)],
    [lookAt(turn), lookAt(turn + 1)],
    [{ text: 'sub cut' }, cut],
    [],
  ]
  return rounds[turn % rounds.length] as ScriptStep[]
}

function charsIn(steps: readonly ScriptStep[]): number {
  return steps.reduce((sum, step) => {
    if ('text' in step) return sum + step.text.length
    return 'call' in step ? sum + JSON.stringify(step).length : sum
  }, 0)
}
