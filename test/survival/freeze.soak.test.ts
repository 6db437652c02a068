import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { eventsOf } from './checks.ts'
import { runWithFaults } from './faults.ts'

const freezes = sized(40)
const leaseMs = 300

test('a server that was frozen past its lease is fenced and writes nothing to a thread that another has claimed', {
  timeout: 300_000,
}, async () => {
  const { log } = await runWithFaults({
    threads: 8,
    leaseMs,
    recoverMs: 50,
    maxLosses: freezes * 2,
    async inject({ servers, chance, moment }) {
      for (let left = freezes; left > 0; left--) {
        await moment(100)
        const { process } = chance.pick(servers)
        process.freeze()
        // A server that is frozen within a commit blocks the other one, so it is never frozen for
        // long.
        await delay(leaseMs + chance.whole(100, 600))
        process.thaw()
      }
      // Both are alive and reported no error: only the lease decided.
      for (const { process } of servers) expect(process.stderr()).toBe('')
    },
  })
  if (freezes >= 20)
    expect(eventsOf(log, 'run-start').filter(({ losses }) => losses).length).toBeGreaterThan(0)
})
