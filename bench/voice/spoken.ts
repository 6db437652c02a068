import type { Spread } from '../load/histogram.ts'
import type { Usage } from '../load/process.ts'
import { quantile } from '../process/measure.ts'
import { answerChars, firstSentenceChars, secondSentenceChars } from './answer.ts'
import type { HeardThread, ReadThread } from './clients.ts'
import type { Mark } from './said.ts'
import { delaysOf, timeOf } from './said.ts'
import type { Scene } from './scenes.ts'
import { isBeside } from './size.ts'

/** What was measured of a scene. Times are milliseconds, sizes bytes. */
export interface Spoken {
  readonly scene: Scene['name']
  readonly title: string
  readonly threads: number
  /** Clients that only read. */
  readonly readers: number
  /** From when the model said a word to a client that reads: in threads that are spoken, and in those beside them. */
  readonly words: Spread | undefined
  readonly beside: Spread | undefined
  /** Turns that were heard to their end, and how many were played at the same time. */
  readonly turns: number
  readonly atOnce: number
  /** From when the first sentence was over for certain to its first audio at the client. */
  readonly firstAudio: Spread | undefined
  /** In so many turns audio was there before the second sentence was said. */
  readonly early: number
  /** The most audio that a client had and had not played. */
  readonly aheadMs: number
  /** How long it was silent within a turn: to the client, and by the server's record. */
  readonly silence: { readonly played: Spread | undefined; readonly recorded: Spread | undefined }
  readonly cores: { readonly server: number; readonly clients: number }
  /** How late the server's timers were. */
  readonly late: Spread
  readonly memory: {
    readonly start: number
    readonly peak: number
    readonly end: number
    readonly held: number
  }
  /** All that was lost, repeated or out of order; empty if it is well. */
  readonly faults: readonly string[]
}

export interface Told {
  readonly said: Readonly<Record<string, readonly Mark[]>>
  readonly read: readonly ReadThread[]
  readonly heard: readonly HeardThread[]
}

export interface Reading {
  readonly now: number
  readonly server: Usage
  readonly clients: Usage
}

/** What the clients were told, as figures. */
export function figuresOf({ said, read, heard }: Told) {
  const words = (isOurs: (thread: string) => boolean) =>
    spread(read.flatMap(({ thread, marks }) => (isOurs(thread) ? delaysOf(said[thread] ?? [], marks) : [])))
  const first = heard.flatMap(({ thread, firstAudio }) =>
    firstAudio.map((at, turn) => {
      const since = (chars: number) =>
        at - (timeOf(said[thread] ?? [], turn * answerChars + chars) ?? Number.NaN)
      return { sinceFirst: since(firstSentenceChars), sinceSecond: since(secondSentenceChars) }
    }),
  )
  const records = heard.flatMap((one) => one.records)
  const recorded = records.map(({ gaps }) => gaps.reduce((sum, { ms }) => sum + ms, 0))
  return {
    readers: read.length,
    words: words((thread) => !isBeside(thread)),
    beside: words(isBeside),
    turns: records.filter(({ outcome }) => outcome === 'completed').length,
    firstAudio: spread(first.map(({ sinceFirst }) => sinceFirst)),
    early: first.filter(({ sinceSecond }) => sinceSecond < 0).length,
    aheadMs: Math.max(0, ...heard.map(({ aheadMs }) => aheadMs)),
    silence: { played: spread(heard.flatMap(({ silence }) => silence)), recorded: spread(recorded) },
  }
}

function spread(all: readonly number[]): Spread | undefined {
  if (all.length === 0) return undefined
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), max: quantile(all, 1) }
}

export function coresOf(before: Reading, after: Reading) {
  const cores = (part: 'server' | 'clients') =>
    (after[part].cpuMs - before[part].cpuMs) / (after.now - before.now)
  return { server: cores('server'), clients: cores('clients') }
}
