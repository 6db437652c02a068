import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isWhole, sized } from '../size.ts'
import { countLosses } from './checks.ts'
import { runWithFaults } from './faults.ts'

const kills = sized(200)

// The limit only turns a hang into a failure: the test takes about a minute on two idle cores.
test('two servers that share a database and are killed repeatedly lose nothing and do nothing twice', {
  timeout: 1_000_000,
}, async () => {
  const { log } = await runWithFaults({
    threads: isWhole ? 12 : 6,
    leaseMs: 300,
    recoverMs: 50,
    // A run survives many deaths here that it did not cause, so it must not fail after a few.
    maxLosses: kills,
    async inject({ servers, chance, moment }) {
      let left = kills
      const killers = servers.map(async (server) => {
        while (left-- > 0) {
          // Sometimes before it has even started.
          if (chance.chance(0.1)) await delay(chance.whole(0, 150))
          else {
            await server.process.ready
            await moment(150)
          }
          await server.process.kill()
          server.start()
        }
      })
      await Promise.all(killers)
    },
  })

  // The kills hit partial rounds, with and without running tool calls, and tool calls of both
  // kinds. A few kills need not hit each of them.
  if (kills >= 100)
    for (const [what, count] of Object.entries(countLosses(log))) expect(count, what).toBeGreaterThan(0)
})
