import { expect, test } from 'vitest'
import { call, rounds, setOut } from './scene.ts'
import { eventsOf } from './verdict.ts'

test('an approval is answered after the server that asked for it was killed', async () => {
  const scene = await setOut(rounds([{ text: 'Shall I? ' }, call('refund')]))
  const { post, thread } = scene
  await scene.waiting()
  await post.process.kill()
  await post.start().ready
  const { approvals, status } = await thread.state()
  expect(status).toBe('waiting')
  const { callId } = approvals[0] ?? { callId: '' }
  const seq = await thread.approve(callId, { approved: true })
  expect(await thread.approve(callId, { approved: true })).toBe(seq)
  await scene.over()
  const { log, deeds, faults } = await scene.outcome()
  expect(faults).toEqual([])
  expect(deeds.map(({ part }) => part)).toEqual(['begin', 'end'])
  expect(eventsOf(log, 'run-start').at(-1)).toHaveProperty('resumes')
  // Nobody was at work on it, so nobody was lost over it.
  expect(eventsOf(log, 'run-start').at(-1)).not.toHaveProperty('losses')
})

test('an approval is given while there is no server at all, and the next one takes it up', async () => {
  const scene = await setOut(rounds([call('refund')]))
  const { post, thread } = scene
  await scene.waiting()
  const { approvals } = await thread.state()
  await post.process.kill()
  const approving = thread.approve(approvals[0]?.callId ?? '', { approved: false, reason: 'too dear' })
  post.start()
  await approving
  await scene.over()
  const { log, deeds, faults } = await scene.outcome()
  expect(faults).toEqual([])
  expect(deeds).toEqual([])
  expect(eventsOf(log, 'tool-result')).toMatchObject([{ status: 'declined' }])
})

const long = 'It takes its time to say what there is to say. '.repeat(20)

test.each([
  ['while the model is talking', rounds([{ text: long }, call('look')]), 'text'],
  ['while a call is being written', rounds([call('look', { note: long })]), 'tool-input'],
  ['while a tool is running', rounds([call('ship', { ms: 500 }), { text: long }]), 'tool-start'],
] as const)('a server that is told to go %s hands over, and no loss is counted', async (_, plot, moment) => {
  const scene = await setOut(plot)
  const { post, follower } = scene
  await scene.seen(moment)
  expect(await post.process.terminate()).toBe(0)
  const { head } = follower.state
  await post.start().ready
  await scene.over()
  const { log, deeds, faults } = await scene.outcome()
  expect(faults).toEqual([])
  expect(head).toBeLessThan(log.at(-1)?.seq ?? 0)
  expect(eventsOf(log, 'run-start')).toMatchObject([{}, { resumes: expect.any(String) }])
  expect(eventsOf(log, 'run-start').filter(({ losses }) => losses)).toEqual([])
  expect(eventsOf(log, 'tool-result').map(({ status }) => status)).toEqual(['ok'])
  expect(deeds.map(({ part }) => part)).toEqual(['begin', 'end'])
  expect(post.process.stderr()).toBe('')
})
