import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isWhole, sized } from '../size.ts'
import { queueKinds, startBackends } from './backends.ts'
import { countLosses, eventsOf } from './checks.ts'
import { commitProxy } from './commit-proxy.ts'
import { runWithFaults } from './faults.ts'
import { random } from './random.ts'

// For each queue. With TEST_SIZE=40: 100 kills, 10 freezes, 105 cuts, 5 crashes of each server.
const kills = sized(2.5)
const freezes = sized(0.25)
/** A few are not enough: some come before the commit. */
const cuts = 5 + sized(2.5)
const crashes = sized(0.125)

const leaseMs = 800
const skewMs = 10 * 60_000
const backends = startBackends()

test.each(queueKinds.slice(0, isWhole ? 2 : 1))(
  'four processes whose queue is in %s survive kills, freezes, lost acknowledgements, wrong clocks and crashes of their servers',
  { timeout: 120_000 + kills * 10_000 },
  async (kind) => {
    const { postgres, redis } = backends
    const { queue, postgres: address } = await backends.addresses(kind)
    const proxy = await commitProxy(postgres.port, random('cuts'))
    const { log, actions } = await runWithFaults({
      threads: kills >= 100 ? 12 : 6,
      leaseMs,
      recoverMs: 200,
      // A run survives many deaths here that it did not cause, so it must not fail after a few.
      maxLosses: 1000,
      postgres: proxy.through(address),
      queue,
      servers: [{ works: false, skewMs }, { works: false }, { skewMs: -skewMs }, {}],
      async inject({ servers, chance, moment }) {
        const all = (times: number, fault: () => Promise<unknown>) =>
          Array.from({ length: times }, () => fault)
        const pause = () => delay(chance.whole(0, 500))
        const processFaults = all(kills, async () => {
          const server = chance.pick(servers)
          // Sometimes before it has even started.
          if (chance.chance(0.9)) await server.process.ready
          await server.process.kill()
          server.start()
        })
        const serverFaults = [
          ...all(cuts, proxy.cut),
          ...all(crashes, async () => {
            await postgres.stop('immediate')
            await pause()
            await postgres.start()
          }),
          ...all(kind === 'redis' ? crashes : 0, async () => {
            await redis.kill()
            await pause()
            await redis.start()
          }),
          ...all(kind === 'redis' ? crashes : 0, () => redis.command('FLUSHALL')),
        ]

        async function injectAll(faults: (() => Promise<unknown>)[]) {
          while (faults.length > 0) {
            const [fault] = faults.splice(chance.whole(0, faults.length - 1), 1)
            // Long enough for threads that the queue has lost to be found.
            await moment(150, 10_000)
            await fault?.()
          }
        }
        // At the same time, so that they meet.
        await Promise.all([injectAll(processFaults), injectAll(serverFaults)])
        // Alone, so that another process has time to continue the runs of the frozen one.
        for (let left = freezes; left > 0; left--) {
          const workers = servers.slice(2)
          await Promise.all(workers.map((worker) => worker.process.ready))
          await moment(150, 10_000)
          const { process } = chance.pick(workers)
          process.freeze()
          await delay(leaseMs + chance.whole(500, 1500))
          process.thaw()
        }
      },
    })
    const losses = countLosses(log)
    if (kills >= 100)
      for (const [what, count] of Object.entries(losses)) expect(count, what).toBeGreaterThan(0)
    if (isWhole)
      report({
        kills,
        freezes,
        cuts,
        crashes,
        messages: eventsOf(log, 'input').length,
        tools: actions.filter(({ part }) => part === 'end').length,
        entries: log.length,
        ...losses,
      })
  },
)

function report(counts: Readonly<Record<string, number>>) {
  const { currentTestName } = expect.getState()
  process.stderr.write(`${currentTestName}: ${JSON.stringify(counts)}\n`)
}
