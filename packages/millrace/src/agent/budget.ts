import type {
  BudgetStore,
  BudgetUse,
  DayLimit,
  Hold,
  HoldResult,
  LiveLog,
  Meter,
  SharedBudget,
} from '../log/index.ts'
import { decideHold, left, sumOfHolds } from '../log/index.ts'
import type {
  AmountKind,
  BudgetScope,
  Clock,
  Limits,
  MillraceError,
  Model,
  ReachedLimit,
  RunState,
  Spent,
} from '../protocol/index.ts'
import { amountKinds, amountsOf, invalidInput, spentIn } from '../protocol/index.ts'
import type { Budget } from './budget-options.ts'
import type { LoopOptions } from './options.ts'
import type { ModelPrice } from './prices.ts'

/** A request that is about to be sent, as far as it can be estimated. */
interface PlannedRequest {
  readonly model: Model
  readonly price: ModelPrice | undefined
  readonly inputTokens: number
  /** How many of them the provider has probably cached. */
  readonly cachedTokens: number
  readonly maxOutputTokens: number | undefined
}

/** `isOwn`: it is a limit of this run's own budget, not of the run that called it. */
export interface Reached {
  readonly limit: ReachedLimit
  readonly isOwn: boolean
  /** What the request would use at least. */
  readonly least: Limits
}

/** The budgets that a run has to keep to. It has one request at a time. */
export interface RunBudget {
  /** For its sub-agents. */
  readonly shared: SharedBudget
  /**
   * Resolves when a request may be sent, or to the limit that it would exceed. A `share` of 0.8
   * lowers the run's own limits to 80 %. Rejects with `invalid_input` if the price is needed and not known.
   */
  enter(request: PlannedRequest, share?: number): Promise<Reached | undefined>
  /** Call it after the event that says what the request has cost, or if it cost nothing. */
  leave(): void
  /** The limit that keeps the call at this index of its round from running. */
  callLimit(index: number): ReachedLimit | undefined
  /** A limit that kept a call of the last round from running. */
  takeBlocked(): Reached | undefined
  /** The limit on time that is reached first, and in how many milliseconds. */
  deadline(): { readonly limit: ReachedLimit; readonly ms: number } | undefined
}

export interface RunBudgetOptions {
  readonly runId: string
  readonly log: LiveLog
  readonly clock: Clock
  readonly budget?: Budget | undefined
  readonly store: BudgetStore | undefined
  readonly agent: string
  /** The budgets of the run that called this one. */
  readonly parent: SharedBudget | undefined
  readonly isStopped: () => boolean
}

/** What a model may generate if the settings do not say it. */
const defaultOutputTokens = 16_384

/** How often a request looks whether those of other processes have left something. */
const pollMs = 250

/** Undefined if there is no limit to keep to. */
export function runBudget(options: RunBudgetOptions): RunBudget | undefined {
  const { runId, log, clock, parent, isStopped } = options
  if (!options.budget && !parent) return undefined
  const own = ownLimits(options)
  const shared = sharedBudget(own, options)
  const days = shared.days()
  if (shared.meters.length === 0 && days.length === 0) return undefined
  const hasDays = days.length > 0
  // A limit is raised, but never added or removed.
  const needsPrice = [
    ...shared.meters.map((meter) => meter.limits()),
    ...days.map(({ limits }) => limits),
  ].some(({ usd }) => usd !== undefined)
  let requests = 0
  let current: string | undefined
  let callsLimit: ReachedLimit | undefined
  let blocked: ReachedLimit | undefined

  function isOwn({ scope, kind, limit }: ReachedLimit, share = 1): boolean {
    const limits = [
      ...own.meters.map((meter) => ({ scope: meter.scope, limits: meter.limits() })),
      ...own.days(),
    ]
    return limits.some((one) => one.scope === scope && scaled(one.limits, share)[kind] === limit)
  }

  /** Resolves when a request of this process has ended, or it is time to look at the others again. */
  async function somethingReleased(): Promise<void> {
    const elapsed = Promise.withResolvers<void>()
    const cancel = clock.after(pollMs, elapsed.resolve)
    await Promise.race([shared.released(), elapsed.promise])
    cancel()
  }

  function leave() {
    if (current !== undefined) shared.release(current)
    current = undefined
  }

  function reserveHere(id: string, amounts: Amounts, share: number): HoldResult {
    const uses = shared.meters.map((meter) => useOf(meter, own.meters.includes(meter) ? share : 1))
    const result = decideHold(amounts, uses)
    if (result.type === 'held') for (const { held } of shared.meters) held.set(id, amounts.most)
    return result
  }

  async function reserveToday(
    id: string,
    amounts: Amounts,
    share: number,
    callsHere: ReachedLimit | undefined,
  ): Promise<HoldResult> {
    const ownDays = own.days().map((day) => ({ ...day, limits: scaled(day.limits, share) }))
    const limits = [...ownDays, ...(parent?.days() ?? [])]
    shared.stored.add(id)
    try {
      const there = (await shared.store?.hold({ id, ...amounts, limits })) ?? { type: 'held' }
      if (there.type === 'held') return { ...there, toolCalls: smaller(callsHere, there.toolCalls) }
      shared.stored.delete(id)
      shared.release(id)
      return there
    } catch (thrown) {
      // The store may have it nevertheless.
      shared.release(id)
      throw thrown
    }
  }

  return {
    shared,
    async enter(request, share = 1) {
      if (needsPrice && !request.price) throw unknownPrice(request.model)
      const amounts = amountsFor(request)
      leave()
      while (!isStopped()) {
        const id = `${runId}/${++requests}`
        const here = reserveHere(id, amounts, share)
        const result =
          here.type === 'held' && hasDays ? await reserveToday(id, amounts, share, here.toolCalls) : here
        if (result.type === 'reached')
          return { limit: result.limit, isOwn: isOwn(result.limit, share), least: amounts.least }
        if (result.type === 'held') {
          current = id
          callsLimit = result.toolCalls
          return undefined
        }
        await somethingReleased()
      }
      return undefined
    },
    leave,
    callLimit(index) {
      // The round may have been generated by another process.
      if (requests === 0) callsLimit = callsLimitOf(shared, log)
      if (!callsLimit || index < left(callsLimit)) return undefined
      blocked = { ...callsLimit, spent: Math.max(callsLimit.spent, callsLimit.limit) }
      return blocked
    },
    takeBlocked() {
      const limit = blocked
      blocked = undefined
      return limit && { limit, isOwn: isOwn(limit), least: {} }
    },
    deadline() {
      let first: ReachedLimit | undefined
      for (const meter of own.meters) first = smaller(first, reachedOf(meter, 'ms'))
      return first && { limit: { ...first, spent: first.limit }, ms: left(first) }
    },
  }
}

/** What sub-agents of a run without limits share: they may have limits of their own. */
export function unlimitedBudget(
  options: Pick<RunBudgetOptions, 'parent' | 'store'>,
): SharedBudget | undefined {
  const { parent, store } = options
  return parent ?? (store && sharedBudget({ meters: [], days: () => [] }, options))
}

/** Throws `invalid_input` if there are limits per day, but no store that keeps them. */
export function checkBudgetStore({
  budget = {},
  budgetStore,
  parentRun,
}: Pick<LoopOptions<never>, 'budget' | 'budgetStore' | 'parentRun'>): void {
  const store = parentRun?.budget?.store ?? budgetStore
  if (store || !(hasLimit(budget.userPerDay) || hasLimit(budget.agentPerDay))) return
  throw invalidInput(
    'agent.run',
    'a budget per day needs a store that counts what was spent: run the agent in a thread of an app, or remove userPerDay and agentPerDay',
  )
}

type Amounts = Pick<Hold, 'least' | 'most'>

/** The limits of the run itself, without those of the run that called it. */
interface OwnLimits {
  readonly meters: readonly Meter[]
  days(): readonly DayLimit[]
}

function ownLimits({ budget = {}, log, clock, parent, ...options }: RunBudgetOptions): OwnLimits {
  const { thread, userPerDay, agentPerDay } = budget
  const store = parent?.store ?? options.store
  const startedAt = clock.now()
  const raised = (scope: BudgetScope, limits: Limits) => withAllowed(limits, scope, log.run?.allowed ?? {})
  const { usd, tokens, rounds, toolCalls, ms } = budget
  const meter = (scope: BudgetScope, limits: Limits, spent: () => Spent): readonly Meter[] =>
    hasLimit(limits)
      ? [
          {
            scope,
            limits: () => raised(scope, limits),
            spent() {
              const amounts = amountsOf(spent())
              return { ...amounts, ms: amounts.ms + clock.now() - startedAt }
            },
            held: new Map(),
          },
        ]
      : []
  // The totals of the day count a thread under the name of its agent in the app.
  const agent = parent ? options.agent : (store?.agent ?? options.agent)
  const user = store?.user
  return {
    meters: [
      ...meter('run', { usd, tokens, rounds, toolCalls, ms }, () => log.run.spent),
      // A sub-agent has no thread of its own.
      ...(parent ? [] : meter('thread', thread ?? {}, () => spentIn(log.state))),
    ],
    days: () => [
      ...(hasLimit(agentPerDay)
        ? [{ scope: 'agent' as const, name: agent, limits: raised('agent', agentPerDay) }]
        : []),
      ...(hasLimit(userPerDay) && user !== undefined
        ? [{ scope: 'user' as const, name: user, limits: raised('user', userPerDay) }]
        : []),
    ],
  }
}

function sharedBudget(
  own: OwnLimits,
  { parent, store }: Pick<RunBudgetOptions, 'parent' | 'store'>,
): SharedBudget {
  if (parent)
    return {
      ...parent,
      meters: [...own.meters, ...parent.meters],
      days: () => [...own.days(), ...parent.days()],
      release(id) {
        for (const { held } of own.meters) held.delete(id)
        parent.release(id)
      },
    }
  let next = Promise.withResolvers<void>()
  const stored = new Set<string>()
  return {
    meters: own.meters,
    days: own.days,
    store,
    stored,
    released: () => next.promise,
    release(id) {
      for (const { held } of own.meters) held.delete(id)
      if (stored.delete(id)) store?.free(id)
      next.resolve()
      next = Promise.withResolvers()
    },
  }
}

/** How much more a person is asked to allow: as much again, or what the request needs. */
export function askedAmount(budget: Budget, { limit: reached, least }: Reached): number {
  const { scope, kind, limit, spent } = reached
  const parts = { run: budget, thread: budget.thread, user: budget.userPerDay, agent: budget.agentPerDay }
  const needed = spent + (least[kind] ?? 0) - Math.max(limit, spent)
  return Math.max(parts[scope]?.[kind] ?? 0, needed) || 1
}

/** What a request uses at least and at most. */
function amountsFor({
  price,
  inputTokens,
  cachedTokens,
  maxOutputTokens = defaultOutputTokens,
}: PlannedRequest): Amounts {
  const cacheReadTokens = Math.min(cachedTokens, inputTokens)
  return {
    least: { usd: price?.costOf({ inputTokens, cacheReadTokens }).usd, tokens: inputTokens, rounds: 1 },
    most: {
      usd: price?.costOf({ inputTokens, outputTokens: maxOutputTokens }).usd,
      tokens: inputTokens + maxOutputTokens,
      rounds: 1,
    },
  }
}

function unknownPrice({ id }: Model): MillraceError {
  const message = `the budget is in US dollars, but the price of the model '${id}' is not known: pass it as prices: { '${id}': { input, output } } in US dollars per million tokens, or limit tokens instead`
  return invalidInput('agent.budget', message)
}

function useOf(meter: Meter, share: number): BudgetUse {
  return {
    scope: meter.scope,
    limits: scaled(meter.limits(), share),
    spent: meter.spent(),
    held: sumOfHolds(meter.held.values()),
    holders: meter.held.size,
  }
}

/** The limit for the calls of the current round, if no request was sent for it here. */
function callsLimitOf({ meters }: SharedBudget, { run }: LiveLog): ReachedLimit | undefined {
  let ran = 0
  for (const { result, attempts } of run.calls.values()) if (result && attempts > 0) ran++
  let limit: ReachedLimit | undefined
  for (const meter of meters) {
    const reached = reachedOf(meter, 'toolCalls')
    limit = smaller(limit, reached && { ...reached, spent: reached.spent - ran })
  }
  return limit
}

function reachedOf(meter: Meter, kind: AmountKind): ReachedLimit | undefined {
  const limit = meter.limits()[kind]
  return limit === undefined ? undefined : { scope: meter.scope, kind, limit, spent: meter.spent()[kind] }
}

function smaller(a: ReachedLimit | undefined, b: ReachedLimit | undefined): ReachedLimit | undefined {
  return a && b ? (left(b) < left(a) ? b : a) : (a ?? b)
}

function hasLimit(limits: Limits | undefined): limits is Limits {
  return limits !== undefined && amountKinds.some((kind) => limits[kind] !== undefined)
}

/** Only money and tokens are lowered: those are what a cheaper model saves. */
function scaled(all: Limits, share: number): Limits {
  if (share === 1) return all
  const { usd, tokens, ...limits } = all
  return {
    ...limits,
    ...(usd !== undefined && { usd: usd * share }),
    ...(tokens !== undefined && { tokens: tokens * share }),
  }
}

function withAllowed(limits: Limits, scope: BudgetScope, allowed: RunState['allowed']): Limits {
  let raised: Limits | undefined
  for (const key in allowed)
    for (const kind of amountKinds)
      if (key === `${scope}.${kind}` && limits[kind] !== undefined)
        raised = { ...(raised ?? limits), [kind]: allowed[key as keyof typeof allowed] }
  return raised ?? limits
}
