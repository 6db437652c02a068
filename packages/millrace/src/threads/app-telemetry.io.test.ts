import { describe, expect, test } from 'vitest'
import { lookout } from '../agent/lookout.test-kit.ts'
import { soon } from '../log/sqlite/sqlite.test-kit.ts'
import { MillraceError } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import type { ThreadStore } from './index.ts'
import { heldTool, untilIdle } from './threads.test-kit.ts'
import { firstCalls, kinds, watchedApps } from './watched-apps.test-kit.ts'

const { storeOf, start } = watchedApps()

describe('whoever looks on at an app', () => {
  test('can ask from the first moment how it is doing', () => {
    const { telemetry, apps } = lookout()
    start({ telemetry })
    expect(apps.map(({ atFirst }) => atFirst)).toEqual([[0, 0, 0, 0]])
  })

  test('learns how many threads are worked on, and how many wait for room', async () => {
    const { telemetry, apps } = lookout()
    const held = heldTool('hold')
    const rounds = ({ messages }: { messages: readonly { role: string }[] }): ScriptRound =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : [{ call: 'hold' }]
    const { app } = start({ telemetry, tools: [held.tool], rounds, maxRuns: 1 })
    const counts = () => [apps[0]?.gauges.running(), apps[0]?.gauges.waiting()]
    const threads = ['a', 'b', 'c'].map((id) => app.thread(id))
    for (const thread of threads) await thread.send('Go.')
    await held.startedTimes(1)
    expect(counts()).toEqual([1, 2])
    // Said again to one that waits, or that is worked on, it is the same thread.
    for (const thread of threads) await thread.send('And?', { mode: 'steer' })
    expect(counts()).toEqual([1, 2])
    held.runs[0]?.release()
    await held.startedTimes(2)
    expect(counts()).toEqual([1, 1])
    held.runs[1]?.release()
    await held.startedTimes(3)
    expect(counts()).toEqual([1, 0])
    held.runs[2]?.release()
    await soon(() => counts()[0] === 0)
    expect(counts()).toEqual([0, 0])
  })

  test('no longer hears of waiting threads that others have done meanwhile', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = lookout()
    const held = heldTool('hold')
    const busy = start({ store, telemetry, tools: [held.tool], rounds: firstCalls('hold'), maxRuns: 1 })
    await busy.app.thread('a').send('Go.')
    await held.startedTimes(1)
    await busy.app.thread('b').send('Go.')
    expect(apps[0]?.gauges.waiting()).toBe(1)
    const { app } = start({ store })
    await untilIdle(app.thread('b'))
    held.runs[0]?.release()
    await soon(() => apps[0]?.gauges.waiting() === 0)
    await soon(() => apps[0]?.gauges.running() === 0)
  })

  test('hears of a thread that begins to wait while the app looks for others', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = lookout()
    const held = heldTool('hold')
    const looking = Promise.withResolvers<void>()
    let looks = 0
    const slow: ThreadStore = {
      ...store,
      async stranded(...asked) {
        const found = await store.stranded(...asked)
        await looking.promise
        looks++
        return found
      },
    }
    const { app } = start({
      store: slow,
      telemetry,
      tools: [held.tool],
      rounds: firstCalls('hold'),
      maxRuns: 1,
    })
    await app.thread('a').send('Go.')
    await held.startedTimes(1)
    await app.thread('b').send('Go.')
    looking.resolve()
    await soon(() => looks > 0)
    await new Promise(setImmediate)
    expect([apps[0]?.gauges.running(), apps[0]?.gauges.waiting()]).toEqual([1, 1])
  })

  test('learns how many follow, and how far behind the last of them is', async () => {
    const { telemetry, apps } = lookout()
    const { app } = start({ telemetry, rounds: () => 'It is a long story.' })
    const counts = () => [apps[0]?.gauges.followers(), apps[0]?.gauges.lag()]
    const thread = app.thread()
    await thread.create()
    const [slow, other] = [thread.follow(), thread.follow()]
    expect(counts()).toEqual([2, 0])
    await thread.send('Tell me.')
    const { length, ...rest } = await untilIdle(thread)
    const head = rest[length - 1]?.seq as number
    expect(counts()).toEqual([2, head])
    await slow.next()
    await other.return?.()
    expect(counts()).toEqual([1, head - 1])
    for (let seq = 1; seq < head; ) seq = (await slow.next()).value?.seq ?? head
    expect(counts()).toEqual([1, 0])
    await slow.return?.()
    expect(counts()).toEqual([0, 0])
  })

  test('learns how far behind one is who begins at the beginning, when nobody else is there', async () => {
    const { telemetry, apps } = lookout()
    const { app } = start({ telemetry, rounds: () => 'It is a long story.' })
    const thread = app.thread()
    await thread.send('Tell me.')
    await untilIdle(thread)
    const { head } = await thread.info()
    const late = thread.follow()
    const first = (await late.next()).value?.seq as number
    expect(head).toBeGreaterThan(first)
    expect(apps[0]?.gauges.lag()).toBe(head - first)
    await late.return?.()
  })

  test('does not take those who work on a thread for followers', async () => {
    const { telemetry, apps } = lookout()
    const held = heldTool('hold')
    const { app } = start({ telemetry, tools: [held.tool], rounds: firstCalls('hold') })
    await app.thread().send('Go.')
    await held.startedTimes(1)
    expect(apps[0]?.gauges.followers()).toBe(0)
    held.runs[0]?.release()
  })

  test('is told of what fails in the background, and so is onError', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = lookout()
    const failing: ThreadStore = {
      ...store,
      stranded: () =>
        Promise.reject(new MillraceError({ op: 'store.stranded', code: 'store_error', message: 'locked' })),
    }
    const { errors } = start({ store: failing, telemetry })
    await soon(() => (apps[0]?.errors.length ?? 0) > 0)
    expect(apps[0]?.errors[0]).toMatchObject({ code: 'store_error', message: 'locked' })
    expect(errors).toEqual(apps[0]?.errors)
  })

  test.each(kinds)('is told of all that its runs have written, in %s', async (kind) => {
    const { telemetry, apps } = lookout()
    const { app } = start({
      store: storeOf(kind),
      telemetry,
      rounds: () => 'It is a long story.',
      flushMs: 1,
    })
    const threads = ['a', 'b', 'c'].map((id) => app.thread(id))
    await Promise.all(threads.map((thread) => thread.send('Tell me.')))
    let written = 0
    for (const thread of threads) {
      await untilIdle(thread)
      written += (await thread.info()).head - 1
    }
    await app.close()
    const { flushes = [] } = apps[0] ?? {}
    expect(flushes.reduce((count, { events }) => count + events, 0)).toBe(written)
    for (const flush of flushes) {
      expect(flush.events).toBeGreaterThan(0)
      expect(flush.threads).toBeGreaterThan(0)
      expect(flush.threads).toBeLessThanOrEqual(Math.min(3, flush.events))
      expect(flush.ms).toBeGreaterThanOrEqual(0)
      expect(flush.failed).toBe(false)
    }
  })

  test('is told of a flush that failed, and counts nothing that it did not write', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = lookout()
    let failures = 2
    const failing: ThreadStore = {
      ...store,
      append: (batches) =>
        failures-- > 0
          ? Promise.reject(new MillraceError({ op: 'store.append', code: 'store_error', message: 'full' }))
          : store.append(batches),
    }
    const { app } = start({ store: failing, telemetry })
    const thread = app.thread()
    await thread.send('Go.')
    await untilIdle(thread)
    const { head } = await thread.info()
    await app.close()
    const { flushes = [] } = apps[0] ?? {}
    expect(flushes.filter(({ failed }) => failed)).toMatchObject([
      { events: 0, threads: 0 },
      { events: 0, threads: 0 },
    ])
    expect(flushes.reduce((count, { events }) => count + events, 0)).toBe(head - 1)
  })

  test('is told once that it is closed, when nothing of it goes on', async () => {
    const { telemetry, apps, runs } = lookout()
    const held = heldTool('hold')
    const { app } = start({ telemetry, tools: [held.tool], rounds: firstCalls('hold') })
    await app.thread().send('Go.')
    await held.startedTimes(1)
    await Promise.all([app.close({ graceMs: 0 }), app.close()])
    expect(apps).toMatchObject([{ closed: 1 }])
    expect(runs[0]?.told.at(-1)).toBe('abandoned')
    expect(apps[0]?.gauges.running()).toBe(0)
  })
})
