import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFailed, test } from 'vitest'
import { allOver, converse, openThreads, readLog } from './conversation.ts'
import { randomPlot } from './plot.ts'
import { newSeed, random } from './random.ts'
import { eventsOf, faultsOf } from './verdict.ts'
import type { Post } from './world.ts'
import { openWorld } from './world.ts'

const kills = Number(process.env.SURVIVAL_KILLS ?? 200)
const threads = 12
/** Only turns a hang into a failure: 200 kills take about 80 s on two free cores. */
const limitMs = 400_000

test('two servers killed 200 times over one file lose nothing and do nothing twice', {
  timeout: limitMs,
}, async () => {
  const seed = newSeed()
  const plot = randomPlot(seed)
  // A run here lives through many more deaths than would be its own fault, so it is given up after many more.
  const world = await openWorld({ plot, posts: 2, leaseMs: 300, recoverMs: 50, maxLosses: 1000 })
  onTestFailed(() => void process.stderr.write(`SURVIVAL_SEED=${seed}\n${world.complaints()}`))
  try {
    const chance = random(seed)
    let left = kills
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

    /** Lets some entries pass and then a few milliseconds, wherever that leads; sometimes it does not even wait for the start. */
    async function moment(post: Post) {
      if (chance.chance(0.1)) return delay(chance.whole(0, 200))
      await post.process.ready
      const from = seen
      const [entries, most] = [chance.whole(1, 100), performance.now() + 2000]
      while (seen < from + entries && performance.now() < most) await delay(2)
      await delay(chance.whole(0, 20))
    }

    async function kill(post: Post) {
      while (left > 0) {
        await moment(post)
        left--
        await post.process.kill()
        post.start()
      }
      await post.process.ready
    }

    await Promise.all(world.posts.map(kill))
    await allOver(conversations, 60_000)

    const { url } = world.posts[0] as Post
    const deeds = world.deeds()
    const logs = await Promise.all(conversations.map(({ id }) => readLog(url, id)))
    const faults = conversations.flatMap((conversation, index) =>
      faultsOf({ conversation, log: logs[index] ?? [], deeds, plot }),
    )
    expect(faults).toEqual([])
    expect(world.integrity()).toBe('ok')

    // They fell where it hurts: into rounds half told, into calls under way, into waits for a person.
    const all = logs.flat()
    const count = {
      lost: eventsOf(all, 'run-start').filter(({ losses }) => losses).length,
      retracted: eventsOf(all, 'round-retract').length,
      kept: eventsOf(all, 'round-end').filter(({ finish }) => finish === 'interrupted').length,
      unknown: eventsOf(all, 'tool-result').filter(({ status }) => status === 'unknown').length,
      repeated: eventsOf(all, 'tool-start').filter(({ attempt }) => attempt > 1).length,
      helpersResumed: eventsOf(all, 'tool-start').filter(
        ({ name, attempt }) => name === 'helper' && attempt > 1,
      ).length,
      approvals: eventsOf(all, 'approval').length,
    }
    for (const [what, times] of Object.entries(count)) expect(times, what).toBeGreaterThan(0)
    await Promise.all(conversations.flatMap(({ readers }) => readers.map((reader) => reader.stop())))
  } finally {
    await world.close()
  }
})
