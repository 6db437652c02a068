/** How large a run is: the one of the README, a quick look, or just enough to see that it works. */
export type Mode = 'full' | 'quick' | 'tiny'

/** How often one thing is done. */
export interface Doing {
  /** So long before it is measured. */
  readonly warmMs: number
  /** So often in one turn. */
  readonly plays: number
}

export interface Size {
  /** Processes that are started anew, to each work and wire and way of looking on. */
  readonly sets: number
  /** How often each of them has its turn. */
  readonly turns: number
  /** Deltas of the long answer. */
  readonly deltas: number
  readonly text: Doing
  readonly loop: Doing
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    sets: 14,
    turns: 5,
    deltas: 20_000,
    text: { warmMs: 2500, plays: 16 },
    loop: { warmMs: 6000, plays: 200 },
  },
  quick: {
    sets: 3,
    turns: 4,
    deltas: 20_000,
    text: { warmMs: 500, plays: 8 },
    loop: { warmMs: 800, plays: 100 },
  },
  tiny: {
    sets: 1,
    turns: 2,
    deltas: 2_000,
    text: { warmMs: 0, plays: 2 },
    loop: { warmMs: 0, plays: 2 },
  },
}
