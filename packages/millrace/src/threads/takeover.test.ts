import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agent } from '../agent/index.ts'
import type { Entry } from '../protocol/index.ts'
import { applyEntry, emptyThread, findUnpaired, messagesOf, textOf } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import { scriptedModel } from '../testing/index.ts'
import { tool } from '../tools/index.ts'
import type { App, AppOptions, ThreadStore } from './index.ts'
import { memoryStore, millrace } from './index.ts'
import { checkNumbers, eventsOf, heldTool, textIn, untilIdle } from './threads.test-kit.ts'

const leaseMs = 60_000
const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

/** A store that can be frozen for one app, as the whole process is under SIGSTOP. */
function freezable(store: ThreadStore) {
  let thawed: Promise<void> = Promise.resolve()
  let thaw = () => {}
  let appends = 0
  let freezeAfter = Number.POSITIVE_INFINITY
  let onFrozen = () => {}

  function freeze() {
    const { promise, resolve } = Promise.withResolvers<void>()
    thawed = promise
    thaw = resolve
    onFrozen()
  }

  const frozen = new Proxy(store, {
    get(target, name: keyof ThreadStore) {
      const value = target[name]
      if (name === 'watch' || name === 'close') return value
      return async (...args: unknown[]) => {
        await thawed
        const result = await (value as (...args: unknown[]) => Promise<unknown>)(...args)
        // The commit is done, but the process never learns of it.
        if (name === 'append' && ++appends === freezeAfter) freeze()
        await thawed
        return result
      }
    },
  })
  return {
    store: frozen,
    get appends() {
      return appends
    },
    thaw: () => thaw(),
    /** Freezes after this many commits. Resolves when it is frozen. */
    freezeAfter(count: number): Promise<void> {
      freezeAfter = count
      return new Promise((resolve) => {
        onFrozen = resolve
      })
    },
  }
}

/** Writes some text, calls three tools in parallel, and answers from their results. */
function scenario({ messages }: { messages: readonly Parameters<typeof textOf>[0][] }): ScriptRound {
  const results = messages.filter(({ role }) => role === 'tool')
  if (results.length === 0)
    return [
      { text: 'Let me see. ' },
      { call: 'never', input: { value: 'a' }, id: 'n' },
      { call: 'safe', input: { value: 'b' }, id: 's' },
      { text: 'One moment. ' },
      { call: 'never', input: { value: 'c' }, id: 'm' },
    ]
  return 'That is all there is to say.'
}

function world() {
  let time = 1_000_000
  const store = memoryStore({ now: () => time })
  open.push(store)
  const runs: string[] = []
  const settings = { input: z.object({ value: z.string() }) }
  const counted = (name: string, repeat: 'safe' | 'never') =>
    tool({
      ...settings,
      name,
      description: name,
      repeat,
      run: async ({ value }, { callId }) => {
        await undefined
        runs.push(callId)
        return value
      },
    })
  const tools = [counted('never', 'never'), counted('safe', 'safe')]

  function app(options: Partial<AppOptions> = {}) {
    const link = freezable(store)
    const errors: string[] = []
    const opened: App = millrace({
      agents: agent({ name: 'helper', model: scriptedModel(scenario, { deltaChars: 8, paceMs: 1 }), tools }),
      store: link.store,
      leaseMs,
      recoverMs: 10,
      flushMs: 0,
      onError: (error) => errors.push(error.message),
      ...options,
    })
    open.push({
      async close() {
        link.thaw()
        await opened.close({ graceMs: 0 })
      },
    })
    return { ...link, app: opened, errors, link }
  }

  return { store, runs, tools, app, pass: (ms: number) => (time += ms) }
}

function check(entries: readonly Entry[], runs: readonly string[]) {
  checkNumbers(entries)
  const state = emptyThread()
  for (const entry of entries) applyEntry(state, entry)
  expect(state.run?.outcome).toBe('completed')
  expect(findUnpaired(messagesOf(state.run as NonNullable<typeof state.run>))).toBeUndefined()
  const times = (id: string) => runs.filter((run) => run === id).length
  expect(times('n')).toBeLessThanOrEqual(1)
  expect(times('m')).toBeLessThanOrEqual(1)
  for (const { callId, status } of eventsOf(entries, 'tool-result'))
    if (status === 'ok' && callId !== 's') expect(times(callId)).toBe(1)
  const results = eventsOf(entries, 'tool-result').map(({ callId }) => callId)
  expect(new Set(results).size).toBe(results.length)
  expect(textOf(messagesOf(state.run as NonNullable<typeof state.run>).at(-1) as never)).toBe(
    'That is all there is to say.',
  )
}

describe('a frozen process', () => {
  test('after any commit, another process takes over the thread; when the first wakes, it is fenced', async () => {
    const undisturbed = world()
    const alone = undisturbed.app()
    await alone.app.thread('t').send('go')
    check(await untilIdle(alone.app.thread('t')), undisturbed.runs)
    expect(undisturbed.runs.toSorted()).toEqual(['m', 'n', 's'])
    const commits = alone.link.appends
    expect(commits).toBeGreaterThan(4)

    for (let count = 1; count <= commits; count++) {
      const { app, runs, pass } = world()
      const first = app()
      const frozen = first.freezeAfter(count)
      await first.app.thread('t').send('go')
      await frozen
      const second = app()
      const thread = second.app.thread('t')
      pass(leaseMs + 1)
      check(await untilIdle(thread), runs)
      const { head } = await thread.info()
      first.thaw()
      // Once its own reader has seen the end, every write of the first has come back fenced.
      check(await untilIdle(first.app.thread('t')), runs)
      await first.app.close({ graceMs: 0 })
      expect((await thread.info()).head).toBe(head)
      check(await untilIdle(thread), runs)
      expect([...first.errors, ...second.errors]).toEqual([])
    }
  })

  test('starts no tool if its lease has expired and another process claims the thread at that moment', async () => {
    const { store, runs, tools, app, pass } = world()
    const shortLease = 50
    const claimed = Promise.withResolvers<void>()
    let isClaimed = false
    const first = app({
      leaseMs: shortLease,
      // The call comes after the lease has expired.
      agents: agent({ model: scriptedModel(scenario, { paceMs: 2 * shortLease }), tools }),
      store: {
        ...store,
        async renew(leases, ms) {
          // As if the process had been frozen.
          if (!isClaimed) await new Promise(() => {})
          return store.renew(leases, ms)
        },
        async append(batches) {
          const appended = await store.append(batches)
          if (batches.some(({ events }) => events.some(({ type }) => type === 'tool-start'))) {
            pass(shortLease + 1)
            expect(await store.claim('t', 'another', leaseMs)).toBeDefined()
            isClaimed = true
            claimed.resolve()
          }
          return appended
        },
      },
    })
    await first.app.thread('t').send('go')
    await claimed.promise
    await first.app.close({ graceMs: 0 })
    expect(runs).toEqual([])
  })

  test('accepts a decision about a request of the new owner, before it knows that there is one', async () => {
    const { store, app, pass } = world()
    const rounds: ScriptRound[] = [
      [{ call: 'look', input: {}, id: 'l' }],
      [{ call: 'pay', input: {}, id: 'p' }],
      'Paid.',
    ]
    const pay = heldTool('pay', { approve: true })
    const desk = (look: ReturnType<typeof heldTool>) =>
      agent({
        name: 'desk',
        model: scriptedModel(
          ({ messages }) => rounds[messages.filter(({ role }) => role === 'tool').length] ?? '',
        ),
        tools: [look.tool, pay.tool],
      })
    const look = heldTool('look', { repeat: 'safe' })
    const first = app({
      agents: desk(look),
      // It gets no changes from others, and does not renew its leases.
      store: { ...store, watch: () => store.watch({}), renew: () => new Promise(() => {}) },
    })
    await first.app.thread('t').send('go')
    await look.startedTimes(1)

    pass(leaseMs + 1)
    const again = heldTool('look', { repeat: 'safe' })
    const second = app({ agents: desk(again) })
    await again.startedTimes(1)
    again.runs[0]?.release()
    await untilIdle(second.app.thread('t'))
    await first.app.thread('t').approve('p', { approved: true })
    await pay.startedTimes(1)
    pay.runs[0]?.release()
    expect(textIn(await untilIdle(second.app.thread('t')))).toBe('Paid.')
    // It has noticed, and stopped its tool.
    expect(look.runs[0]?.signal.aborted).toBe(true)
    expect([...first.errors, ...second.errors]).toEqual([])
  })

  test('each lost process is counted, and after a few the run fails', async () => {
    const { app, pass } = world()
    const lost: ReturnType<typeof app>[] = []
    for (let turn = 0; turn <= 2; turn++) {
      const next = app({ maxLosses: 2 })
      const frozen = next.freezeAfter(1)
      if (turn === 0) await next.app.thread('t').send('go')
      await frozen
      lost.push(next)
      pass(leaseMs + 1)
    }
    const last = app({ maxLosses: 2 })
    const entries = await untilIdle(last.app.thread('t'))
    expect(eventsOf(entries, 'run-start').map(({ losses }) => losses)).toEqual([undefined, 1, 2, 3])
    expect(eventsOf(entries, 'run-end')).toMatchObject([
      { outcome: 'failed', error: { code: 'workers_lost' } },
    ])
    checkNumbers(entries)
    // The next message is answered normally.
    await last.app.thread('t').send('again')
    expect(textIn(await untilIdle(last.app.thread('t')))).toContain('That is all there is to say.')
  })
})
