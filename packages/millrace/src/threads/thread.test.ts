import { describe, expect, test } from 'vitest'
import { agent } from '../agent/index.ts'
import { textOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { script, scriptedModel } from '../testing/index.ts'
import { memoryStore, millrace } from './index.ts'
import {
  answering,
  checkNumbers,
  eventsOf,
  heldTool,
  openStore,
  startApp,
  textIn,
  untilIdle,
} from './threads.test-kit.ts'

describe('a fork', () => {
  test('has the log up to its number, and is independent from there', async () => {
    const app = startApp({ agents: answering('yes') })
    const thread = app.thread()
    await thread.send('first')
    const { seq } = (await untilIdle(thread)).at(-1) as { seq: number }
    await thread.send('second')
    await untilIdle(thread)
    const fork = await thread.fork(seq)
    expect((await fork.info()).forkedFrom).toEqual({ id: thread.id, seq })
    expect(await fork.read({ split: true })).toEqual(
      (await thread.read({ split: true })).filter((entry) => entry.seq <= seq),
    )
    await fork.send('another')
    await untilIdle(fork)
    expect((await fork.state()).messages.map(textOf)).toEqual(['first', 'yes', 'another', 'yes'])
    expect((await thread.state()).messages.map(textOf)).toEqual(['first', 'yes', 'second', 'yes'])
  })

  test('in the middle of a run cancels the run in the fork, not in the original', async () => {
    const held = heldTool('hold')
    const rounds = (_: unknown, index: number): ScriptRound => (index === 0 ? [{ call: 'hold' }] : 'done')
    const app = startApp({ agents: agent({ model: scriptedModel(rounds), tools: [held.tool] }) })
    const thread = app.thread()
    await thread.send('go')
    await held.startedTimes(1)
    const fork = await thread.fork((await thread.info()).head)
    const entries = await untilIdle(fork)
    checkNumbers(entries)
    expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'canceled' }])
    expect(held.runs).toHaveLength(1)
    held.runs[0]?.release()
    expect(textIn(await untilIdle(thread))).toBe('done')
  })

  test('at an input is answered again', async () => {
    const app = startApp({ agents: answering('again') })
    const thread = app.thread()
    const seq = await thread.send('question')
    await untilIdle(thread)
    const fork = await thread.fork(seq, { id: 'second-try' })
    expect(fork.id).toBe('second-try')
    expect(textIn(await untilIdle(fork))).toBe('again')
    await expect(thread.fork(seq, { id: 'second-try' })).rejects.toMatchObject({ code: 'conflict' })
    await expect(thread.fork(10_000)).rejects.toThrow('from 0 to')
  })

  test('in the middle of a run never resumes it', async () => {
    const held = heldTool('hold', { repeat: 'safe' })
    const app = startApp({
      recoverMs: 20,
      agents: agent({ model: scriptedModel(() => [{ call: 'hold' }]), tools: [held.tool] }),
    })
    const thread = app.thread()
    await thread.send('go')
    await held.startedTimes(1)
    for (let turn = 0; turn < 5; turn++) {
      const fork = await thread.fork((await thread.info()).head)
      await untilIdle(fork)
    }
    expect(held.runs).toHaveLength(1)
  })
})

describe('a deleted thread', () => {
  test('is gone for all clients, its run is cut off and its followers end', async () => {
    const held = heldTool('hold')
    const app = startApp({
      agents: agent({ model: scriptedModel(() => [{ call: 'hold' }]), tools: [held.tool] }),
    })
    const thread = app.thread()
    await thread.send('go')
    await held.startedTimes(1)
    const following = untilIdle(thread)
    expect(await thread.delete()).toBe(true)
    await following
    await expect.poll(() => held.runs[0]?.signal.aborted).toBe(true)
    expect(await thread.delete()).toBe(false)
    for (const act of [
      () => thread.info(),
      () => thread.state(),
      () => thread.read(),
      () => thread.stop(),
      () => thread.approve('x', { approved: true }),
      () => thread.fork(0),
      () => thread.follow().next(),
    ])
      await expect(act()).rejects.toMatchObject({ code: 'not_found' })
  })

  test('ends its followers when created again under its id', async () => {
    const app = startApp({ recoverMs: 20, agents: answering('first life') })
    const thread = app.thread('twice')
    await thread.send('one')
    const entries = await untilIdle(thread)
    const follower = thread.follow({ after: entries.at(-1)?.seq ?? 0 })
    const next = follower.next()
    await thread.delete()
    await thread.send('two')
    expect((await next).done).toBe(true)
    const second = await untilIdle(thread)
    expect(second[0]).toMatchObject({ seq: 1, event: { type: 'input', message: { content: 'two' } } })
  })

  test('ends its followers when created again by another app on the store', async () => {
    const store = openStore()
    const [first, second] = [
      startApp({ recoverMs: 20, agents: answering('a'), store }),
      startApp({ recoverMs: 20, agents: answering('b'), store }),
    ]
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

  test('keeps new followers when created again, while the old ones end', async () => {
    const store = openStore()
    const [first, second] = [
      startApp({ recoverMs: 20, agents: answering('some words'), store }),
      startApp({ recoverMs: 20, agents: answering('x'), store }),
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
})

describe('reading and following', () => {
  test("following from 'now' starts after the current head", async () => {
    const thread = startApp({ agents: answering('yes') }).thread()
    await thread.send('one')
    await untilIdle(thread)
    const following = thread.follow({ after: 'now' })
    const seq = await thread.send('two')
    expect(following.ready()).toBeUndefined()
    expect(await following.next()).toMatchObject({ value: { seq, event: { type: 'input' } } })
    expect(await following.return?.()).toEqual({ done: true, value: undefined })
    expect(await following.next()).toEqual({ done: true, value: undefined })
  })

  test("following from 'now' can be stopped before it has started, and rejects if the thread does not exist", async () => {
    const app = startApp({ agents: answering('yes') })
    const thread = app.thread()
    await thread.create()
    const following = thread.follow({ after: 'now' })
    const next = following.next()
    expect(await following.return?.()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    await expect(app.thread('none').follow({ after: 'now' }).next()).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await app.thread('none').follow({ after: 'now' }).return?.()).toMatchObject({ done: true })
  })

  test('following until an input is answered ends with its run, not later', async () => {
    const held = heldTool('hold')
    const rounds = (_: unknown, index: number): ScriptRound => (index === 1 ? [{ call: 'hold' }] : `${index}`)
    const app = startApp({ agents: agent({ model: scriptedModel(rounds), tools: [held.tool] }) })
    const thread = app.thread()
    const first = await thread.send('one')
    await thread.send('two')
    const entries = []
    for await (const entry of thread.follow({ after: first - 1, until: first })) entries.push(entry)
    expect(textIn(entries)).toBe('0')
    expect(entries.at(-1)?.event.type).toBe('run-end')
    held.startedTimes(1).then(() => held.runs[0]?.release())
    await untilIdle(thread)
    // Also when all of it is in the past.
    const again = []
    for await (const entry of thread.follow({ after: first - 1, until: first })) again.push(entry)
    expect(textIn(again)).toBe('0')
  })

  test('pending next() calls resolve as done when following ends', async () => {
    const app = startApp({ agents: answering('one word') })
    const thread = app.thread()
    const seq = await thread.send('go')
    const following = thread.follow({ until: seq })
    const pending = Array.from({ length: 20 }, () => following.next())
    expect((await Promise.all(pending)).at(-1)?.done).toBe(true)
  })

  test('a list has the most recently changed first, in pages, and can be filtered', async () => {
    const app = startApp({ agents: { a: answering('a'), b: answering('b') } })
    for (let count = 0; count < 5; count++)
      await app.thread(`t${count}`, { agent: count % 2 ? 'b' : 'a', user: `u${count % 3}` }).create()
    const first = await app.threads({ limit: 2 })
    expect(first.threads.map(({ id }) => id)).toEqual(['t4', 't3'])
    const second = await app.threads({ limit: 2, cursor: first.next as string })
    expect(second.threads.map(({ id }) => id)).toEqual(['t2', 't1'])
    expect((await app.threads({ agent: 'b' })).threads).toHaveLength(2)
    expect((await app.threads({ user: 'u0' })).threads.map(({ id }) => id)).toEqual(['t3', 't0'])
  })

  test('a page has 1,000 entries by default, read in several steps', async () => {
    const store = memoryStore()
    const app = startApp({ agents: { helper: answering('x') }, store })
    const stops = Array.from({ length: 1200 }, (_, index) => {
      return { seq: index + 1, at: 1, event: { type: 'stop', reason: 'test' } as const }
    })
    await store.create({ id: 'paged', agent: 'helper' }, { entries: stops })
    const thread = app.thread('paged')
    expect((await thread.read()).map(({ seq }) => seq)).toEqual(stops.slice(0, 1000).map(({ seq }) => seq))
    expect(await thread.read({ after: 150, limit: 450 })).toHaveLength(450)
    expect(await thread.read({ limit: 10_000 })).toHaveLength(1200)
  })

  test('a packed log reads the same from every number', async () => {
    const app = startApp({
      agents: agent({ model: scriptedModel(script.text('word '.repeat(40)), { paceMs: 1, deltaChars: 5 }) }),
    })
    const thread = app.thread()
    const live: Awaited<ReturnType<typeof untilIdle>> = []
    const seq = await thread.send('speak')
    for await (const entry of thread.follow({ until: seq })) live.push(entry)
    await expect.poll(async () => (await thread.read()).length).toBeLessThan(live.length)
    expect(await thread.read({ split: true })).toEqual(live)
    const { head } = await thread.info()
    for (let after = 0; after < head; after++) {
      const rest = await thread.read({ after })
      checkNumbers(rest, after)
      expect(textIn(rest)).toBe(textIn(live.filter((entry) => entry.seq > after)))
    }
  })

  test('the context of a thread is passed to its tools; if creating it fails, the run fails', async () => {
    const held = heldTool('hold')
    const errors: string[] = []
    const app = startApp({
      agents: agent({ model: scriptedModel(() => [{ call: 'hold' }]), tools: [held.tool] }),
      onError: ({ message }) => errors.push(message),
      context: ({ user }) => {
        if (!user) throw new Error('no user is logged in')
      },
    })
    const thread = app.thread()
    await thread.send('go')
    expect(eventsOf(await untilIdle(thread), 'run-end')).toMatchObject([
      {
        outcome: 'failed',
        error: { code: 'hook_failed', message: 'creating the context for the thread failed' },
      },
    ])
    expect(errors).toEqual(['no user is logged in'])
  })
})

describe('misuse', () => {
  test.each([
    [{}, 'agents'],
    [{ agents: {} }, 'at least one'],
    [{ agents: { x: 1 } }, "the agent 'x' must be created with agent"],
    [{ agents: answering('x'), stroe: 1 }, "did you mean 'store'?"],
    [{ agents: answering('x'), leaseMs: 'long' }, 'leaseMs'],
  ])('%o is rejected', (options, message) => {
    expect(() => millrace(options as never)).toThrow(message)
  })

  test('invalid ids, agents and options are rejected before anything is written', async () => {
    const app = startApp({ agents: answering('x') })
    expect(() => app.thread('a b')).toThrow('1 to 128 letters')
    expect(() => app.thread('x', { agent: 'hepler' })).toThrow("Did you mean 'helper'?")
    const thread = app.thread('x')
    await expect(thread.send('')).rejects.toThrow('empty')
    await expect(thread.send('hi', { mode: 'quick' as never })).rejects.toThrow('mode')
    expect(() => thread.follow({ after: -1 })).toThrow(
      "'after' must be a whole number of at least 0, or 'now'",
    )
    await expect(app.threads({ limit: 0 })).rejects.toThrow('limit')
    expect((await app.threads()).threads).toEqual([])
    await expect(app.thread('y').state()).rejects.toMatchObject({ code: 'not_found' })
  })

  test('a closed app rejects calls', async () => {
    const app = startApp({ agents: answering('x') })
    const thread = app.thread('x')
    await thread.create()
    await app.close()
    await expect(thread.send('hi')).rejects.toThrow('the app is closed')
    await expect(app.threads()).rejects.toThrow('the app is closed')
  })

  test('a thread of an unknown agent is left to other apps', async () => {
    const store = memoryStore()
    const first = startApp({ agents: { one: answering('1') }, store })
    await first.thread('t', { agent: 'one' }).create()
    const second = startApp({ agents: { two: answering('2') }, store })
    await expect(second.thread('t').send('hi')).rejects.toThrow("belongs to agent 'one'")
  })
})
