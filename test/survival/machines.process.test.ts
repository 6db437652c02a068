import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { queueKinds, startBackends } from './backends.ts'
import { eventsOf } from './checks.ts'
import { patience } from './conversation.ts'
import type { Server } from './setup.ts'
import { call, rounds, startThread } from './started-thread.ts'

const backends = startBackends()
const [queue = 'postgres'] = queueKinds
const days = 3 * 24 * 60 * 60_000

/** The thread, as a client of this server sees it. */
const threadAt = ({ url }: Server) => client(url, { retry: patience }).thread('t0')

test('an approval is answered days later, on another machine, after all processes were replaced', async () => {
  const started = await startThread(rounds([{ text: 'Shall I? ' }, call('refund')]), {
    ...(await backends.addresses(queue)),
    servers: [{ works: false }, {}, { works: false }],
  })
  const { servers } = started
  await started.waiting()
  expect(await Promise.all(servers.map(({ process }) => process.terminate()))).toEqual([0, 0, 0])
  for (const server of servers) server.start({ skewMs: days, usesOwnTime: true })
  const other = threadAt(servers[2] as Server)
  const { approvals } = await other.state()
  await other.approve(approvals[0]?.callId ?? '', { approved: true })
  await started.ended()
  const { log, actions, problems } = await started.outcome()
  expect(problems).toEqual([])
  expect(actions.map(({ part }) => part)).toEqual(['begin', 'end'])
  expect(eventsOf(log, 'run-end').at(-1)).toMatchObject({ outcome: 'completed' })
  const timeOf = (type: string) => log.find(({ event }) => event.type === type)?.at ?? 0
  expect(timeOf('approval') - timeOf('approval-request')).toBeGreaterThanOrEqual(days)
})

test('a stop on another machine aborts a running tool', async () => {
  const started = await startThread(rounds([call('count', { ms: 600_000 })]), {
    ...(await backends.addresses(queue)),
    servers: [{ works: false }, {}, { works: false }],
  })
  const parts = () => started.actions().map(({ part }) => part)
  await expect.poll(parts).toEqual(['begin'])
  await threadAt(started.servers[2] as Server).stop('enough')
  await expect.poll(parts).toEqual(['begin', 'abort'])
  await started.ended()
  const { log, problems } = await started.outcome()
  expect(problems).toEqual([])
  expect(eventsOf(log, 'run-end')).toMatchObject([{ outcome: 'canceled' }])
})
