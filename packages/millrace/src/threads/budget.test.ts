import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { AgentOptions, Budget } from '../agent/index.ts'
import { agent } from '../agent/index.ts'
import type { Usage } from '../protocol/index.ts'
import { countSpend, nothingSpent, textOf } from '../protocol/index.ts'
import type { ScriptStep } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { Thread } from './index.ts'
import { eventsOf, openStore, startApp, untilIdle } from './threads.test-kit.ts'

/** A dollar per million tokens, so that tokens are micro-dollars. */
const prices = { scripted: { input: 1, output: 1 } }
/** Small enough that a request is only stopped by what was spent before. */
const settings = { maxOutputTokens: 10 }
const used: Partial<Usage> = { inputTokens: 600, outputTokens: 400 }

const echo = tool({
  name: 'echo',
  description: 'Says it again',
  input: z.object({ value: z.string() }),
  run: ({ value }) => value,
})

/** Answers every message with one request for 1,000 tokens. */
const answers = () => scriptedModel(() => [{ text: 'Yes.' }, { usage: used }])

/** Takes 1,000 tokens for each round, and as many rounds as the message says. */
const works = () =>
  scriptedModel(({ messages }) => {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const rounds = Number(textOf(messages[at] as never))
    const step: ScriptStep =
      messages.slice(at).filter(({ role }) => role === 'assistant').length < rounds - 1
        ? { call: 'echo', input: { value: String(messages.length) } }
        : { text: `Took ${rounds}.` }
    return [step, { usage: used }]
  })

function worker(budget: Budget | undefined, options: Partial<AgentOptions> = {}) {
  return agent({ name: 'worker', model: works(), tools: [echo], prices, settings, budget, ...options })
}

async function send(thread: Thread, text: string) {
  const seq = await thread.send(text)
  return eventsOf(await untilIdle(thread, seq), 'run-end').at(-1)
}

async function untilWaiting(thread: Thread): Promise<void> {
  await expect.poll(async () => (await thread.info()).status).toBe('waiting')
}

describe('a budget of a thread', () => {
  test('holds for all of its runs together, and for each thread on its own', async () => {
    const app = startApp({ agents: worker({ thread: { tokens: 3500 } }) })
    const thread = app.thread('t')
    expect(await send(thread, '2')).toMatchObject({ outcome: 'completed' })
    expect(await send(thread, '2')).toMatchObject({
      outcome: 'budget',
      limit: { scope: 'thread', kind: 'tokens', limit: 3500, spent: 3000 },
    })
    expect(await send(thread, '1')).toMatchObject({ outcome: 'budget', limit: { spent: 3000 } })
    expect(await send(app.thread('other'), '3')).toMatchObject({ outcome: 'completed' })
  })

  test('holds in a process that has not seen the earlier runs', async () => {
    const store = openStore()
    const opened = () => startApp({ agents: worker({ thread: { usd: 0.0025 } }), store })
    expect(await send(opened().thread('t'), '2')).toMatchObject({ outcome: 'completed' })
    expect(await send(opened().thread('t'), '1')).toMatchObject({
      outcome: 'budget',
      limit: { spent: 0.002 },
    })
  })

  test('is spent by the runs that a fork shares, and then by each thread for itself', async () => {
    const app = startApp({ agents: worker({ thread: { tokens: 3500 } }) })
    const thread = app.thread('t')
    await send(thread, '2')
    const fork = await thread.fork((await thread.info()).head)
    expect(await send(fork, '1')).toMatchObject({ outcome: 'completed' })
    expect(await send(fork, '1')).toMatchObject({ outcome: 'budget', limit: { spent: 3000 } })
    expect(await send(thread, '1')).toMatchObject({ outcome: 'completed' })
    // What both share was paid once.
    expect(await app.spending()).toMatchObject([{ inputTokens: 2400, outputTokens: 1600, rounds: 4 }])
  })
})

describe('a budget per day', () => {
  test('of a user is shared by its threads and agents, and not by other users', async () => {
    const userPerDay = { tokens: 2000 }
    const app = startApp({
      agents: {
        worker: worker({ userPerDay }),
        clerk: agent({ model: answers(), prices, settings, budget: { userPerDay } }),
      },
    })
    const of = (user?: string, name = 'worker') => app.thread(undefined, { user, agent: name })
    expect(await send(of('ann'), '1')).toMatchObject({ outcome: 'completed' })
    expect(await send(of('ann', 'clerk'), 'Hi.')).toMatchObject({ outcome: 'completed' })
    const limit = { scope: 'user', kind: 'tokens', limit: 2000, spent: 2000 }
    expect(await send(of('ann'), '1')).toMatchObject({ outcome: 'budget', limit })
    expect(await send(of('ann', 'clerk'), 'Hi.')).toMatchObject({ outcome: 'budget', limit })
    expect(await send(of('bob'), '1')).toMatchObject({ outcome: 'completed' })
    // A thread without a user is not limited.
    expect(await send(of(), '5')).toMatchObject({ outcome: 'completed' })
  })

  test('of an agent is shared by all of its users, and not by other agents', async () => {
    const app = startApp({
      agents: { worker: worker({ agentPerDay: { rounds: 2 } }), clerk: agent({ model: answers() }) },
    })
    const of = (user: string, name = 'worker') => app.thread(undefined, { user, agent: name })
    expect(await send(of('ann'), '1')).toMatchObject({ outcome: 'completed' })
    expect(await send(of('bob', 'clerk'), 'Hi.')).toMatchObject({ outcome: 'completed' })
    expect(await send(of('bob'), '2')).toMatchObject({
      outcome: 'budget',
      limit: { scope: 'agent', kind: 'rounds', limit: 2, spent: 2 },
    })
    expect(await send(of('bob', 'clerk'), 'Hi.')).toMatchObject({ outcome: 'completed' })
  })

  test('a sub-agent spends its own, and that of the agent that called it', async () => {
    const clerk = agent({
      name: 'clerk',
      model: answers(),
      prices,
      settings,
      budget: { agentPerDay: { tokens: 1000 } },
    })
    const model = scriptedModel(({ messages }) => [
      messages.at(-1)?.role === 'user' ? { call: 'clerk', input: { prompt: 'Hi.' } } : { text: 'Done.' },
      { usage: used },
    ])
    const boss = agent({
      name: 'boss',
      model,
      tools: [clerk.asTool({ description: 'Does it' })],
      prices,
      settings,
      budget: { agentPerDay: { tokens: 5500 } },
    })
    const app = startApp({ agents: { boss, clerk } })
    const thread = app.thread('t', { agent: 'boss' })
    expect(await send(thread, 'Go.')).toMatchObject({ outcome: 'completed' })
    // The clerk has nothing left, on its own and for others.
    expect(await send(app.thread('c', { agent: 'clerk' }), 'Hi.')).toMatchObject({
      outcome: 'budget',
      limit: { scope: 'agent', limit: 1000, spent: 1000 },
    })
    expect(await send(thread, 'Go.')).toMatchObject({ outcome: 'completed' })
    const results = eventsOf(await thread.read(), 'tool-result')
    expect(results.map(({ status }) => status)).toEqual(['ok', 'failed'])
    // Two rounds of its own in each run, and one of the clerk.
    expect(await send(thread, 'Go.')).toMatchObject({
      outcome: 'budget',
      limit: { limit: 5500, spent: 5000 },
    })
    expect(await app.spending({ by: ['agent', 'tool'] })).toMatchObject([
      { agent: 'boss', inputTokens: 2400 },
      { agent: 'boss', tool: 'clerk', inputTokens: 600, outputTokens: 400 },
      { agent: 'clerk', inputTokens: 0, runs: 1 },
    ])
  })

  test('several threads at once do not exceed it', async () => {
    const model = scriptedModel(() => [{ pause: 5 }, { text: 'Yes.' }, { usage: used }])
    const store = openStore()
    const budget = { userPerDay: { tokens: 4500 } }
    const maxOutputTokens = 1000
    const opened = () => startApp({ agents: worker(budget, { model, settings: { maxOutputTokens } }), store })
    const apps = [opened(), opened()]
    const ends = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        send((apps[index % 2] as (typeof apps)[0]).thread(`t${index}`, { user: 'ann' }), 'Hi.'),
      ),
    )
    const outcomes = ends.map((end) => end?.outcome)
    expect(outcomes.filter((outcome) => outcome === 'completed')).toHaveLength(5)
    expect(outcomes.filter((outcome) => outcome === 'budget')).toHaveLength(5)
  })
})

describe('the app', () => {
  test('replaces limits of the budgets of its agents', async () => {
    const app = startApp({
      agents: worker({ rounds: 1, thread: { rounds: 100 } }),
      budget: { rounds: 3, thread: { tokens: 3500 } },
    })
    expect(await send(app.thread('t'), '9')).toMatchObject({
      limit: { scope: 'run', kind: 'rounds', limit: 3 },
    })
    expect(await send(app.thread('t'), '9')).toMatchObject({
      limit: { scope: 'thread', kind: 'tokens', spent: 3000 },
    })
  })

  test('returns the cost and the context of a thread, and what was spent by whom', async () => {
    const app = startApp({ agents: worker(undefined) })
    const thread = app.thread('t', { user: 'ann' })
    await send(thread, '2')
    await send(thread, '1')
    await send(app.thread('u', { user: 'bob' }), '1')
    const { cost, context } = await thread.state()
    expect(cost).toEqual({ usd: 0.003, knownUsd: 0.003 })
    expect(context).toMatchObject({ tokens: 1000 })
    const today = new Date().toISOString().slice(0, 10)
    expect(await app.spending({ by: ['user'], from: today, to: today })).toMatchObject([
      { user: 'ann', usd: 0.003, runs: 2, rounds: 3, toolCalls: 1, inputTokens: 1800, outputTokens: 1200 },
      { user: 'bob', usd: 0.001, runs: 1, rounds: 1, toolCalls: 0 },
    ])
    expect(await app.spending({ user: 'ann', by: ['model'] })).toMatchObject([
      { usd: 0, runs: 2 },
      { model: 'scripted', usd: 0.003 },
    ])
  })
})

describe('a person is asked', () => {
  const asking = (options: Partial<AgentOptions> = {}) =>
    worker({ thread: { tokens: 1500 }, onLimit: 'ask' }, options)

  /** A thread that waits for a decision, and an app in another process. */
  async function asked() {
    const store = openStore()
    const app = startApp({ agents: asking(), store })
    const thread = app.thread('t')
    await thread.send('3')
    await untilWaiting(thread)
    const { approvals } = await thread.state()
    expect(approvals).toMatchObject([
      {
        callId: 'budget_1',
        name: 'budget',
        input: { tokens: 1500 },
        budget: { scope: 'thread', spent: 1000 },
      },
    ])
    await app.close()
    const other = startApp({ agents: asking(), store }).thread('t')
    return { thread: other, ends: async () => eventsOf(await untilIdle(other), 'run-end') }
  }

  test('the thread waits, and continues in another process if more is allowed', async () => {
    const { thread, ends } = await asked()
    await thread.approve('budget_1', { approved: true, input: { tokens: 9000 } })
    expect(await ends()).toMatchObject([{ outcome: 'suspended' }, { outcome: 'completed' }])
    const { cost } = await thread.state()
    expect(cost.usd).toBe(0.003)
    // What was allowed holds for the run, not for the next one.
    await thread.send('1')
    await untilWaiting(thread)
    expect((await thread.state()).approvals).toMatchObject([
      { callId: 'budget_2', budget: { limit: 1500, spent: 3000 } },
    ])
  })

  test('as much again is allowed by default, and then it is asked again', async () => {
    const { thread } = await asked()
    await thread.approve('budget_1', { approved: true })
    await expect.poll(async () => (await thread.state()).approvals.at(0)?.callId).toBe('budget_2')
    expect((await thread.state()).approvals).toMatchObject([{ budget: { limit: 3000, spent: 2000 } }])
  })

  test('the run ends if it is denied', async () => {
    const { thread, ends } = await asked()
    await thread.approve('budget_1', { approved: false })
    expect((await ends()).at(-1)).toMatchObject({
      outcome: 'budget',
      limit: { scope: 'thread', limit: 1500 },
    })
    await expect(thread.approve('budget_1', { approved: true })).rejects.toMatchObject({ code: 'conflict' })
  })

  test('the run ends if it is stopped', async () => {
    const { thread, ends } = await asked()
    await thread.stop()
    expect((await ends()).at(-1)).toMatchObject({ outcome: 'canceled' })
    await expect(thread.approve('budget_1', { approved: true })).rejects.toMatchObject({ code: 'conflict' })
  })

  test('a message that interrupts ends the run, and asks for itself', async () => {
    const { thread } = await asked()
    await thread.send('1', { mode: 'interrupt' })
    const ends = async () => eventsOf(await thread.read(), 'run-end').map(({ outcome }) => outcome)
    await expect.poll(ends).toEqual(['suspended', 'canceled', 'suspended'])
    const [request] = (await thread.state()).approvals
    await thread.approve(request?.callId ?? '', { approved: true })
    await untilIdle(thread)
    expect((await ends()).at(-1)).toBe('completed')
  })

  test('a queued message waits for the decision', async () => {
    const { thread, ends } = await asked()
    await thread.send('1')
    await untilWaiting(thread)
    await thread.approve('budget_1', { approved: true, input: { tokens: 2500 } })
    await expect.poll(async () => (await thread.state()).approvals.at(0)?.budget?.spent).toBe(3000)
    await thread.approve((await thread.state()).approvals[0]?.callId ?? '', { approved: true })
    expect((await ends()).map(({ outcome }) => outcome)).toEqual([
      'suspended',
      'completed',
      'suspended',
      'completed',
    ])
  })

  test('what was spent before and after is counted once', async () => {
    const { thread, ends } = await asked()
    await thread.approve('budget_1', { approved: true, input: { tokens: 9000 } })
    await ends()
    const spent = nothingSpent()
    for (const { event } of await thread.read()) countSpend(spent, event)
    expect(spent).toMatchObject({ tokens: 3000, nanos: 3_000_000, rounds: 3, toolCalls: 2 })
  })
})

test('a sub-agent keeps to its own budget per day, also if the agent that calls it has none', async () => {
  const clerk = agent({
    name: 'clerk',
    model: answers(),
    prices,
    settings,
    budget: { agentPerDay: { tokens: 1500 } },
  })
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? 'Done.' : [{ call: 'clerk', input: { prompt: 'go' } }],
  )
  const boss = agent({ name: 'boss', model, tools: [clerk.asTool({ description: 'Does it' })] })
  const app = startApp({ agents: boss })
  const results = async (id: string) => {
    const seq = await app.thread(id).send('go')
    return eventsOf(await untilIdle(app.thread(id), seq), 'tool-result').map(({ status }) => status)
  }
  expect([await results('one'), await results('two'), await results('three')]).toEqual([
    ['ok'],
    ['ok'],
    ['failed'],
  ])
})
