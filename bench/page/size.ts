/** How large a run is: the one of the README, a quick look, or just enough to see that it works. */
export type Mode = 'full' | 'quick' | 'tiny'

export interface Size {
  /** An answer of so many KB, in so many pieces, so many of which are drawn in a frame. */
  readonly answer: {
    readonly kb: number
    readonly pieces: number
    readonly perFrame: number
    readonly runs: number
  }
  /** A thread of so many events is opened. */
  readonly thread: { readonly events: number; readonly runs: number }
  /** So many words a second are followed for so long. */
  readonly words: { readonly perSecond: number; readonly seconds: number; readonly runs: number }
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    answer: { kb: 200, pieces: 10_000, perFrame: 5, runs: 3 },
    thread: { events: 100_000, runs: 5 },
    words: { perSecond: 200, seconds: 20, runs: 3 },
  },
  quick: {
    answer: { kb: 50, pieces: 2500, perFrame: 5, runs: 1 },
    thread: { events: 100_000, runs: 1 },
    words: { perSecond: 200, seconds: 5, runs: 1 },
  },
  tiny: {
    answer: { kb: 4, pieces: 200, perFrame: 5, runs: 1 },
    thread: { events: 400, runs: 1 },
    words: { perSecond: 200, seconds: 1, runs: 1 },
  },
}
