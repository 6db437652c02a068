import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { permission } from '@millrace/tools'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import { sqliteStore } from '../log/sqlite.ts'
import type { ModelRequest } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { App, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { eventsOf, untilIdle } from './threads.test-kit.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-permission-'))
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let files = 0
const kept = memoryStore()

/** The same thread in one process after another: each opens the store again. */
const stores: Record<string, () => () => ThreadStore> = {
  memory: () => () => kept,
  sqlite: () => {
    const path = join(folder, `${++files}.db`)
    return () => {
      const store = sqliteStore(path)
      closing.push(() => store.close())
      return store
    }
  },
}

const sent: string[] = []
const mail = tool({
  name: 'mail',
  description: 'Sends a mail',
  input: z.object({ to: z.string() }),
  access: ({ to }) => [{ kind: 'fetch', host: to }],
  run: ({ to }) => {
    sent.push(to)
    return 'sent'
  },
})

function start(store: ThreadStore, policy = permission({}), calls = 1): App {
  const rounds = ({ messages }: ModelRequest): ScriptRound =>
    messages.at(-1)?.role === 'tool'
      ? 'Sent.'
      : Array.from({ length: calls }, () => ({ call: 'mail', input: { to: 'a.example' } }))
  const app = millrace({
    agents: agent({ model: scriptedModel(rounds), tools: [mail], permission: policy }),
    store,
    flushMs: 0,
  })
  closing.push(() => app.close({ graceMs: 0 }))
  return app
}

describe.each(Object.keys(stores))('in a thread of %s', (name) => {
  const open = () => {
    sent.length = 0
    return (stores[name] as (typeof stores)[string])()
  }
  const id = () => `thread-${name}-${++files}`

  test('what is allowed for the thread is not asked again, not even by another process', async () => {
    const store = open()
    const first = start(store())
    const thread = first.thread(id())
    await thread.send('go')
    await untilIdle(thread)
    const [request] = (await thread.state()).approvals
    expect(request).toMatchObject({ remember: { rules: ['fetch(a.example)'], for: ['thread'] } })
    await first.close()

    // Days later, elsewhere.
    const second = start(store())
    const again = second.thread(thread.id)
    await again.approve(request?.callId as string, { approved: true, remember: 'thread' })
    await untilIdle(again)
    expect(sent).toEqual(['a.example'])
    await second.close()

    const third = start(store())
    const later = third.thread(thread.id)
    const seq = await later.send('once more')
    const entries = await untilIdle(later, seq)
    expect(eventsOf(entries, 'approval-request')).toEqual([])
    expect(eventsOf(entries, 'tool-start')).toMatchObject([
      { permission: { decision: 'allow', rule: 'allowed in this thread: fetch(a.example)' } },
    ])
    expect(sent).toEqual(['a.example', 'a.example'])
  })

  test('allowing something for the thread answers identical waiting calls', async () => {
    const app = start(open()(), permission({}), 2)
    const thread = app.thread(id())
    await thread.send('go')
    await untilIdle(thread)
    expect((await thread.state()).approvals).toHaveLength(2)
    const seq = await thread.approve('call_1', { approved: true, remember: 'thread' })
    const entries = await untilIdle(thread, seq)
    expect(eventsOf(entries, 'run-end')).toMatchObject([{ outcome: 'completed' }])
    expect(sent).toEqual(['a.example', 'a.example'])
  })

  test('another thread asks again', async () => {
    const app = start(open()())
    const [one, other] = [app.thread(id()), app.thread(id())]
    await one.send('go')
    await untilIdle(one)
    await one.approve('call_1', { approved: true, remember: 'thread' })
    await untilIdle(one)
    await other.send('go')
    await untilIdle(other)
    expect((await other.state()).approvals).toHaveLength(1)
    expect(sent).toEqual(['a.example'])
  })

  test('repeating a decision is fine; another way to remember it is a conflict', async () => {
    const thread = start(open()()).thread(id())
    await thread.send('go')
    await untilIdle(thread)
    const decision = { approved: true, remember: 'thread' } as const
    const seq = await thread.approve('call_1', decision)
    expect(await thread.approve('call_1', decision)).toBe(seq)
    const same = { for: 'thread', rules: ['fetch(a.example)'] } as const
    expect(await thread.approve('call_1', { approved: true, remember: same })).toBe(seq)
    const more = { for: 'thread', rules: ['fetch(*.example)'] } as const
    await expect(thread.approve('call_1', { approved: true, remember: more })).rejects.toMatchObject({
      code: 'conflict',
    })
    await expect(thread.approve('call_1', { approved: true })).rejects.toMatchObject({ code: 'conflict' })
    await untilIdle(thread)
  })

  test('invalid rules to remember are rejected before anything is written', async () => {
    const thread = start(open()()).thread(id())
    await thread.send('go')
    await untilIdle(thread)
    const { head } = await thread.info()
    const many = Array.from({ length: 101 }, (_, index) => `fetch(${index}.example)`)
    for (const remember of ['always', 'a while', ...[['('], many].map((rules) => ({ for: 'thread', rules }))])
      await expect(
        thread.approve('call_1', { approved: true, remember: remember as 'thread' }),
      ).rejects.toMatchObject({ code: 'invalid_input' })
    expect((await thread.info()).head).toBe(head)
  })
})
