/** A loudspeaker that is none: plays what it is given at the pace of a clock, and falls silent when there is nothing more. */
export interface Player {
  /** Takes so many samples more. */
  add(samples: number): void
  /** How many have been played by now. */
  position(): number
  /** The most that was ever there and not played. */
  readonly most: number
  /** For how long there was nothing to play between two pieces, in milliseconds. */
  readonly silentMs: number
}

export function player(sampleRate: number, now: () => number): Player {
  let received = 0
  let played = 0
  let at = 0
  let most = 0
  let silentMs = 0
  /** Since the last piece was played. */
  let idleMs = 0

  function settle() {
    const time = now()
    const playing = Math.min(time - at, ((received - played) * 1000) / sampleRate)
    played += (playing * sampleRate) / 1000
    if (received > 0) idleMs += time - at - playing
    at = time
  }
  return {
    add(samples) {
      settle()
      silentMs += idleMs
      idleMs = 0
      received += samples
      most = Math.max(most, received - played)
    },
    position() {
      settle()
      // A thousandth of a sample may be lost in counting.
      return Math.floor(played + 0.001)
    },
    get most() {
      return most
    },
    get silentMs() {
      return silentMs
    },
  }
}
