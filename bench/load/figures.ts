import type { Usage } from '../harness/answer.ts'
import { type Delays, delaysIn } from '../harness/measure.ts'
import type { Saved } from '../harness/part.ts'
import { delayCell, grouped, linesTable, megabytes, number } from '../harness/report.ts'
import type { FollowerLog, FollowersAnswers } from './followers.ts'
import type { Reads } from './long-reader.ts'

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
  readonly delays: { readonly sse?: FollowerDelays | undefined; readonly socket?: FollowerDelays | undefined }
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
  readonly late: Delays
  /** Where a long thread was read: the same before that, and what was asked for. */
  readonly beside?: Beside | undefined
  readonly database: number
  /** All that was lost, repeated or broken; empty if it is well. */
  readonly faults: readonly string[]
}

export interface Beside {
  readonly delays: Measured['delays']
  readonly late: Delays
  readonly entries: number
  readonly reads: Reads
}

interface FollowerDelays {
  /** From when an entry was written down. */
  readonly sinceWritten: Delays
  /** From when the provider said a word. */
  readonly sinceSaid: Delays
}

/** How far everything was at a moment. */
export interface Reading {
  /** On the clock of `performance`. */
  readonly now: number
  readonly runs: number
  readonly words: number
  readonly written: number
  readonly late: Delays
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

function delaysOf(tally: Tallies['sse']): FollowerDelays | undefined {
  const sinceWritten = delaysIn(tally.sinceWritten)
  const sinceSaid = delaysIn(tally.sinceSaid)
  return sinceWritten && sinceSaid && { sinceWritten, sinceSaid }
}

/** What everybody should have been told. */
export interface Truth {
  /** The number of each thread's last entry. */
  readonly heads: Readonly<Record<string, number>>
  /** How many words the provider told each. */
  readonly words: Readonly<Record<string, number>>
}

/** What is wrong with what followers were told, one line for each of them. */
export function faultsOf(logs: readonly FollowerLog[], truth: Truth): string[] {
  return logs.flatMap(({ plan: { thread, transport }, head, words, faults }) => {
    const last = truth.heads[thread]
    const said = truth.words[thread] ?? 0
    const wrong = [
      ...faults,
      ...(head === last ? [] : [`came to ${head} of ${last}`]),
      ...(words === said ? [] : [`was told ${words} of ${said} words`]),
    ]
    return wrong.length === 0 ? [] : [`${thread} over ${transport}: ${wrong.join(', ')}`]
  })
}

export interface LoadResults extends Saved {
  readonly scenes: readonly Measured[]
}

const cores = (value: number) => value.toFixed(2)

const lines: readonly { readonly label: string; cell(measured: Measured): string | undefined }[] = [
  {
    label: 'runs under way, followers',
    cell: ({ threads, followers }) => `${threads}, ${grouped(followers)}`,
  },
  { label: 'runs that ended, per second', cell: ({ runs }) => number(runs) },
  { label: 'words of the provider, per second', cell: ({ words }) => grouped(words) },
  { label: 'entries written, per second', cell: ({ written }) => grouped(written) },
  {
    label: 'entries delivered, per second',
    cell: ({ followers, delivered }) => (followers > 0 ? grouped(delivered) : undefined),
  },
  {
    label: 'from written to follower, SSE: p50 / p99 / most',
    cell: ({ delays }) => delayCell(delays.sse?.sinceWritten),
  },
  {
    label: 'from written to follower, WebSocket',
    cell: ({ delays }) => delayCell(delays.socket?.sinceWritten),
  },
  { label: 'from provider to follower, SSE', cell: ({ delays }) => delayCell(delays.sse?.sinceSaid) },
  {
    label: 'from provider to follower, WebSocket',
    cell: ({ delays }) => delayCell(delays.socket?.sinceSaid),
  },
  { label: "server's timers, late by", cell: ({ late }) => delayCell(late) },
  {
    label: 'before the long thread was read: written to follower, SSE',
    cell: ({ beside }) => delayCell(beside?.delays.sse?.sinceWritten),
  },
  {
    label: 'before it, WebSocket',
    cell: ({ beside }) => delayCell(beside?.delays.socket?.sinceWritten),
  },
  { label: "before it, server's timers", cell: ({ beside }) => delayCell(beside?.late) },
  { label: 'p99 while it was read to p99 before: SSE, WebSocket', cell: p99Ratios },
  {
    label: 'states, pages, streams, messages of it, per second',
    cell: ({ beside, seconds }) =>
      beside?.reads.kinds.map(({ times }) => number(times.length / seconds)).join(', '),
  },
  {
    label: 'the longest of each took',
    cell: ({ beside }) =>
      beside && `${beside.reads.kinds.map(({ times }) => number(Math.max(0, ...times))).join(' / ')} ms`,
  },
  { label: 'cores: server', cell: ({ cores: used }) => cores(used.server) },
  {
    label: 'cores: provider, followers',
    cell: ({ cores: used }) => `${cores(used.provider)}, ${cores(used.followers)}`,
  },
  {
    label: "server's memory: at first / most / at last",
    cell: ({ memory }) => `${megabytes(memory.start)} / ${megabytes(memory.peak)} / ${megabytes(memory.end)}`,
  },
  {
    label: 'memory of one follower at rest',
    cell: ({ memory: { each } }) => (each === undefined ? undefined : `${number(each / 1024)} KB`),
  },
  {
    label: 'told to those that never read, when they did at last',
    cell: ({ stuck: { entries, frames } }) =>
      entries === 0 ? undefined : `${grouped(entries)} entries in ${grouped(frames)} frames`,
  },
  { label: 'database', cell: ({ database }) => megabytes(database) },
  {
    label: 'lost, repeated or broken',
    cell: ({ faults }) => (faults.length === 0 ? 'nothing' : `${faults.length} followers`),
  },
]

function p99Ratios({ delays, beside }: Measured): string | undefined {
  if (!beside) return undefined
  const ratio = (transport: 'sse' | 'socket') => {
    const [now, before] = [delays[transport], beside.delays[transport]]
    return now && before ? `${number(now.sinceWritten.p99 / before.sinceWritten.p99)}×` : '–'
  }
  return `${ratio('sse')}, ${ratio('socket')}`
}

export const tablesOf = ({ scenes }: LoadResults) => [
  linesTable(
    '',
    scenes.map((of) => ({ title: of.title, of })),
    lines,
  ),
]
