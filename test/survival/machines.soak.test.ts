import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import { sized } from '../size.ts'
import { queueKinds, startBackends } from './backends.ts'
import { eventsOf } from './checks.ts'
import { patience, reader } from './conversation.ts'
import { runWithFaults } from './faults.ts'
import { replace } from './replace.ts'
import { messageText } from './scenario.ts'
import type { Server } from './setup.ts'
import { call, rounds, startThread } from './started-thread.ts'
import { supervise } from './supervise.ts'

const backends = startBackends()

test.each(queueKinds)(
  'processes whose queue is in %s are replaced one after the other, and lose and repeat nothing',
  async (kind) => {
    const { log, actions } = await runWithFaults({
      threads: 6,
      // It never has to expire: a thread that is handed over can be claimed at once.
      leaseMs: 30_000,
      recoverMs: 200,
      ...(await backends.addresses(kind)),
      // Four are always up: a new process is ready before the next one ends.
      servers: [{ works: false }, {}, { works: false }, {}, {}],
      async inject({ servers, slowTool }) {
        for (let times = 0; times < sized(1); times++)
          for (const server of servers) {
            await slowTool()
            await replace(server)
          }
      },
    })
    const starts = eventsOf(log, 'run-start')
    expect(starts.filter(({ resumes }) => resumes).length).toBeGreaterThan(0)
    expect(starts.filter(({ losses }) => losses)).toEqual([])
    expect(actions.filter(({ attempt }) => attempt > 1)).toEqual([])
    expect(eventsOf(log, 'tool-result').filter(({ status }) => status === 'unknown')).toEqual([])
  },
)

// What happens to a run that kills its processes does not depend on the queue.
test.each(queueKinds.slice(0, 1))(
  'a run that kills every worker fails with workers_lost, and others continue, with the queue in %s',
  async (kind) => {
    const maxLosses = 2
    const poison = rounds([{ text: 'Here it comes. ' }, call('crash')])
    const started = await startThread((at) => (at.thread === 't0' ? poison(at) : [{ text: 'Settled.' }]), {
      leaseMs: 800,
      maxLosses,
      ...(await backends.addresses(kind)),
      servers: [{ works: false }, { works: false }, {}, {}],
    })
    const { deaths } = supervise(started.servers, 3 * maxLosses)
    const { url } = started.servers[1] as Server
    const other = await client(url, { retry: patience }).create({ id: 'other', agent: 'claude' })
    const otherReader = reader('other', other)
    const seq = await other.send(messageText('other', 1))
    await otherReader.until((state) => state.head > seq && nextThreadAction(state).type === 'idle')
    await started.ended()
    const { log, actions } = await started.outcome()
    expect(eventsOf(log, 'run-end')).toMatchObject([{ outcome: 'failed', error: { code: 'workers_lost' } }])
    expect(eventsOf(otherReader.entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
    expect(deaths()).toBe(maxLosses + 1)
    // Each attempt in another process, with the same idempotency key.
    expect(actions.map(({ attempt }) => attempt)).toEqual([1, 2, 3])
    expect(new Set(actions.map(({ pid }) => pid)).size).toBe(3)
    expect(new Set(actions.map(({ key }) => key)).size).toBe(1)
  },
)
