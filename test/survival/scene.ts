import { setTimeout as delay } from 'node:timers/promises'
import type { RemoteThread } from '../../packages/millrace/src/client/index.ts'
import { client } from '../../packages/millrace/src/client/index.ts'
import type { Entry, JsonObject } from '../../packages/millrace/src/protocol/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import type { ScriptStep } from '../../packages/millrace/src/testing/index.ts'
import type { Reader } from './conversation.ts'
import { patience, reader, readLog } from './conversation.ts'
import type { Deed } from './deeds.ts'
import type { DeskTool } from './desk.ts'
import type { Plot } from './plot.ts'
import { messageText } from './plot.ts'
import { faultsOf } from './verdict.ts'
import type { Post } from './world.ts'
import { openWorld } from './world.ts'

/** These rounds in turn, then an end. */
export const rounds =
  (...steps: readonly (readonly ScriptStep[])[]): Plot =>
  ({ round }) =>
    steps[round] ?? [{ text: 'Settled.' }]

export const call = (name: DeskTool, { ms = 0, note = '' } = {}): ScriptStep => ({
  call: name,
  input: { op: `t0.${name}`, ms, note },
})

/** One server, one thread that was told one message, and somebody who reads it. */
export interface Scene {
  readonly post: Post
  readonly thread: RemoteThread
  readonly follower: Reader
  /** Resolves when the follower has seen such an event. */
  seen(type: Entry['event']['type']): Promise<void>
  /** Resolves when a person is asked and nobody is at work on it any more. */
  waiting(): Promise<void>
  /** Resolves when everything is answered. */
  over(): Promise<void>
  /** What there is to know of it afterwards. */
  outcome(): Promise<{ log: readonly Entry[]; deeds: readonly Deed[]; faults: readonly string[] }>
}

export interface SceneOptions {
  /** Long enough for any stall of the machine, if absent: a server that hands over is not waited for. */
  readonly leaseMs?: number
  readonly maxLosses?: number
  readonly metadata?: JsonObject
}

export async function setOut(plot: Plot, options: SceneOptions = {}): Promise<Scene> {
  const { leaseMs = 5000, maxLosses = 5, metadata = {} } = options
  const world = await openWorld({ plot, leaseMs, recoverMs: 50, maxLosses })
  const post = world.posts[0] as Post
  const thread = await client(post.url, { retry: patience }).create({ id: 't0', agent: 'chat', metadata })
  const follower = reader('follower', thread)
  const seq = await thread.send(messageText('t0', 1))
  return {
    post,
    thread,
    follower,
    seen: (type) => follower.until(() => follower.entries.some(({ event }) => event.type === type)),
    async waiting() {
      await follower.until(({ run }) => run?.outcome === 'suspended')
      while ((await thread.state()).status !== 'waiting') await delay(5)
    },
    over: () => follower.until((state) => state.head >= seq && nextThreadAction(state).type === 'idle'),
    async outcome() {
      const log = await readLog(post.url, 't0')
      const deeds = world.deeds()
      const conversation = { id: 't0', readers: [follower], said: () => 1 }
      return { log, deeds, faults: faultsOf({ conversation, log, deeds, plot }) }
    },
  }
}
