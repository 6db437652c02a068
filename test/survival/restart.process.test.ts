import { expect, test } from 'vitest'
import { eventsOf } from './checks.ts'
import { call, rounds, startThread } from './started-thread.ts'

test('an approval can be answered after the server that requested it was killed', async () => {
  const started = await startThread(rounds([{ text: 'Shall I? ' }, call('refund')]))
  const { server, thread } = started
  await started.waiting()
  await server.process.kill()
  await server.start().ready
  const { approvals, status } = await thread.state()
  expect(status).toBe('waiting')
  const { callId } = approvals[0] ?? { callId: '' }
  const seq = await thread.approve(callId, { approved: true })
  expect(await thread.approve(callId, { approved: true })).toBe(seq)
  await started.ended()
  const { log, actions, problems } = await started.outcome()
  expect(problems).toEqual([])
  expect(actions.map(({ part }) => part)).toEqual(['begin', 'end'])
  expect(eventsOf(log, 'run-start').at(-1)).toHaveProperty('resumes')
  // No worker had it, so none was lost.
  expect(eventsOf(log, 'run-start').at(-1)).not.toHaveProperty('losses')
})

test('an approval that is sent while no server is up reaches the next one', async () => {
  const started = await startThread(rounds([call('refund')]))
  const { server, thread } = started
  await started.waiting()
  const { approvals } = await thread.state()
  await server.process.kill()
  const approving = thread.approve(approvals[0]?.callId ?? '', { approved: false, reason: 'too expensive' })
  server.start()
  await approving
  await started.ended()
  const { log, actions, problems } = await started.outcome()
  expect(problems).toEqual([])
  expect(actions).toEqual([])
  expect(eventsOf(log, 'tool-result')).toMatchObject([{ status: 'denied' }])
})

const long = 'It takes its time to say what there is to say. '.repeat(20)

test.each([
  ['while the model is generating', rounds([{ text: long }, call('look')]), 'text'],
  ['while the model writes a tool call', rounds([call('look', { note: long })]), 'tool-input'],
  ['while a tool is running', rounds([call('ship', { ms: 500 }), { text: long }]), 'tool-start'],
] as const)(
  'a server that gets SIGTERM %s hands over, and no loss is counted',
  async (_, scenario, moment) => {
    const started = await startThread(scenario)
    const { server, follower } = started
    await started.seen(moment)
    expect(await server.process.terminate()).toBe(0)
    const { head } = follower.state
    await server.start().ready
    await started.ended()
    const { log, actions, problems } = await started.outcome()
    expect(problems).toEqual([])
    expect(head).toBeLessThan(log.at(-1)?.seq ?? 0)
    expect(eventsOf(log, 'run-start')).toMatchObject([{}, { resumes: expect.any(String) }])
    expect(eventsOf(log, 'run-start').filter(({ losses }) => losses)).toEqual([])
    expect(eventsOf(log, 'tool-result').map(({ status }) => status)).toEqual(['ok'])
    expect(actions.map(({ part }) => part)).toEqual(['begin', 'end'])
    expect(server.process.stderr()).toBe('')
  },
)
