import { afterEach, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import type { App, AppOptions } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { eventsOf, heldTool, untilIdle, wordsOf } from './threads.test-kit.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

function start(options: Partial<AppOptions> & Pick<AppOptions, 'agents'>): App {
  const app = millrace({ flushMs: 0, recoverMs: 20, ...options })
  open.push({ close: () => app.close({ graceMs: 0 }) })
  return app
}

const saying = (text: string) => agent({ name: 'sayer', model: scriptedModel(() => text) })

test('a thread that is deleted and made anew under its id is another one for whoever follows', async () => {
  const app = start({ agents: saying('first life') })
  const thread = app.thread('twice')
  await thread.send('one')
  const entries = await untilIdle(thread)
  const follower = thread.follow({ after: entries.at(-1)?.seq ?? 0 })
  const next = follower.next()
  await thread.delete()
  await thread.send('two')
  expect((await next).done).toBe(true)
  const anew = await untilIdle(thread)
  expect(anew[0]).toMatchObject({ seq: 1, event: { type: 'input', message: { content: 'two' } } })
})

test('the same when another app on the store has done it', async () => {
  const store = memoryStore()
  open.push(store)
  const [first, second] = [start({ agents: saying('a'), store }), start({ agents: saying('b'), store })]
  await first.thread('twice').send('one')
  const entries = await untilIdle(first.thread('twice'))
  const next = first
    .thread('twice')
    .follow({ after: entries.at(-1)?.seq ?? 0 })
    .next()
  await new Promise((resolve) => setImmediate(resolve))
  await second.thread('twice').delete()
  await second.thread('twice').create()
  expect((await next).done).toBe(true)
})

test('who begins to follow a thread that was made anew does not end with those who followed the old one', async () => {
  const store = memoryStore()
  open.push(store)
  const [first, second] = [
    start({ agents: saying('some words'), store }),
    start({ agents: saying('x'), store }),
  ]
  for (let turn = 0; turn < 9; turn++) {
    await first.thread('t').send('one')
    await untilIdle(first.thread('t'))
  }
  const { head } = await first.thread('t').info()
  const old = second.thread('t').follow({ after: head }).next()
  await new Promise((resolve) => setTimeout(resolve, 20))
  await first.thread('t').delete()
  await first.thread('t').send('two')
  const types: string[] = []
  for await (const { event } of second.thread('t').follow()) {
    types.push(event.type)
    await new Promise((resolve) => setTimeout(resolve, 5))
    if (event.type === 'run-end') break
  }
  expect((await old).done).toBe(true)
  expect(types).toContain('run-end')
})

test('a fork in the middle of a run is never taken up as if it went on', async () => {
  const held = heldTool('hold', { repeat: 'safe' })
  const app = start({ agents: agent({ model: scriptedModel(() => [{ call: 'hold' }]), tools: [held.tool] }) })
  const thread = app.thread()
  await thread.send('go')
  await held.startedTimes(1)
  for (let turn = 0; turn < 5; turn++) {
    const fork = await thread.fork((await thread.info()).head)
    await untilIdle(fork)
  }
  expect(held.runs).toHaveLength(1)
})

test('a context that never comes does not keep a thread from being handed over', async () => {
  const store = memoryStore()
  open.push(store)
  const app = start({ agents: saying('never'), store, context: () => new Promise(() => {}) })
  await app.thread('stuck').send('go')
  await expect.poll(async () => (await app.thread('stuck').info()).status).toBe('running')
  await app.close({ graceMs: 0 })
  const next = start({ agents: saying('taken over'), store })
  expect(wordsOf(await untilIdle(next.thread('stuck')))).toBe('taken over')
})

test('a listener for errors that throws stops nothing', async () => {
  const store = memoryStore()
  open.push(store)
  let broken = true
  const app = start({
    agents: saying('after all'),
    store: {
      ...store,
      append: (batches) => (broken ? Promise.reject(new Error('no disk')) : store.append(batches)),
    },
    leaseMs: 60,
    onError: () => {
      broken = false
      throw new Error('and no pager')
    },
  })
  await app.thread('t').send('go')
  expect(wordsOf(await untilIdle(app.thread('t')))).toBe('after all')
})

test('a thread that is handed over with nothing left to do is at rest', async () => {
  const store = memoryStore()
  open.push(store)
  const held = heldTool('hold')
  const rounds = (_: unknown, index: number): ScriptRound => (index === 0 ? [{ call: 'hold' }] : 'done')
  const app = start({ agents: agent({ model: scriptedModel(rounds), tools: [held.tool] }), store })
  const thread = app.thread('t')
  await thread.send('go')
  await held.startedTimes(1)
  await thread.stop()
  const closing = app.close({ graceMs: 0 })
  await closing
  const entries = await store.read('t', { after: 0, limit: 1000 })
  if (eventsOf(entries, 'run-end').length > 0) expect((await store.get('t'))?.status).toBe('idle')
  else expect((await store.get('t'))?.status).toBe('queued')
})

test('a decision that came after a stop says so each time', async () => {
  const pay = heldTool('pay', { approve: true })
  const app = start({ agents: agent({ model: scriptedModel(() => [{ call: 'pay' }]), tools: [pay.tool] }) })
  const thread = app.thread()
  await thread.send('pay')
  await untilIdle(thread)
  const [request] = (await thread.state()).approvals
  const decide = () => thread.approve(request?.callId as string, { approved: true })
  const results = await Promise.allSettled([thread.stop('no'), decide()])
  const again = await decide().then(
    () => 'fulfilled',
    () => 'rejected',
  )
  expect(again).toBe(results[1]?.status)
  await untilIdle(thread)
  expect(pay.runs).toHaveLength(0)
})

test('what was said to steer a run that had not begun is heard by it', async () => {
  const store = memoryStore()
  open.push(store)
  await store.create({ id: 't', agent: 'agent' })
  const say = (content: string, mode: 'queue' | 'steer') =>
    store.signal('t', undefined, { type: 'input', message: { role: 'user', content }, mode })
  await say('question', 'queue')
  await say('and in short', 'steer')
  const model = scriptedModel(() => 'short')
  const app = start({ agents: agent({ model }), store })
  const entries = await untilIdle(app.thread('t'))
  expect(eventsOf(entries, 'run-start')).toHaveLength(1)
  expect(model.requests[0]?.messages).toHaveLength(2)
})
