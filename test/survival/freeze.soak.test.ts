import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sized } from '../size.ts'
import { turmoil } from './turmoil.ts'
import { eventsOf } from './verdict.ts'

const freezes = sized(40)
const leaseMs = 300

test('a server that was frozen past its lease wakes up fenced, and writes nothing where another has gone on', {
  timeout: 300_000,
}, async () => {
  const { log } = await turmoil({
    threads: 8,
    leaseMs,
    recoverMs: 50,
    maxLosses: freezes * 2,
    async trouble({ posts, chance, moment }) {
      for (let left = freezes; left > 0; left--) {
        await moment(100)
        const { process } = chance.pick(posts)
        process.freeze()
        // One that is frozen within a commit holds up the other until it wakes, so it is never left like that for long.
        await delay(leaseMs + chance.whole(100, 600))
        process.thaw()
      }
      // Both are alive and content: it was the lease that decided, not a death or a failure.
      for (const { process } of posts) expect(process.stderr()).toBe('')
    },
  })
  if (freezes >= 20)
    expect(eventsOf(log, 'run-start').filter(({ losses }) => losses).length).toBeGreaterThan(0)
})
