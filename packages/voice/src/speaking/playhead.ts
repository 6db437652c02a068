import type { Clock } from 'millrace'

/** How far a client has played what it was sent. Counts samples. */
export interface Playhead {
  /** So many samples more are on their way, beginning at `position`. */
  sent(position: number, samples: number): void
  /** What was sent from here on, and not played, is forgotten. */
  dropped(position: number): void
  /** The client says where it is. */
  reported(position: number): void
  pause(): void
  resume(): void
  readonly position: number
  /** How many samples are there to be played. */
  readonly ahead: number
  /** Since when there is nothing to be played; undefined if there is something, or nothing has been played yet. */
  readonly drySince: number | undefined
  /** When the first sample was played. */
  readonly beganAt: number | undefined
  /** It is worked out by the clock, since the client has never reported. */
  readonly isGuessed: boolean
}

interface Stretch {
  readonly from: number
  to: number
}

/** A client that reports is believed; one that does not is taken to play everything at once and without a stop. */
export function playhead({ sampleRate, clock }: { sampleRate: number; clock: Clock }): Playhead {
  /** What can be played, in order. There is a hole between two where something was dropped. */
  let stretches: Stretch[] = []
  /** As the client has said; undefined before it has said anything. */
  let reported: number | undefined
  let isPaused = false
  /** Where it was at some moment, from which the clock tells where it must be. */
  let known = { position: 0, at: clock.now() }
  let beganAt: number | undefined

  /** Where it must be now, and how many samples ago there was nothing left. */
  function guess(): { position: number; idle: number } {
    let { position } = known
    if (isPaused) return { position, idle: 0 }
    let left = ((clock.now() - known.at) / 1000) * sampleRate
    for (const { from, to } of stretches) {
      if (to <= position) continue
      const start = Math.max(position, from)
      const step = Math.min(left, to - start)
      if (step <= 0) break
      position = start + step
      left -= step
    }
    return { position, idle: left }
  }

  function settle() {
    known = { position: guess().position, at: clock.now() }
  }

  const position = () => reported ?? guess().position

  const aheadOf = (position: number) =>
    stretches.reduce((sum, { from, to }) => sum + Math.max(0, to - Math.max(from, position)), 0)

  return {
    sent(from, samples) {
      if (samples === 0) return
      settle()
      const last = stretches.at(-1)
      if (last?.to === from) last.to += samples
      else stretches.push({ from, to: from + samples })
      if (reported === undefined) beganAt ??= clock.now()
    },
    dropped(from) {
      settle()
      const cut = Math.max(from, position())
      stretches = stretches.filter((one) => one.from < cut)
      const last = stretches.at(-1)
      if (last) last.to = Math.min(last.to, cut)
    },
    reported(told) {
      const most = stretches.at(-1)?.to ?? 0
      // What was guessed before it spoke up counts for nothing.
      if (reported === undefined) beganAt = undefined
      reported = Math.max(reported ?? 0, Math.min(told, most))
      if (reported > 0) beganAt ??= clock.now()
      // Once it has run dry it stays so, whenever it says it.
      if (aheadOf(reported) > 0 || aheadOf(guess().position) > 0)
        known = { position: reported, at: clock.now() }
    },
    pause() {
      settle()
      isPaused = true
    },
    resume() {
      settle()
      isPaused = false
    },
    get position() {
      return Math.floor(position())
    },
    get ahead() {
      return Math.ceil(aheadOf(position()))
    },
    get drySince() {
      const { position, idle } = guess()
      if (beganAt === undefined || aheadOf(position) > 0) return undefined
      return clock.now() - (idle / sampleRate) * 1000
    },
    get beganAt() {
      return beganAt
    },
    get isGuessed() {
      return reported === undefined
    },
  }
}
