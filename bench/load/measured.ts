import type { FollowersAnswers } from './followers.ts'
import type { Spread } from './histogram.ts'
import { spreadOf } from './histogram.ts'
import type { Reads } from './long-reader.ts'
import type { Usage } from './process.ts'

/** What was measured of a scene. Rates are per second, sizes in bytes, times in milliseconds. */
export interface Measured {
  readonly scene: string
  readonly title: string
  readonly threads: number
  readonly followers: number
  readonly seconds: number
  /** Runs that came to their end. */
  readonly runs: number
  /** Words of the provider, entries of the log, and those that came to followers, in so many frames. */
  readonly words: number
  readonly written: number
  readonly delivered: number
  readonly frames: number
  /** What those that never read were told when they did at last: so many entries, joined to so many frames. */
  readonly stuck: { readonly entries: number; readonly frames: number }
  readonly delays: { readonly sse?: Delays | undefined; readonly socket?: Delays | undefined }
  /** Cores that were busy. */
  readonly cores: { readonly server: number; readonly provider: number; readonly followers: number }
  /** Of the server's process; `each` is what one more follower takes while nothing happens. */
  readonly memory: {
    readonly start: number
    readonly peak: number
    readonly end: number
    readonly each: number | undefined
  }
  /** How late the server's timers were. */
  readonly late: Spread
  /** Where a long thread was read: the same before that, and what was asked for. */
  readonly beside?: Beside | undefined
  readonly database: number
  /** All that was lost, repeated or broken; empty if it is well. */
  readonly faults: readonly string[]
}

export interface Beside {
  readonly delays: Measured['delays']
  readonly late: Spread
  readonly entries: number
  readonly reads: Reads
}

export interface Delays {
  /** From when an entry was written down. */
  readonly sinceWritten: Spread
  /** From when the provider said a word. */
  readonly sinceSaid: Spread
}

/** How far everything was at a moment. */
export interface Reading {
  /** On the clock of `performance`. */
  readonly now: number
  readonly runs: number
  readonly words: number
  readonly written: number
  readonly late: Spread
  readonly server: Usage
  readonly provider: Usage
  readonly followers: Usage
}

type Tallies = ReturnType<FollowersAnswers['tallies']>

/** The figures of what happened between two readings. */
export function figuresOf(before: Reading, after: Reading, { sse, socket, stuck }: Tallies) {
  const seconds = (after.now - before.now) / 1000
  const per = (key: 'runs' | 'words' | 'written') => (after[key] - before[key]) / seconds
  const cores = (key: 'server' | 'provider' | 'followers') =>
    (after[key].cpuMs - before[key].cpuMs) / 1000 / seconds
  return {
    seconds,
    runs: per('runs'),
    words: per('words'),
    written: per('written'),
    delivered: (sse.entries + socket.entries) / seconds,
    frames: (sse.frames + socket.frames) / seconds,
    stuck: { entries: stuck.entries, frames: stuck.frames },
    delays: { sse: delaysOf(sse), socket: delaysOf(socket) },
    late: after.late,
    cores: { server: cores('server'), provider: cores('provider'), followers: cores('followers') },
  }
}

function delaysOf(tally: Tallies['sse']): Delays | undefined {
  const sinceWritten = spreadOf(tally.sinceWritten)
  const sinceSaid = spreadOf(tally.sinceSaid)
  return sinceWritten && sinceSaid && { sinceWritten, sinceSaid }
}
