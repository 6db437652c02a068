import fc from 'fast-check'
import type { LogView, RunView } from 'millrace/view'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { layout } from './layout.ts'
import { randomRun } from './random-run.test-kit.ts'
import { recorded, replay } from './replay.ts'
import type { Told } from './written.test-kit.ts'
import { entriesOf, logOf, tell, zero } from './written.test-kit.ts'

/** What of a log can be told apart by looking at it. */
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

function replayOf(told: readonly Told[]) {
  const entries = entriesOf(told)
  const log = logOf(entries)
  const chart = layout(entries, log.runs.at(-1) as RunView, { now: 0 })
  return { entries, chart, again: replay(entries, chart) }
}

test('a replay shows at any time what the log was then, forwards and backwards', () => {
  fc.assert(
    fc.property(randomRun, fc.array(fc.nat(1000)), (told, shares) => {
      const { entries, chart, again } = replayOf(told)
      for (const share of [...shares, 1000]) {
        const at = chart.start + ((chart.end - chart.start) * share) / 1000
        again.seek(at)
        const then = entries.filter((entry) => entry.at <= at || at === chart.end)
        expect(seen(again.logNow().log)).toEqual(seen(logOf(then)))
      }
    }),
  )
})

test('a replay that goes forwards keeps its log, and one that goes back begins another', () => {
  const { again } = replayOf([
    [0, tell.starts()],
    [10, tell.round(1)],
    [20, tell.text('Hello')],
  ])
  const first = again.logNow()
  again.seek(zero + 20)
  expect(again.logNow()).toEqual(first)
  expect(again.logNow().log).toBe(first.log)
  again.seek(zero + 10)
  expect(again.logNow().log).not.toBe(first.log)
  expect(again.logNow().beginnings).not.toBe(first.beginnings)
})

test('clocks that disagree do not turn time around', () => {
  const { again } = replayOf([
    [0, tell.starts()],
    [50, tell.round(1)],
    [20, tell.text('Hello')],
    [60, tell.ends()],
  ])
  const headAt = (ms: number) => {
    again.seek(zero + ms)
    return again.logNow().log.head
  }
  expect([headAt(30), headAt(50), headAt(60), headAt(0)]).toEqual([1, 3, 4, 1])
})

test('what is replayed is read as it was first written, page by page, with what was said before', async () => {
  const told: Told[] = [
    [0, tell.says('Hello')],
    [1, tell.says('Are you there?')],
    [5, tell.starts({ heard: [1] })],
    [6, tell.round(1)],
    ...Array.from({ length: 20 }, (_, index): Told => [10 + index, tell.text(`${index} `)]),
    [40, tell.roundEnds(1)],
    [41, tell.ends()],
    [50, tell.starts({ heard: [2], runId: 'run_2' })],
  ]
  const entries = entriesOf(told)
  const log = logOf(entries)
  const asked: unknown[] = []
  const thread = {
    read: async ({ after = 0, ...rest }: { after?: number | undefined }) => {
      asked.push({ after, ...rest })
      return entries.filter(({ seq }) => seq > after).slice(0, 10)
    },
  }
  const read = await recorded({ entries, thread: thread as never }, log.runs[0] as RunView)
  expect(read.map(({ seq }) => seq)).toEqual([1, ...Array.from({ length: 24 }, (_, index) => index + 3)])
  expect(asked.slice(0, 2)).toMatchObject([
    { after: 2, split: true },
    { after: 12, split: true },
  ])
})

describe('the player', () => {
  /** The next picture is drawn when the test says so. */
  function player(told: readonly Told[]) {
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
    const { again } = replayOf(told)
    return {
      play: again,
      at: () => again.time.value - zero,
      waits: () => waiting !== undefined,
      pass(ms: number) {
        now += ms
        const callback = waiting
        waiting = undefined
        callback?.(now)
      },
    }
  }

  const told: Told[] = [
    [0, tell.starts()],
    [0, tell.round(1)],
    [400, tell.text('Hel')],
    [600, tell.text('lo')],
    [1000, tell.roundEnds(1)],
    [1000, tell.ends()],
  ]

  test('goes at the pace of the run, or faster, and stops at the end', () => {
    const { play, at, waits, pass } = player(told)
    play.play()
    pass(0)
    pass(100)
    expect(at()).toBe(100)
    play.speed.value = 4
    pass(100)
    expect(at()).toBe(500)
    pass(9000)
    expect([at(), play.playing.value, waits()]).toEqual([1000, false, false])
  })

  test('rests when it is told to, goes on from there, and from the beginning when it was at the end', () => {
    const { play, at, waits, pass } = player(told)
    play.play()
    pass(0)
    pass(300)
    play.pause()
    expect([play.playing.value, waits()]).toEqual([false, false])
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
    const { play, at } = player(told)
    const places = [1, 1, 1, 1, -1, -1, -1, -1].map((direction) => {
      play.step(direction as 1 | -1)
      return at()
    })
    expect(places).toEqual([400, 600, 1000, 1000, 600, 400, 0, 0])
  })

  test('jumps over what is folded', () => {
    const { play, at, pass } = player([
      [0, tell.starts()],
      [0, tell.round(1)],
      [1000, tell.calls('a')],
      [1000, tell.asks('a')],
      [1000, tell.roundEnds(1)],
      [1000, tell.ends('suspended')],
      [90_000, tell.approves('a')],
      [90_000, tell.starts({ resumes: 'run_1' })],
      [90_000, tell.runs('a')],
      [90_500, tell.result('a', 500)],
      [90_500, tell.ends()],
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
