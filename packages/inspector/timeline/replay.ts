import { signal } from '@preact/signals'
import type { Entry } from 'millrace/client'
import type { RunView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'
import type { Session } from '../session.ts'
import type { Chart } from './chart.ts'
import { clamp } from './spans.ts'

export const speeds = [0.25, 1, 2, 4, 8]

export type Replay = ReturnType<typeof replay>

/** Replays a run at its recorded pace or another speed. Folded idle times are skipped. */
export function replay(
  entries: readonly Entry[],
  { start, end, axis }: Pick<Chart, 'start' | 'end' | 'axis'>,
) {
  const time = signal(start)
  const playing = signal(false)
  const speed = signal(1)
  let frame = 0
  let log = createView()
  let logTime = start
  let applied = 0
  let restarts = 0

  function play() {
    pause()
    if (time.value >= end) time.value = start
    playing.value = true
    let before: number | undefined
    const tick = (now: number) => {
      const next = time.value + (now - (before ?? now)) * speed.value
      before = now
      seek(axis.folds.find((fold) => fold.start <= next && next < fold.end)?.end ?? next)
      if (time.value < end) frame = requestAnimationFrame(tick)
      else playing.value = false
    }
    frame = requestAnimationFrame(tick)
  }

  function pause() {
    cancelAnimationFrame(frame)
    playing.value = false
  }

  function seek(at: number) {
    time.value = clamp(at, start, end)
  }

  /** Moves to the previous or next event. */
  function step(direction: -1 | 1) {
    pause()
    const now = time.value
    if (direction === 1) seek(entries.find(({ at }) => at > now)?.at ?? end)
    else seek(entries.findLast(({ at }) => at < now)?.at ?? start)
  }

  /**
   * The log at the current time. Moving forward applies only new entries; moving back starts with a
   * new log. At the end all entries are applied, even if the clocks of two processes disagree.
   */
  function logNow() {
    const now = time.value < end ? time.value : Infinity
    if (now < logTime) {
      log = createView()
      applied = 0
      restarts++
    }
    logTime = now
    for (let next = entries[applied]; next && next.at <= now; next = entries[++applied]) applyEntry(log, next)
    return { log, restarts }
  }

  return { axis, time, playing, speed, play, pause, seek, step, logNow }
}

const pageSize = 10_000

/**
 * The entries of a run as first written, after the inputs that it answers. In the log of the page,
 * deltas may be joined.
 */
export async function originalEntries(
  session: Pick<Session, 'thread' | 'entries'>,
  run: RunView,
): Promise<Entry[]> {
  const { thread } = session
  const { seq, lastSeq, inputs } = run
  const entries = session.entries.filter(
    (entry) => entry.seq < seq && inputs.some((one) => one.seq === entry.seq),
  )
  for (let after = seq - 1; after < lastSeq; ) {
    const page = await thread.read({ after, limit: pageSize, split: true })
    entries.push(...page)
    after = page.at(-1)?.seq ?? lastSeq
  }
  return entries.filter((entry) => entry.seq <= lastSeq)
}
