import { describe, expect, test } from 'vitest'
import { recordingTelemetry } from '../agent/recording-telemetry.test-kit.ts'
import { soon } from '../log/sqlite/sqlite.test-kit.ts'
import { MillraceError } from '../protocol/index.ts'
import type { ScriptRound } from '../testing/index.ts'
import type { ThreadStore } from './index.ts'
import { firstCalls, kinds, testApps } from './test-apps.test-kit.ts'
import { heldTool, untilIdle } from './threads.test-kit.ts'

const { storeOf, start } = testApps()

describe('the telemetry of an app', () => {
  test('can read gauges from the start', () => {
    const { telemetry, apps } = recordingTelemetry()
    start({ telemetry })
    expect(apps.map(({ gaugesAtOpen }) => gaugesAtOpen)).toEqual([[0, 0, 0, 0]])
  })

  test('gets the number of running and of waiting threads', async () => {
    const { telemetry, apps } = recordingTelemetry()
    const held = heldTool('hold')
    const rounds = ({ messages }: { messages: readonly { role: string }[] }): ScriptRound =>
      messages.some(({ role }) => role === 'tool') ? 'Done.' : [{ call: 'hold' }]
    const { app } = start({ telemetry, tools: [held.tool], rounds, maxRuns: 1 })
    const counts = () => [apps[0]?.gauges.running(), apps[0]?.gauges.waiting()]
    const threads = ['a', 'b', 'c'].map((id) => app.thread(id))
    for (const thread of threads) await thread.send('Go.')
    await held.startedTimes(1)
    expect(counts()).toEqual([1, 2])
    // Another message to a waiting or running thread does not change the counts.
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

  test('does not count waiting threads that other apps have finished', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = recordingTelemetry()
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

  test('counts a thread that starts to wait during a scan', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = recordingTelemetry()
    const held = heldTool('hold')
    const scanning = Promise.withResolvers<void>()
    let scans = 0
    const slow: ThreadStore = {
      ...store,
      async findRunnable(...args) {
        const found = await store.findRunnable(...args)
        await scanning.promise
        scans++
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
    scanning.resolve()
    await soon(() => scans > 0)
    await new Promise(setImmediate)
    expect([apps[0]?.gauges.running(), apps[0]?.gauges.waiting()]).toEqual([1, 1])
  })

  test('gets the number of followers, and the lag of the slowest', async () => {
    const { telemetry, apps } = recordingTelemetry()
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

  test('gets the lag of a single follower that starts at the beginning', async () => {
    const { telemetry, apps } = recordingTelemetry()
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

  test('does not count workers as followers', async () => {
    const { telemetry, apps } = recordingTelemetry()
    const held = heldTool('hold')
    const { app } = start({ telemetry, tools: [held.tool], rounds: firstCalls('hold') })
    await app.thread().send('Go.')
    await held.startedTimes(1)
    expect(apps[0]?.gauges.followers()).toBe(0)
    held.runs[0]?.release()
  })

  test('gets background errors, and so does onError', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = recordingTelemetry()
    const failing: ThreadStore = {
      ...store,
      findRunnable: () =>
        Promise.reject(
          new MillraceError({ op: 'store.findRunnable', code: 'store_error', message: 'locked' }),
        ),
    }
    const { errors } = start({ store: failing, telemetry })
    await soon(() => (apps[0]?.errors.length ?? 0) > 0)
    expect(apps[0]?.errors[0]).toMatchObject({ code: 'store_error', message: 'locked' })
    expect(errors).toEqual(apps[0]?.errors)
  })

  test.each(kinds)('gets all writes of its runs, in %s', async (kind) => {
    const { telemetry, apps } = recordingTelemetry()
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

  test('gets a failed flush, and counts nothing for it', async () => {
    const store = storeOf('memory')
    const { telemetry, apps } = recordingTelemetry()
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

  test('is closed once, when nothing is running any more', async () => {
    const { telemetry, apps, runs } = recordingTelemetry()
    const held = heldTool('hold')
    const { app } = start({ telemetry, tools: [held.tool], rounds: firstCalls('hold') })
    await app.thread().send('Go.')
    await held.startedTimes(1)
    await Promise.all([app.close({ graceMs: 0 }), app.close()])
    expect(apps).toMatchObject([{ closed: 1 }])
    expect(runs[0]?.records.at(-1)).toBe('abandoned')
    expect(apps[0]?.gauges.running()).toBe(0)
  })
})
