import fc from 'fast-check'
import type { LogView, RunView } from 'millrace/view'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { TimedEvent } from './events.test-kit.ts'
import { emit, entriesOf, logOf, zero } from './events.test-kit.ts'
import { layout } from './layout.ts'
import { randomRun } from './random-run.test-kit.ts'
import { originalEntries, replay } from './replay.ts'

/** The visible state of a log. */
function seen({ rows, waiting, runs, head }: LogView) {
  return {
    head,
    rows: rows.map((row) => [
      row.kind,
      row.key,
      'text' in row && typeof row.text === 'object' ? row.text.pieces.join('') : '',
    ]),
    waiting: waiting.length,
    calls: runs.flatMap(({ calls }) =>
      calls.map(({ callId, endedAt, attempts }) => [callId, endedAt, attempts]),
    ),
  }
}

function replayOf(events: readonly TimedEvent[]) {
  const entries = entriesOf(events)
  const log = logOf(entries)
  const chart = layout(entries, log.runs.at(-1) as RunView, { now: 0 })
  return { entries, chart, player: replay(entries, chart) }
}

test('a replay shows the log at any time, forward and backward', () => {
  fc.assert(
    fc.property(randomRun, fc.array(fc.nat(1000)), (events, shares) => {
      const { entries, chart, player } = replayOf(events)
      for (const share of [...shares, 1000]) {
        const at = chart.start + ((chart.end - chart.start) * share) / 1000
        player.seek(at)
        const then = entries.filter((entry) => entry.at <= at || at === chart.end)
        expect(seen(player.logNow().log)).toEqual(seen(logOf(then)))
      }
    }),
  )
})

test('moving forward keeps the log, moving back starts another', () => {
  const { player } = replayOf([
    [0, emit.runStart()],
    [10, emit.roundStart(1)],
    [20, emit.text('Hello')],
  ])
  const first = player.logNow()
  player.seek(zero + 20)
  expect(player.logNow()).toEqual(first)
  expect(player.logNow().log).toBe(first.log)
  player.seek(zero + 10)
  expect(player.logNow().log).not.toBe(first.log)
  expect(player.logNow().restarts).not.toBe(first.restarts)
})

test('entries stay in order if clocks disagree', () => {
  const { player } = replayOf([
    [0, emit.runStart()],
    [50, emit.roundStart(1)],
    [20, emit.text('Hello')],
    [60, emit.runEnd()],
  ])
  const headAt = (ms: number) => {
    player.seek(zero + ms)
    return player.logNow().log.head
  }
  expect([headAt(30), headAt(50), headAt(60), headAt(0)]).toEqual([1, 3, 4, 1])
})

test('reads the original entries page by page, after the inputs of the run', async () => {
  const events: TimedEvent[] = [
    [0, emit.input('Hello')],
    [1, emit.input('Are you there?')],
    [5, emit.runStart({ inputs: [1] })],
    [6, emit.roundStart(1)],
    ...Array.from({ length: 20 }, (_, index): TimedEvent => [10 + index, emit.text(`${index} `)]),
    [40, emit.roundEnd(1)],
    [41, emit.runEnd()],
    [50, emit.runStart({ inputs: [2], runId: 'run_2' })],
  ]
  const entries = entriesOf(events)
  const log = logOf(entries)
  const asked: unknown[] = []
  const thread = {
    read: async ({ after = 0, ...rest }: { after?: number | undefined }) => {
      asked.push({ after, ...rest })
      return entries.filter(({ seq }) => seq > after).slice(0, 10)
    },
  }
  const read = await originalEntries({ entries, thread: thread as never }, log.runs[0] as RunView)
  expect(read.map(({ seq }) => seq)).toEqual([1, ...Array.from({ length: 24 }, (_, index) => index + 3)])
  expect(asked.slice(0, 2)).toMatchObject([
    { after: 2, split: true },
    { after: 12, split: true },
  ])
})

describe('the player', () => {
  /** Animation frames run when the test calls `pass`. */
  function testPlayer(events: readonly TimedEvent[]) {
    let now = 1000
    let waiting: ((nowMs: number) => void) | undefined
    vi.stubGlobal('requestAnimationFrame', (callback: (nowMs: number) => void) => {
      waiting = callback
      return 1
    })
    vi.stubGlobal('cancelAnimationFrame', () => {
      waiting = undefined
    })
    onTestFinished(() => void vi.unstubAllGlobals())
    const { player } = replayOf(events)
    return {
      play: player,
      at: () => player.time.value - zero,
      isWaiting: () => waiting !== undefined,
      pass(ms: number) {
        now += ms
        const callback = waiting
        waiting = undefined
        callback?.(now)
      },
    }
  }

  const events: TimedEvent[] = [
    [0, emit.runStart()],
    [0, emit.roundStart(1)],
    [400, emit.text('Hel')],
    [600, emit.text('lo')],
    [1000, emit.roundEnd(1)],
    [1000, emit.runEnd()],
  ]

  test('plays at the recorded pace or faster, and stops at the end', () => {
    const { play, at, isWaiting, pass } = testPlayer(events)
    play.play()
    pass(0)
    pass(100)
    expect(at()).toBe(100)
    play.speed.value = 4
    pass(100)
    expect(at()).toBe(500)
    pass(9000)
    expect([at(), play.playing.value, isWaiting()]).toEqual([1000, false, false])
  })

  test('pauses and resumes, and restarts after the end', () => {
    const { play, at, isWaiting, pass } = testPlayer(events)
    play.play()
    pass(0)
    pass(300)
    play.pause()
    expect([play.playing.value, isWaiting()]).toEqual([false, false])
    play.play()
    pass(5000)
    pass(10)
    expect(at()).toBe(310)
    play.pause()
    play.seek(zero + 5000)
    expect(at()).toBe(1000)
    play.play()
    expect(at()).toBe(0)
  })

  test('steps from event to event', () => {
    const { play, at } = testPlayer(events)
    const places = [1, 1, 1, 1, -1, -1, -1, -1].map((direction) => {
      play.step(direction as 1 | -1)
      return at()
    })
    expect(places).toEqual([400, 600, 1000, 1000, 600, 400, 0, 0])
  })

  test('skips folded idle time', () => {
    const { play, at, pass } = testPlayer([
      [0, emit.runStart()],
      [0, emit.roundStart(1)],
      [1000, emit.toolCall('a')],
      [1000, emit.approvalRequest('a')],
      [1000, emit.roundEnd(1)],
      [1000, emit.runEnd('suspended')],
      [90_000, emit.approval('a')],
      [90_000, emit.runStart({ resumes: 'run_1' })],
      [90_000, emit.toolStart('a')],
      [90_500, emit.toolResult('a', 500)],
      [90_500, emit.runEnd()],
    ])
    play.play()
    pass(0)
    pass(999)
    pass(2)
    expect(at()).toBe(90_000)
    pass(200)
    expect(at()).toBe(90_200)
  })
})
