import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Entry } from '../../packages/millrace/src/protocol/index.ts'
import type { Action } from './actions.ts'
import { problemsOf } from './checks.ts'
import type { Conversation } from './conversation.ts'
import { converse, describeState, openThreads, readLog } from './conversation.ts'
import type { Random } from './random.ts'
import { newSeed, random } from './random.ts'
import { randomScenario, slowTools } from './scenario.ts'
import type { Server, SetupOptions } from './setup.ts'
import { openSetup } from './setup.ts'

interface FaultContext {
  readonly servers: readonly Server[]
  readonly chance: Random
  /**
   * Waits for a random number of entries, up to `most`, but no longer than `maxMs` (2 s), and then
   * a few milliseconds.
   */
  moment(most: number, maxMs?: number): Promise<void>
  /** Waits until a slow tool starts, but no longer than 5 s. */
  slowTool(): Promise<void>
}

export interface FaultOptions extends Omit<SetupOptions, 'scenario'> {
  readonly threads: number
  /**
   * Injects faults into the servers. Conversations continue until it resolves; all servers must be
   * up then.
   */
  readonly inject: (context: FaultContext) => Promise<void>
}

export interface Survived {
  /** The logs of all conversations. */
  readonly log: readonly Entry[]
  readonly actions: readonly Action[]
}

/** A conversation that has not ended by then hangs. */
const endMs = 60_000

/**
 * Runs many conversations while faults are injected. Returns their logs and actions after checking
 * them.
 */
export async function runWithFaults({ threads, inject, ...options }: FaultOptions): Promise<Survived> {
  const seed = newSeed()
  const scenario = randomScenario(seed)
  const setup = await openSetup({ scenario, servers: [{}, {}], ...options })
  const { servers } = setup
  const urls = servers.map(({ url }) => url)
  const chance = random(seed)
  let isRunning = true
  let seen = 0
  let slow = 0
  const conversations = (await openThreads(urls[0] as string, threads)).map((id) =>
    converse({
      id,
      urls,
      random: random(`${seed} ${id}`),
      continues: () => isRunning,
      onEntry({ event }) {
        seen++
        if (event.type === 'tool-start' && slowTools.has(event.name)) slow++
      },
    }),
  )
  const ended = Promise.all(conversations.map((conversation) => conversation.ended))

  async function moment(most: number, maxMs = 2000) {
    const [enough, latest] = [seen + chance.whole(1, most), performance.now() + maxMs]
    while (seen < enough && performance.now() < latest) await delay(2)
    await delay(chance.whole(0, 20))
  }

  async function slowTool() {
    const [before, latest] = [slow, performance.now() + 5000]
    while (slow === before && performance.now() < latest) await delay(2)
  }

  // A conversation that fails in the meantime fails the test at once.
  await Promise.race([inject({ servers, chance, moment, slowTool }), ended])
  isRunning = false
  await inTime(ended, conversations)
  await Promise.all(servers.map((server) => server.process.ready))
  const actions = setup.actions()
  const logs = await Promise.all(conversations.map(({ id }) => readLog(urls[0] as string, id)))
  const problems = conversations.flatMap((conversation, index) =>
    problemsOf({ conversation, log: logs[index] ?? [], actions, scenario }),
  )
  expect(problems).toEqual([])
  if (options.postgres === undefined) expect(setup.integrity()).toBe('ok')
  return { log: logs.flat(), actions }
}

async function inTime(ended: Promise<unknown>, conversations: readonly Conversation[]) {
  const timer = new AbortController()
  const late = delay(endMs, 'late', { signal: timer.signal }).catch(() => {})
  const result = await Promise.race([ended, late])
  timer.abort()
  if (result === 'late') throw new Error(['still running:', ...conversations.map(describeState)].join('\n'))
}
