import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isWhole, sized } from '../size.ts'
import { turmoil } from './turmoil.ts'
import { eventsOf } from './verdict.ts'

const kills = sized(200)

// The limit only turns a hang into a failure: it takes about a minute on two cores of its own.
test('two servers over one file, killed again and again, lose nothing and do nothing twice', {
  timeout: 1_000_000,
}, async () => {
  const { log } = await turmoil({
    threads: isWhole ? 12 : 6,
    leaseMs: 300,
    recoverMs: 50,
    // A run here lives through many more deaths than could be its own fault, so it is given up only after many more.
    maxLosses: kills,
    async trouble({ posts, chance, moment }) {
      let left = kills
      const killers = posts.map(async (post) => {
        while (left-- > 0) {
          // Now and then it has not even started.
          if (chance.chance(0.1)) await delay(chance.whole(0, 150))
          else {
            await post.process.ready
            await moment(150)
          }
          await post.process.kill()
          post.start()
        }
      })
      await Promise.all(killers)
    },
  })

  // They fell where it hurts: into rounds half told, with and without calls under way, and into calls of either kind.
  const starts = eventsOf(log, 'tool-start')
  const counts = {
    lost: eventsOf(log, 'run-start').filter(({ losses }) => losses).length,
    retracted: eventsOf(log, 'round-retract').length,
    kept: eventsOf(log, 'round-end').filter(({ finish, error }) => finish === 'interrupted' && !error).length,
    unknown: eventsOf(log, 'tool-result').filter(({ status }) => status === 'unknown').length,
    repeated: starts.filter(({ name, attempt }) => name !== 'helper' && attempt > 1).length,
    resumed: starts.filter(({ name, attempt }) => name === 'helper' && attempt > 1).length,
    approved: eventsOf(log, 'approval').length,
  }
  // A few kills need not hit each of them.
  if (kills >= 100) for (const [what, count] of Object.entries(counts)) expect(count, what).toBeGreaterThan(0)
})
