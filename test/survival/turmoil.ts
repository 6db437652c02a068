import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Entry } from '../../packages/millrace/src/protocol/index.ts'
import type { Conversation } from './conversation.ts'
import { converse, openThreads, readLog, standing } from './conversation.ts'
import type { Deed } from './deeds.ts'
import { randomPlot } from './plot.ts'
import type { Random } from './random.ts'
import { newSeed, random } from './random.ts'
import { faultsOf } from './verdict.ts'
import type { Post, WorldOptions } from './world.ts'
import { openWorld } from './world.ts'

interface Trouble {
  readonly posts: readonly Post[]
  readonly chance: Random
  /** Lets some entries go by, up to so many, and then a few milliseconds: a moment that nobody can foresee. */
  moment(most: number): Promise<void>
}

export interface TurmoilOptions extends Omit<WorldOptions, 'plot'> {
  readonly threads: number
  /** What befalls the servers. Conversations go on for as long as it lasts, and all servers are up when it is over. */
  readonly trouble: (trouble: Trouble) => Promise<void>
}

/** One that has not ended by then never will. */
const endMs = 60_000

/** Many conversations in times of trouble. Gives all of their logs, and the deeds, when they are over and nothing is wrong with them. */
export async function turmoil({
  threads,
  trouble,
  ...options
}: TurmoilOptions): Promise<{ readonly log: readonly Entry[]; readonly deeds: readonly Deed[] }> {
  const seed = newSeed()
  const plot = randomPlot(seed)
  const world = await openWorld({ plot, posts: 2, ...options })
  const { posts } = world
  const urls = posts.map(({ url }) => url)
  const chance = random(seed)
  let lasts = true
  let seen = 0
  const conversations = (await openThreads(urls[0] as string, threads)).map((id) =>
    converse({
      id,
      urls,
      random: random(`${seed} ${id}`),
      goesOn: () => lasts,
      onEntry: () => seen++,
    }),
  )
  const over = Promise.all(conversations.map((conversation) => conversation.over))

  async function moment(most: number) {
    const [enough, latest] = [seen + chance.whole(1, most), performance.now() + 2000]
    while (seen < enough && performance.now() < latest) await delay(2)
    await delay(chance.whole(0, 20))
  }

  // Whoever fails meanwhile fails at once.
  await Promise.race([trouble({ posts, chance, moment }), over])
  lasts = false
  await inTime(over, conversations)
  await Promise.all(posts.map((post) => post.process.ready))
  const deeds = world.deeds()
  const logs = await Promise.all(conversations.map(({ id }) => readLog(urls[0] as string, id)))
  const faults = conversations.flatMap((conversation, index) =>
    faultsOf({ conversation, log: logs[index] ?? [], deeds, plot }),
  )
  expect(faults).toEqual([])
  expect(world.integrity()).toBe('ok')
  return { log: logs.flat(), deeds }
}

async function inTime(over: Promise<unknown>, conversations: readonly Conversation[]) {
  const ended = new AbortController()
  const late = delay(endMs, 'late', { signal: ended.signal }).catch(() => {})
  const result = await Promise.race([over, late])
  ended.abort()
  if (result === 'late') throw new Error(['not over:', ...conversations.map(standing)].join('\n'))
}
