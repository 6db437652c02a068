import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import { patience, reader } from './conversation.ts'
import type { Plot } from './plot.ts'
import { messageText } from './plot.ts'
import { call, rounds, setOut } from './scene.ts'
import { eventsOf } from './verdict.ts'
import type { Post } from './world.ts'

const maxLosses = 3

/** Starts the next server whenever one has died, as whoever runs it would; tells how often that was. */
function supervise(post: Post) {
  let deaths = 0
  async function watch(): Promise<void> {
    const { killed } = await post.process.exited
    // The last one is killed when the test is over. One that dies for ever must not be started for ever.
    if (killed || ++deaths > 3 * maxLosses) return
    post.start()
    return watch()
  }
  void watch()
  return { deaths: () => deaths }
}

test.each([
  ['in a tool that may be repeated', {}],
  ['while a round is prepared', { dies: 'round' }],
  ['before it has even begun', { dies: 'context' }],
])('a run that kills every worker, %s, is given up and says why; others go on', async (_, metadata) => {
  const plot = rounds([{ text: 'Here it comes. ' }, call('crash')])
  const scene = await setOut(plot, { leaseMs: 800, maxLosses, metadata })
  const { post } = scene
  const { deaths } = supervise(post)
  await scene.over()
  const { log, deeds } = await scene.outcome()
  expect(eventsOf(log, 'run-end')).toMatchObject([{ outcome: 'failed', error: { code: 'workers_lost' } }])
  expect(deaths()).toBe(maxLosses + 1)
  // In a tool it has the same key every time, so that whatever it calls can tell.
  expect(deeds.map(({ attempt }) => attempt)).toEqual('dies' in metadata ? [] : [1, 2, 3, 4])
  expect(new Set(deeds.map(({ key }) => key)).size).toBe('dies' in metadata ? 0 : 1)

  const other = await client(post.url, { retry: patience }).create({ id: 'other', agent: 'claude' })
  const bystander = reader('bystander', other)
  const seq = await other.send(messageText('other', 1))
  await bystander.until((state) => state.head > seq && nextThreadAction(state).type === 'idle')
  expect(eventsOf(bystander.entries, 'run-end')).toHaveLength(1)
})

test('a run that comes after one that was given up does not answer for its losses', async () => {
  const long = 'It takes its time. '.repeat(150)
  const plot: Plot = ({ message, round }) =>
    message === 1 ? [call('crash')] : round === 0 ? [{ text: long }, call('look')] : [{ text: 'Settled.' }]
  const scene = await setOut(plot, { leaseMs: 800, maxLosses })
  const { post, thread, follower } = scene
  await thread.send(messageText('t0', 2))
  supervise(post)
  await scene.seen('run-end')
  await scene.seen('text')
  await post.process.kill()
  post.start()
  await scene.over()
  const ends = eventsOf(follower.entries, 'run-end').map(({ outcome }) => outcome)
  expect(ends).toEqual(['failed', 'completed'])
  expect(eventsOf(follower.entries, 'run-start').at(-1)?.losses).toBe(1)
})
