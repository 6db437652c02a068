import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { isMillraceError } from '../protocol/index.ts'
import type { RestingThread } from './budget-checks.test-kit.ts'
import {
  checkAttempts,
  checkHolds,
  checkLimits,
  checkServed,
  checkSpending,
  checkState,
} from './budget-checks.test-kit.ts'
import type { BudgetConditions, BudgetInstance, BudgetWorld } from './budget-world.test-kit.ts'
import { budgetConditions, budgetWorld, ownerOf } from './budget-world.test-kit.ts'
import { sleep, until, within } from './chaos.test-kit.ts'
import { injected } from './chaos-store.test-kit.ts'
import type { Thread, ThreadStore } from './index.ts'

// Whatever users and processes do: what models have served is counted once, in the logs and in the
// store, no budget is exceeded by more than one request per process, and no hold is left. Timing
// matters: a seed repeats the same actions, but not always the same failure.

interface Step {
  readonly world: BudgetWorld
  readonly active: BudgetInstance[]
  readonly slot: number
  readonly instance: BudgetInstance
  readonly thread: Thread
  readonly n: number
  /** Users wait a moment for an answer, and then do something else. */
  readonly request: (pending: Promise<unknown>) => Promise<void>
}

const failable = ['append', 'hold', 'claim', 'renew', 'release', 'read'] as const

const disturbing = {
  kill(step: Step) {
    step.instance.link.kill()
    replace(step)
  },
  // The next owner of its threads has to end their runs.
  async killAndStop(step: Step) {
    disturbing.kill(step)
    const { app } = step.active[step.slot] as BudgetInstance
    await step.request(app.thread(step.thread.id).stop())
  },
  close(step: Step) {
    step.request(step.instance.app.close({ graceMs: step.n % 5 }))
    replace(step)
  },
  // Up to twice as long as a lease lasts.
  freeze: ({ instance, n }: Step) => instance.link.freeze((n % 3) * 250),
  fail: ({ instance, n }: Step) => instance.link.fail(failable[n % failable.length] ?? 'append', 1 + (n % 2)),
  lose: ({ instance, n }: Step) =>
    instance.link.loseAcknowledgements(failable[n % failable.length] ?? 'append', 1 + (n % 2)),
}

const actions = {
  send: ({ thread, request, n }: Step) => request(thread.send(`${thread.id} m${n}`)),
  async sendToAll({ world, instance, request, n }: Step) {
    const ids = Array.from({ length: world.conditions.threads }, (_, index) => `t${index}`)
    await request(Promise.all(ids.map((id) => instance.app.thread(id).send(`${id} m${n}`))))
  },
  sendMore: ({ thread, request, n }: Step) => request(thread.send(`${thread.id} m${n}`, { mode: 'steer' })),
  interrupt: ({ thread, request, n }: Step) =>
    request(thread.send(`${thread.id} m${n}`, { mode: 'interrupt' })),
  stop: ({ thread, request }: Step) => request(thread.stop()),
  approve: ({ thread, request }: Step) => request(decide(thread, true)),
  deny: ({ thread, request }: Step) => request(decide(thread, false)),
  waitBriefly: ({ n }: Step) => sleep(n % 6),
  wait: ({ n }: Step) => sleep(n % 60),
  ...disturbing,
}

function replace({ world, active, slot }: Step) {
  active[slot] = world.open()
}

async function decide(thread: Thread, approved: boolean): Promise<void> {
  const { approvals } = await thread.state()
  for (const { callId } of approvals) await thread.approve(callId, { approved })
}

interface Action {
  readonly do: keyof typeof actions
  readonly slot: number
  readonly thread: number
  readonly n: number
}

const action = (names: readonly (keyof typeof actions)[]): fc.Arbitrary<Action> =>
  fc.record({
    do: fc.oneof(
      { arbitrary: fc.constant('send' as const), weight: 2 },
      { arbitrary: fc.constantFrom(...names), weight: 3 },
    ),
    slot: fc.nat(3),
    thread: fc.nat(5),
    n: fc.nat(1000),
  })

const names = Object.keys(actions) as (keyof typeof actions)[]
const calm = names.filter((name) => !(name in disturbing))
const sequence = (from: readonly (keyof typeof actions)[]) =>
  fc.array(action(from), { minLength: 3, maxLength: 20 })

async function play(
  store: ThreadStore,
  list: readonly Action[],
  conditions: BudgetConditions,
): Promise<void> {
  // Long enough that a process loses nothing by itself.
  const leaseMs = list.some((action) => action.do in disturbing) ? 250 : 60_000
  const world = budgetWorld(store, conditions, leaseMs)
  const active = Array.from({ length: conditions.instances }, () => world.open())
  const requests: { readonly instance: BudgetInstance; readonly done: Promise<unknown> }[] = []
  try {
    for (let index = 0; index < conditions.threads; index++) {
      const { agent, user } = ownerOf(index)
      await store.create({ id: `t${index}`, agent, ...(user && { user }) })
    }
    for (const { do: name, n, ...at } of list) {
      const slot = at.slot % active.length
      const instance = active[slot] as BudgetInstance
      const thread = instance.app.thread(`t${at.thread % conditions.threads}`)
      if (name in disturbing) instance.isDisturbed = true
      const request = async (pending: Promise<unknown>) => {
        const done = pending.catch(expectKnown)
        requests.push({ instance, done })
        await Promise.race([done, sleep(20)])
      }
      await actions[name]({ world, active, slot, instance, thread, n, request })
    }
    for (const { link } of world.instances) link.thaw()
    for (const { instance, done } of requests) if (!instance.link.isDead) await within(done, 'an answer')
    await check(world)
  } catch (error) {
    // Why something did not end is more interesting than that the apps do not close then.
    void end(world).catch(() => {})
    throw error
  }
  await end(world)
  expect(world.unexpectedErrors).toEqual([])
}

async function end({ store, instances }: BudgetWorld): Promise<void> {
  for (const { app, link } of instances) {
    link.rejectPending()
    await within(app.close({ graceMs: 0 }), 'an app to close')
  }
  await store.close()
}

function expectKnown(error: unknown): void {
  const isKnown = isMillraceError(error) && /conflict|not_found|invalid_input/.test(error.code)
  if (!isKnown && !String(error).includes(injected)) throw error
}

async function check(world: BudgetWorld): Promise<void> {
  const { app } = world.open()
  const threads: RestingThread[] = []
  for (const info of (await app.threads({ limit: 100 })).threads) {
    const { id, agent, user } = info
    const thread = app.thread(id)
    await comesToRest(thread)
    const entries = await world.store.read(id, { after: 0, limit: 1_000_000 })
    threads.push({ thread, agent, user, events: entries.map(({ event }) => event) })
  }
  for (const thread of threads) {
    checkServed(world, thread)
    checkAttempts(thread.events, thread.thread.id)
    await checkState(thread)
  }
  await checkSpending(world, threads)
  checkLimits(world, threads)
  await checkHolds(world)
}

/** Denies more money, until the thread is at rest. */
async function comesToRest(thread: Thread): Promise<void> {
  const isAtRest = async () => {
    await decide(thread, false).catch(expectKnown)
    return (await thread.state()).status === 'idle' && (await thread.info()).status === 'idle'
  }
  await until(isAtRest, async () => {
    const last = (await thread.read()).slice(-8).map(({ event }) => event.type)
    return `${thread.id} to rest: it is ${(await thread.info()).status}, with ${last}`
  })
}

export interface BudgetTestOptions {
  readonly runs: number
  readonly open: () => ThreadStore
}

export function testBudgets({ runs, open }: BudgetTestOptions): void {
  const property = (from: readonly (keyof typeof actions)[]) =>
    fc.asyncProperty(sequence(from), budgetConditions, (list, conditions) => play(open(), list, conditions))
  // Without shrinking: each example takes its time to fail, and with other timing it may not. A hang
  // fails with its seed.
  const parameters = { numRuns: sized(runs), endOnFailure: true, timeout: 100_000 }
  const timeout = 10_000 * sized(runs) + 120_000

  test('budgets hold, and every request is counted once', { timeout }, () =>
    fc.assert(property(calm), parameters),
  )

  test('they do so while processes are lost and their store fails', { timeout }, () =>
    fc.assert(property(names), parameters),
  )
}
