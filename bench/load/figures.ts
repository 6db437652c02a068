import type { Usage } from '../harness/answer.ts'
import { type Delays, delaysIn } from '../harness/measure.ts'
import type { Saved } from '../harness/part.ts'
import { delayCell, grouped, linesTable, megabytes, number } from '../harness/report.ts'
import type { FollowerLog, FollowersAnswers } from './followers.ts'
import type { Reads } from './long-reader.ts'

/** The figures of a scenario. Rates are per second, sizes in bytes, times in milliseconds. */
export interface Measured {
  readonly scenario: string
  readonly title: string
  readonly threads: number
  readonly followers: number
  readonly seconds: number
  /** Completed runs. */
  readonly runs: number
  /** Words of the provider, entries of the log, and entries and frames that followers got. */
  readonly words: number
  readonly written: number
  readonly delivered: number
  readonly frames: number
  /** What stuck followers got when they started to read: entries, joined into frames. */
  readonly stuck: { readonly entries: number; readonly frames: number }
  readonly delays: { readonly sse?: FollowerDelays | undefined; readonly socket?: FollowerDelays | undefined }
  /** Cores that were busy. */
  readonly cores: { readonly server: number; readonly provider: number; readonly followers: number }
  /** Of the server process; `each` is what one more idle follower takes. */
  readonly memory: {
    readonly start: number
    readonly peak: number
    readonly end: number
    readonly each: number | undefined
  }
  /** How late the server's timers were. */
  readonly late: Delays
  /** If a long thread was read: the figures before that, and the reads. */
  readonly baseline?: Baseline | undefined
  readonly database: number
  /** Everything that was lost, repeated or broken. */
  readonly faults: readonly string[]
}

export interface Baseline {
  readonly delays: Measured['delays']
  readonly late: Delays
  readonly entries: number
  readonly reads: Reads
}

interface FollowerDelays {
  /** Since the entry was written. */
  readonly sinceWritten: Delays
  /** Since the provider sent the word. */
  readonly sinceSaid: Delays
}

/** All counters at one moment. */
export interface Reading {
  /** `performance.now()`. */
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

/** What every follower should have received. */
export interface Expected {
  /** The number of each thread's last entry. */
  readonly heads: Readonly<Record<string, number>>
  /** How many words the provider sent to each thread. */
  readonly words: Readonly<Record<string, number>>
}

/** What is wrong with the received logs, one line for each follower. */
export function faultsOf(logs: readonly FollowerLog[], truth: Expected): string[] {
  return logs.flatMap(({ plan: { thread, transport }, head, words, faults }) => {
    const last = truth.heads[thread]
    const said = truth.words[thread] ?? 0
    const wrong = [
      ...faults,
      ...(head === last ? [] : [`got entries up to ${head} of ${last}`]),
      ...(words === said ? [] : [`got ${words} of ${said} words`]),
    ]
    return wrong.length === 0 ? [] : [`${thread} over ${transport}: ${wrong.join(', ')}`]
  })
}

export interface LoadResults extends Saved {
  readonly scenarios: readonly Measured[]
}

const cores = (value: number) => value.toFixed(2)

const lines: readonly { readonly label: string; cell(measured: Measured): string | undefined }[] = [
  {
    label: 'active runs, followers',
    cell: ({ threads, followers }) => `${threads}, ${grouped(followers)}`,
  },
  { label: 'completed runs, per second', cell: ({ runs }) => number(runs) },
  { label: 'words from the provider, per second', cell: ({ words }) => grouped(words) },
  { label: 'entries written, per second', cell: ({ written }) => grouped(written) },
  {
    label: 'entries delivered, per second',
    cell: ({ followers, delivered }) => (followers > 0 ? grouped(delivered) : undefined),
  },
  {
    label: 'from written to follower, SSE: p50 / p99 / max',
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
  { label: "delay of the server's timers", cell: ({ late }) => delayCell(late) },
  {
    label: 'without the long thread: from written to follower, SSE',
    cell: ({ baseline }) => delayCell(baseline?.delays.sse?.sinceWritten),
  },
  {
    label: 'without it, WebSocket',
    cell: ({ baseline }) => delayCell(baseline?.delays.socket?.sinceWritten),
  },
  { label: "without it, delay of the server's timers", cell: ({ baseline }) => delayCell(baseline?.late) },
  { label: 'p99 with / without it: SSE, WebSocket', cell: p99Ratios },
  {
    label: 'reads of its state, pages, streams, messages, per second',
    cell: ({ baseline, seconds }) =>
      baseline?.reads.kinds.map(({ times }) => number(times.length / seconds)).join(', '),
  },
  {
    label: 'the longest of each',
    cell: ({ baseline }) =>
      baseline && `${baseline.reads.kinds.map(({ times }) => number(Math.max(0, ...times))).join(' / ')} ms`,
  },
  { label: 'cores: server', cell: ({ cores: used }) => cores(used.server) },
  {
    label: 'cores: provider, followers',
    cell: ({ cores: used }) => `${cores(used.provider)}, ${cores(used.followers)}`,
  },
  {
    label: "server's memory: start / peak / end",
    cell: ({ memory }) => `${megabytes(memory.start)} / ${megabytes(memory.peak)} / ${megabytes(memory.end)}`,
  },
  {
    label: 'memory of one idle follower',
    cell: ({ memory: { each } }) => (each === undefined ? undefined : `${number(each / 1024)} KB`),
  },
  {
    label: 'read by stuck followers at the end',
    cell: ({ stuck: { entries, frames } }) =>
      entries === 0 ? undefined : `${grouped(entries)} entries in ${grouped(frames)} frames`,
  },
  { label: 'database', cell: ({ database }) => megabytes(database) },
  {
    label: 'lost, repeated or broken',
    cell: ({ faults }) => (faults.length === 0 ? 'nothing' : `${faults.length} followers`),
  },
]

function p99Ratios({ delays, baseline }: Measured): string | undefined {
  if (!baseline) return undefined
  const ratio = (transport: 'sse' | 'socket') => {
    const [now, before] = [delays[transport], baseline.delays[transport]]
    return now && before ? `${number(now.sinceWritten.p99 / before.sinceWritten.p99)}×` : '–'
  }
  return `${ratio('sse')}, ${ratio('socket')}`
}

export const tablesOf = ({ scenarios }: LoadResults) => [
  linesTable(
    '',
    scenarios.map((of) => ({ title: of.title, of })),
    lines,
  ),
]
