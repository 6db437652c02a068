import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFailed, test } from 'vitest'
import { allOver, converse, openThreads, readLog } from './conversation.ts'
import { randomPlot } from './plot.ts'
import { newSeed, random } from './random.ts'
import { eventsOf, faultsOf } from './verdict.ts'
import type { Post } from './world.ts'
import { openWorld } from './world.ts'

const freezes = Number(process.env.SURVIVAL_FREEZES ?? 20)
const threads = 8
const leaseMs = 300

test('a server that was frozen past its lease wakes up fenced: another has gone on', {
  timeout: 300_000,
}, async () => {
  const seed = newSeed()
  const plot = randomPlot(seed)
  const world = await openWorld({ plot, posts: 2, leaseMs, recoverMs: 50, maxLosses: 1000 })
  onTestFailed(() => void process.stderr.write(`SURVIVAL_SEED=${seed}\n${world.complaints()}`))
  try {
    const chance = random(seed)
    let left = freezes
    let seen = 0
    const urls = world.posts.map(({ url }) => url)
    const ids = await openThreads(urls[0] as string, threads)
    const conversations = ids.map((id) =>
      converse({
        id,
        urls,
        random: random(`${seed} ${id}`),
        goesOn: () => left > 0,
        onEntry: () => seen++,
      }),
    )

    for (; left > 0; left--) {
      const from = seen
      const [entries, most] = [chance.whole(1, 100), performance.now() + 2000]
      while (seen < from + entries && performance.now() < most) await delay(2)
      const { process } = chance.pick(world.posts)
      process.freeze()
      // One that is frozen within a commit holds up the other until it wakes, so it is never left like that for long.
      await delay(leaseMs + chance.whole(100, 600))
      process.thaw()
    }
    await allOver(conversations, 60_000)

    const { url } = world.posts[0] as Post
    const deeds = world.deeds()
    const logs = await Promise.all(conversations.map(({ id }) => readLog(url, id)))
    const faults = conversations.flatMap((conversation, index) =>
      faultsOf({ conversation, log: logs[index] ?? [], deeds, plot }),
    )
    expect(faults).toEqual([])
    expect(world.integrity()).toBe('ok')
    const takenOver = eventsOf(logs.flat(), 'run-start').filter(({ losses }) => losses)
    expect(takenOver.length).toBeGreaterThan(0)
    // Both are alive: it was the lease that decided, not a death.
    for (const { process } of world.posts) expect(process.stderr()).toBe('')
    await Promise.all(conversations.flatMap(({ readers }) => readers.map((reader) => reader.stop())))
  } finally {
    await world.close()
  }
})
