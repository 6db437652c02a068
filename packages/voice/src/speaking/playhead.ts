import type { Clock } from 'millrace'

/** How far a client has played the audio it was sent, in samples. */
export interface Playhead {
  /** Records that samples were sent, starting at `position`. */
  sent(position: number, samples: number): void
  /** Drops the unplayed audio from `position` on. */
  dropped(position: number): void
  /** Records a position reported by the client. */
  reported(position: number): void
  pause(): void
  resume(): void
  readonly position: number
  /** The number of unplayed samples. */
  readonly ahead: number
  /**
   * Since when there has been nothing to play. Undefined while there is audio, or before the first
   * sample.
   */
  readonly emptySince: number | undefined
  /** When playback started. */
  readonly startedAt: number | undefined
  /** The position is estimated by the clock, because the client has never reported one. */
  readonly isEstimated: boolean
}

interface SampleRange {
  readonly from: number
  to: number
}

/**
 * Uses the positions that the client reports. Without reports, assumes that it plays audio on
 * arrival, without gaps.
 */
export function playhead({ sampleRate, clock }: { sampleRate: number; clock: Clock }): Playhead {
  /** The playable ranges, in order. Dropped audio leaves gaps between them. */
  let ranges: SampleRange[] = []
  /** The last reported position; undefined before the first report. */
  let reported: number | undefined
  let isPaused = false
  /** A position at a known time, from which the current one is estimated. */
  let anchor = { position: 0, at: clock.now() }
  let startedAt: number | undefined

  /** The estimated position, and for how many samples there has been nothing to play. */
  function estimate(): { position: number; idle: number } {
    let { position } = anchor
    if (isPaused) return { position, idle: 0 }
    let left = ((clock.now() - anchor.at) / 1000) * sampleRate
    for (const { from, to } of ranges) {
      if (to <= position) continue
      const start = Math.max(position, from)
      const step = Math.min(left, to - start)
      if (step <= 0) break
      position = start + step
      left -= step
    }
    return { position, idle: left }
  }

  function reanchor() {
    anchor = { position: estimate().position, at: clock.now() }
  }

  const position = () => reported ?? estimate().position

  const aheadOf = (position: number) =>
    ranges.reduce((sum, { from, to }) => sum + Math.max(0, to - Math.max(from, position)), 0)

  return {
    sent(from, samples) {
      if (samples === 0) return
      reanchor()
      const last = ranges.at(-1)
      if (last?.to === from) last.to += samples
      else ranges.push({ from, to: from + samples })
      if (reported === undefined) startedAt ??= clock.now()
    },
    dropped(from) {
      reanchor()
      const cut = Math.max(from, position())
      ranges = ranges.filter((one) => one.from < cut)
      const last = ranges.at(-1)
      if (last) last.to = Math.min(last.to, cut)
    },
    reported(claimed) {
      const sentUpTo = ranges.at(-1)?.to ?? 0
      // The first report replaces the estimates.
      if (reported === undefined) startedAt = undefined
      reported = Math.max(reported ?? 0, Math.min(claimed, sentUpTo))
      if (reported > 0) startedAt ??= clock.now()
      // A late report must not move the moment at which the audio ran out.
      if (aheadOf(reported) > 0 || aheadOf(estimate().position) > 0)
        anchor = { position: reported, at: clock.now() }
    },
    pause() {
      reanchor()
      isPaused = true
    },
    resume() {
      reanchor()
      isPaused = false
    },
    get position() {
      return Math.floor(position())
    },
    get ahead() {
      return Math.ceil(aheadOf(position()))
    },
    get emptySince() {
      const { position, idle } = estimate()
      if (startedAt === undefined || aheadOf(position) > 0) return undefined
      return clock.now() - (idle / sampleRate) * 1000
    },
    get startedAt() {
      return startedAt
    },
    get isEstimated() {
      return reported === undefined
    },
  }
}
