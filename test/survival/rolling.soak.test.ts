import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { client } from '../../packages/millrace/src/client/index.ts'
import { nextThreadAction } from '../../packages/millrace/src/protocol/index.ts'
import { patience, reader } from './conversation.ts'
import { messageText } from './plot.ts'
import { turmoil } from './turmoil.ts'
import { eventsOf } from './verdict.ts'
import type { Post } from './world.ts'
import { openWorld } from './world.ts'

/** SIGTERM, and the next one at once. One that hangs is killed by the kit in the end, and fails the test before. */
async function replace(post: Post) {
  const late = new AbortController()
  const code = await Promise.race([
    post.process.terminate(),
    delay(30_000, 'it hangs', { signal: late.signal }).catch(() => {}),
  ])
  late.abort()
  expect(code).toBe(0)
  expect(post.process.stderr()).toBe('')
  await post.start().ready
}

test('servers replaced one after the other, as for a new version, lose nobody and repeat nothing', async () => {
  const { log, deeds } = await turmoil({
    threads: 6,
    // Nobody has to wait for it: what is handed over can be taken up at once.
    leaseMs: 30_000,
    recoverMs: 50,
    async trouble({ posts, moment }) {
      for (let times = 0; times < 8; times++) {
        await moment(150)
        await replace(posts[times % 2] as Post)
      }
    },
  })
  const starts = eventsOf(log, 'run-start')
  expect(starts.filter(({ resumes }) => resumes).length).toBeGreaterThan(0)
  expect(starts.filter(({ losses }) => losses)).toEqual([])
  expect(deeds.filter(({ attempt }) => attempt > 1)).toEqual([])
  expect(eventsOf(log, 'tool-result').filter(({ status }) => status === 'unknown')).toEqual([])
})

test('a server goes although others talk to its threads through another all the time', async () => {
  const world = await openWorld({
    plot: () => [{ text: 'So it is. '.repeat(40) }],
    posts: 2,
    leaseMs: 30_000,
    recoverMs: 50,
  })
  const [going, staying] = world.posts as [Post, Post]
  for (let times = 0; times < 4; times++) {
    const own = client(going.url, { retry: patience })
    const ids = Array.from({ length: 6 }, (_, index) => `t${times}.${index}`)
    const threads = await Promise.all(ids.map((id) => own.create({ id })))
    await Promise.all(threads.map((thread) => thread.send(messageText(thread.id, 1))))
    let talks = true
    // Several at once for each, so that something always comes in while it lets go.
    const talkers = [...ids, ...ids, ...ids].map(async (id) => {
      const thread = client(staying.url, { retry: patience }).thread(id)
      while (talks) await thread.send(messageText(id, 2), { mode: 'steer' })
    })
    await delay(20)
    await replace(going)
    talks = false
    await Promise.all(talkers)
    for (const id of ids) {
      const one = reader(id, client(staying.url, { retry: patience }).thread(id))
      await one.until((state) => state.head > 1 && nextThreadAction(state).type === 'idle')
      expect(eventsOf(one.entries, 'run-start').filter(({ losses }) => losses)).toEqual([])
    }
  }
})
