import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import { eventsOf } from './checks.ts'
import { patience, reader } from './conversation.ts'
import type { Scenario } from './scenario.ts'
import { messageText } from './scenario.ts'
import { call, rounds, startThread } from './started-thread.ts'
import { supervise } from './supervise.ts'

const maxLosses = 3

test.each([
  ['in a repeatable tool', {}],
  ['in prepareRound', { dies: 'round' }],
  ['before it starts', { dies: 'context' }],
])('a run that kills every worker, %s, fails with workers_lost; others continue', async (_, metadata) => {
  const poison = rounds([{ text: 'Here it comes. ' }, call('crash')])
  const scenario: Scenario = (at) => (at.thread === 't0' ? poison(at) : [{ text: 'Settled.' }])
  const started = await startThread(scenario, { leaseMs: 800, maxLosses, metadata })
  const { server } = started
  const { deaths } = supervise([server], 3 * maxLosses)
  await started.ended()
  const { log, actions } = await started.outcome()
  expect(eventsOf(log, 'run-end')).toMatchObject([{ outcome: 'failed', error: { code: 'workers_lost' } }])
  expect(deaths()).toBe(maxLosses + 1)
  // A tool gets the same idempotency key every time.
  expect(actions.map(({ attempt }) => attempt)).toEqual('dies' in metadata ? [] : [1, 2, 3, 4])
  expect(new Set(actions.map(({ key }) => key)).size).toBe('dies' in metadata ? 0 : 1)

  const other = await client(server.url, { retry: patience }).create({ id: 'other', agent: 'claude' })
  const otherReader = reader('other', other)
  const seq = await other.send(messageText('other', 1))
  await otherReader.until((state) => state.head > seq && nextThreadAction(state).type === 'idle')
  expect(eventsOf(otherReader.entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
})

test('the losses of a failed run do not count for the next run', async () => {
  const long = 'It takes its time. '.repeat(150)
  const scenario: Scenario = ({ message, round }) =>
    message === 1 ? [call('crash')] : round === 0 ? [{ text: long }, call('look')] : [{ text: 'Settled.' }]
  const started = await startThread(scenario, { leaseMs: 800, maxLosses })
  const { server, thread, follower } = started
  await thread.send(messageText('t0', 2))
  supervise([server], 3 * maxLosses)
  await started.seen('run-end')
  await started.seen('text')
  await server.process.kill()
  server.start()
  await started.ended()
  const ends = eventsOf(follower.entries, 'run-end').map(({ outcome }) => outcome)
  expect(ends).toEqual(['failed', 'completed'])
  expect(eventsOf(follower.entries, 'run-start').at(-1)?.losses).toBe(1)
})
