import { expect } from 'vitest'
import type { Limits, Paid, RunEvent, SpendingRow, Spent, ThreadEvent } from '../protocol/index.ts'
import { amountsOf, countSpend, nothingSpent, spendOf, toNanos, totalCost } from '../protocol/index.ts'
import type { Spend } from '../protocol/spend.ts'
import type { BudgetWorld, Served } from './budget-world.test-kit.ts'
import { prices } from './budget-world.test-kit.ts'
import type { Thread } from './index.ts'

/** A thread at rest, with its log. */
export interface RestingThread {
  readonly thread: Thread
  readonly agent: string
  readonly user: string | undefined
  readonly events: readonly ThreadEvent[]
}

/** What was paid according to an event, wherever it is nested. */
function paidIn(event: ThreadEvent): Paid | undefined {
  switch (event.type) {
    case 'round-end':
    case 'summary':
      return event
    case 'tool-progress':
      return event.event && paidIn(event.event)
    default:
      return 'failed' in event ? event.failed : undefined
  }
}

/** Every request that was served is in the log once: with what it reported, or as an estimate. */
export function checkServed({ served }: BudgetWorld, { thread, events }: RestingThread): void {
  const requests = served.filter((one) => one.thread === thread.id)
  const paid = events.flatMap((event) => paidIn(event) ?? [])
  const reported = paid.flatMap(({ usage }) => usage?.webSearches ?? [])
  expect([...new Set(reported)], `a request of ${thread.id} is counted twice`).toEqual(reported)
  for (const id of reported) {
    const request = requests.find((one) => one.id === id)
    expect(request?.done, `request ${id} of ${thread.id} was not served`).toBe(true)
    const { usage } = paid.find((one) => one.usage?.webSearches === id) as Paid
    const { inputTokens, outputTokens } = request as typeof request & object
    expect(usage).toMatchObject({ inputTokens, outputTokens })
  }
  const others = requests.filter(({ id }) => !reported.includes(id))
  // On a busy machine, a process may also lose its lease by itself.
  const isLost = events.some((event) => event.type === 'run-start' && event.losses)
  const isSafe = ({ instance }: (typeof others)[number]) => !isLost && !instance.isDisturbed
  const estimates = paid.filter(({ estimate }) => estimate).length
  const received = others.filter((one) => isSafe(one) && one.received)
  const what = `estimates in ${thread.id} for ${JSON.stringify(others.map(({ instance, ...rest }) => rest))}`
  expect(estimates, what).toBeGreaterThanOrEqual(received.length)
  // A process may be lost before it sends a request whose start it has written.
  expect(estimates, what).toBeLessThanOrEqual(others.length + resumesIn(events))
}

function resumesIn(events: readonly ThreadEvent[]): number {
  return events.reduce((count, event) => {
    if (event.type === 'tool-progress' && event.event) return count + resumesIn([event.event])
    return count + (event.type === 'run-start' && event.resumes !== undefined ? 1 : 0)
  }, 0)
}

const outputTypes: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool-input-start', 'tool-call'])

/** Whatever was received, and every round of a process that was lost, has been paid for. */
export function checkAttempts(events: readonly ThreadEvent[], where: string, isEnded = true): void {
  const nested = new Map<string, RunEvent[]>()
  const ended = new Set<string>()
  let isGenerating = false
  let mustPay = false
  for (const [index, event] of events.entries()) {
    const at = `${where}, at ${event.type} (${index})`
    if (outputTypes.has(event.type)) mustPay = true
    if (event.type === 'run-start' && isGenerating) mustPay = true
    if (/^round-(end|retry|retract)$/.test(event.type)) {
      const { usage, estimate } = paidIn(event) ?? {}
      if (mustPay) expect(usage ?? estimate, `nothing was paid in ${at}`).toBeDefined()
      mustPay = false
      isGenerating = event.type === 'round-retry'
    }
    if (event.type === 'round-start') isGenerating = true
    if (event.type === 'run-end') expect(isGenerating, `a round has not ended in ${at}`).toBe(false)
    if (event.type === 'tool-progress' && event.event)
      nested.set(event.callId, [...(nested.get(event.callId) ?? []), event.event])
    // A call that was running in a lost process when its run was stopped is not resumed.
    if (event.type === 'tool-result' && event.status !== 'unknown') ended.add(event.callId)
  }
  if (isEnded) expect(mustPay, `a round has not ended in ${where}`).toBe(false)
  for (const [callId, run] of nested) checkAttempts(run, `${where}/${callId}`, isEnded && ended.has(callId))
}

function spentOf(events: readonly ThreadEvent[]): Spent {
  const spent = nothingSpent()
  for (const event of events) countSpend(spent, event)
  return spent
}

type Sums = Record<'nanos' | 'input' | 'output' | 'rounds' | 'toolCalls' | 'runs' | 'ms' | 'unknown', number>

const sumsOf = ({ nanos, usage, rounds, toolCalls, runs, ms, unknown }: Spend): Sums => ({
  ...{ nanos, input: usage.inputTokens ?? 0, output: usage.outputTokens ?? 0 },
  ...{ rounds, toolCalls, runs, ms, unknown },
})

const rowSums = ({
  usd,
  inputTokens,
  outputTokens,
  rounds,
  toolCalls,
  runs,
  ms,
  unknown,
}: SpendingRow): Sums => ({
  ...{ nanos: toNanos(usd), input: inputTokens, output: outputTokens },
  ...{ rounds, toolCalls, runs, ms, unknown },
})

const keyed = (sums: Map<string, Sums>, key: unknown, more: Sums) => {
  const name = JSON.stringify(key)
  const sum = sums.get(name)
  sums.set(
    name,
    sum
      ? (Object.fromEntries(
          Object.entries(more).map(([kind, n]) => [kind, n + sum[kind as keyof Sums]]),
        ) as Sums)
      : more,
  )
}

/** What the store has counted is what the logs say, in whatever way it is grouped. */
export async function checkSpending(
  { store }: BudgetWorld,
  threads: readonly RestingThread[],
): Promise<void> {
  for (const by of [[], ['user'], ['agent'], ['user', 'agent', 'model', 'tool']] as const) {
    const expected = new Map<string, Sums>()
    for (const { agent, user, events } of threads)
      for (const event of events) {
        const spend = spendOf(event)
        if (!spend || Object.values(sumsOf(spend)).every((n) => n === 0)) continue
        const row = { agent, user, model: spend.model, tool: spend.tool }
        keyed(
          expected,
          by.map((key) => row[key] ?? null),
          sumsOf(spend),
        )
      }
    if (expected.size === 0) continue
    const counted = new Map<string, Sums>()
    for (const row of await store.spending({ by }))
      keyed(
        counted,
        by.map((key) => row[key] ?? null),
        rowSums(row),
      )
    expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(expected))
  }
}

export async function checkState({ thread, events }: RestingThread): Promise<void> {
  const { cost } = await thread.state()
  expect(cost).toEqual(totalCost(spentOf(events)))
  expect(cost.unknown).toBeUndefined()
}

/** No budget is exceeded by more than one request, and one more for each process that was lost. */
export function checkLimits(world: BudgetWorld, threads: readonly RestingThread[]): void {
  const { conditions, served, instances } = world
  const { budget } = conditions
  const processes = 1 + instances.filter(({ isDisturbed }) => isDisturbed).length
  const most = (amount: (one: Served) => number) => Math.max(0, ...served.map(amount))
  const { input, output } = prices.honest
  const excess = {
    tokens: processes * most(({ inputTokens, outputTokens }) => inputTokens + outputTokens),
    usd:
      (processes * most(({ inputTokens, outputTokens }) => inputTokens * input + outputTokens * output)) /
      1e6,
    rounds: processes - 1,
  }

  function check(name: string, limits: Limits | undefined, spent: Spent) {
    for (const kind of ['usd', 'tokens', 'rounds'] as const) {
      const limit = limits?.[kind]
      if (limit === undefined) continue
      const text = `${kind} of ${name}, with a limit of ${limit}`
      // Nothing is sent if the limit is 0.
      const allowed = limit === 0 && processes === 1 ? 0 : limit + excess[kind]
      expect(amountsOf(spent)[kind], text).toBeLessThanOrEqual(allowed + 1e-12)
    }
  }

  const isRaised = (scope: string) =>
    threads.some(({ events }) => {
      const asked = new Set(
        events.flatMap((event) =>
          event.type === 'approval-request' && event.budget?.scope === scope ? event.callId : [],
        ),
      )
      return events.some((event) => event.type === 'approval' && event.approved && asked.has(event.callId))
    })

  const sum = (isIn: (thread: RestingThread, spend: Spend) => boolean) => {
    const spent = nothingSpent()
    for (const thread of threads)
      for (const event of thread.events) {
        const spend = spendOf(event)
        if (spend && isIn(thread, spend)) countSpend(spent, event)
      }
    return spent
  }

  for (const { thread, events } of threads) {
    if (!isRaised('thread')) check(`thread ${thread.id}`, budget.thread, spentOf(events))
    if (!isRaised('run'))
      for (const run of runsOf(events)) check(`a run of ${thread.id}`, budget, spentOf(run))
  }
  if (!isRaised('user'))
    for (const name of ['ann', 'bob'])
      check(
        `user ${name}`,
        budget.userPerDay,
        sum(({ user }) => user === name),
      )
  if (!isRaised('agent'))
    for (const name of ['alpha', 'beta', 'sub'])
      check(
        `agent ${name}`,
        budget.agentPerDay,
        sum(({ agent }, { agents }) => agent === name || agents.includes(name)),
      )
}

/** The events of each run, which may have been resumed. */
function runsOf(events: readonly ThreadEvent[]): ThreadEvent[][] {
  const runs: ThreadEvent[][] = []
  for (const event of events) {
    if (event.type === 'run-start' && event.resumes === undefined) runs.push([])
    runs.at(-1)?.push(event)
  }
  return runs
}

/** A request that takes everything is admitted, so no one holds anything. */
export async function checkHolds({ store }: BudgetWorld): Promise<void> {
  await store.create({ id: 'probe', agent: 'probe' })
  await store.signal('probe', 'go', {
    type: 'input',
    mode: 'queue',
    message: { role: 'user', content: 'go' },
  })
  const claim = await store.claim('probe', 'prober', 60_000)
  if (!claim) throw new Error('the probe cannot be claimed')
  const scopes = [
    ...['alpha', 'beta', 'sub'].map((name) => ({ scope: 'agent' as const, name })),
    ...['ann', 'bob'].map((name) => ({ scope: 'user' as const, name })),
  ]
  for (const { scope, name } of scopes) {
    const [today] = await Promise.all([store.spending({ by: [] })])
    const spent = today.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0)
    const limit = { scope, name, limits: { tokens: spent + 1 } }
    const hold = { id: name, least: { tokens: 0 }, most: { tokens: spent + 2 }, limits: [limit] }
    expect(await store.hold(claim.lease, hold), `a hold of ${scope} ${name} is left`).toMatchObject({
      type: 'held',
    })
    await store.append([{ lease: claim.lease, number: 0, events: [], freed: [name] }])
  }
}
