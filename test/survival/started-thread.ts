import { setTimeout as delay } from 'node:timers/promises'
import type { RemoteThread } from '../../packages/millrace/src/client/index.ts'
import { client } from '../../packages/millrace/src/client/index.ts'
import type { Entry, JsonObject } from '../../packages/millrace/src/protocol/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import type { ScriptStep } from '../../packages/millrace/src/testing/index.ts'
import type { Action } from './actions.ts'
import { problemsOf } from './checks.ts'
import type { Reader } from './conversation.ts'
import { patience, reader, readLog } from './conversation.ts'
import type { DeskTool } from './desk.ts'
import type { Scenario } from './scenario.ts'
import { messageText } from './scenario.ts'
import type { Server, SetupOptions } from './setup.ts'
import { openSetup } from './setup.ts'

/** These rounds in turn, then a final answer. */
export const rounds =
  (...steps: readonly (readonly ScriptStep[])[]): Scenario =>
  ({ round }) =>
    steps[round] ?? [{ text: 'Settled.' }]

export const call = (name: DeskTool, { ms = 0, note = '' } = {}): ScriptStep => ({
  call: name,
  input: { op: `t0.${name}`, ms, note },
})

/** One or several servers, one thread with one message, and a client that reads it at the first. */
export interface StartedThread {
  readonly server: Server
  /** All of them. */
  readonly servers: readonly Server[]
  readonly thread: RemoteThread
  readonly follower: Reader
  /** Resolves when the follower has seen an event of this type. */
  seen(type: Entry['event']['type']): Promise<void>
  /** Resolves when an approval is pending and no worker has the thread any more. */
  waiting(): Promise<void>
  /** Resolves when the thread is idle again. */
  ended(): Promise<void>
  actions(): readonly Action[]
  /** The log, the actions, and what is wrong with them. */
  outcome(): Promise<{ log: readonly Entry[]; actions: readonly Action[]; problems: readonly string[] }>
}

export interface StartOptions extends Pick<SetupOptions, 'servers' | 'postgres' | 'queue'> {
  /** By default long enough for any stall of the machine. A handover does not wait for it. */
  readonly leaseMs?: number
  readonly maxLosses?: number
  readonly metadata?: JsonObject
}

export async function startThread(scenario: Scenario, options: StartOptions = {}): Promise<StartedThread> {
  const { leaseMs = 5000, maxLosses = 5, metadata = {}, ...rest } = options
  const setup = await openSetup({ scenario, leaseMs, recoverMs: 50, maxLosses, ...rest })
  const server = setup.servers[0] as Server
  const host = client(server.url, { retry: patience })
  const thread = await host.create({ id: 't0', agent: 'chat', metadata })
  const follower = reader('follower', thread)
  const seq = await thread.send(messageText('t0', 1))
  return {
    server,
    servers: setup.servers,
    thread,
    follower,
    seen: (type) => follower.until(() => follower.entries.some(({ event }) => event.type === type)),
    async waiting() {
      await follower.until(({ run }) => run?.outcome === 'suspended')
      // The state comes from the log, the list also knows whether a worker still has the thread.
      while ((await host.threads({ status: 'waiting' })).threads.length === 0) await delay(5)
    },
    ended: () => follower.until((state) => state.head >= seq && nextThreadAction(state).type === 'idle'),
    actions: setup.actions,
    async outcome() {
      const log = await readLog(server.url, 't0')
      const actions = setup.actions()
      const conversation = { id: 't0', readers: [follower], sent: () => 1 }
      return { log, actions, problems: problemsOf({ conversation, log, actions, scenario }) }
    },
  }
}
