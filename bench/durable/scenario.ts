import type { Mode } from '../harness/part.ts'
import type { Child } from '../harness/process.ts'
import type { Figure, Figures } from '../workloads/workload.ts'
import type { FollowersAnswers } from './followers.ts'
import type { ProviderAnswers } from './provider.ts'
import type { ServerAnswers } from './server.ts'

export interface Size {
  /** How often fresh processes are started for each way. */
  readonly sets: number
  readonly everyMs: number
  /** Runs at once, the time over which they start, and the time after that before measuring. */
  readonly runs: number
  readonly spreadMs: number
  readonly settleMs: number
  readonly measureMs: number
  /** The search for the number of runs: where it begins and ends, and how long each step takes. */
  readonly search: {
    readonly sets: number
    readonly from: number
    readonly most: number
    readonly mostMs: number
    readonly settleMs: number
    readonly measureMs: number
  }
  /** Followers of one run. */
  readonly crowd: number
  /** How many reconnect, the runs they follow, and how often. */
  readonly reconnect: { readonly followers: number; readonly runs: number; readonly times: number }
  readonly idle: { readonly followers: number; readonly ms: number }
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    sets: 5,
    everyMs: 20,
    runs: 100,
    spreadMs: 1000,
    settleMs: 4000,
    measureMs: 10_000,
    search: { sets: 3, from: 60, most: 1500, mostMs: 90_000, settleMs: 1500, measureMs: 2500 },
    crowd: 1000,
    reconnect: { followers: 300, runs: 200, times: 5 },
    idle: { followers: 1000, ms: 20_000 },
  },
  quick: {
    sets: 2,
    everyMs: 20,
    runs: 100,
    spreadMs: 500,
    settleMs: 2000,
    measureMs: 4000,
    search: { sets: 1, from: 100, most: 1500, mostMs: 40_000, settleMs: 700, measureMs: 1300 },
    crowd: 1000,
    reconnect: { followers: 300, runs: 200, times: 3 },
    idle: { followers: 1000, ms: 20_000 },
  },
  tiny: {
    sets: 1,
    everyMs: 20,
    runs: 4,
    spreadMs: 50,
    settleMs: 100,
    measureMs: 400,
    search: { sets: 1, from: 4, most: 4, mostMs: 5000, settleMs: 50, measureMs: 200 },
    crowd: 8,
    reconnect: { followers: 6, runs: 4, times: 2 },
    idle: { followers: 8, ms: 200 },
  },
}

/** A provider, a server under test and its followers, each in a fresh process. */
export interface Bench {
  readonly provider: Child<ProviderAnswers>
  readonly server: Child<ServerAnswers>
  readonly followers: Child<FollowersAnswers>
  readonly signal: AbortSignal
}

/** What is measured with each way. */
export interface Scenario {
  readonly name: string
  readonly title: (size: Size) => string
  readonly figures: readonly Figure[]
  /** The ways that it makes sense for. */
  readonly ways: readonly string[]
  /** The way that the others are compared with, in the same set. */
  readonly base: string
  /** How often fresh processes are started, if not `size.sets` times. */
  sets?(size: Size): number
  /** More environment for the server. Throws if this machine cannot do it. */
  env?(): NodeJS.ProcessEnv
  /** Throws if anything was lost, repeated or out of order. */
  measure(bench: Bench, size: Size): Promise<Figures>
}
