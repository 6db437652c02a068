import { flagOption, namesOption } from '../harness/options.ts'
import type { Mode, Part } from '../harness/part.ts'
import { type LoadResults, type Measured, tablesOf } from './figures.ts'
import { postgresPart } from './postgres/part.ts'
import { storeOption } from './postgres/store-option.ts'

export interface Size {
  readonly threads: number
  /** Half of them over SSE, half over WebSockets, spread over all threads. */
  readonly followers: number
  /** Words of an answer, and the time between them. */
  readonly deltas: number
  readonly everyMs: number
  /** How long to measure, once everything runs. */
  readonly seconds: number
  /** Entries of the long thread. */
  readonly longEntries: number
}

const large = { threads: 200, followers: 1000, deltas: 500, everyMs: 20, longEntries: 1_000_000 }

export const sizes: Readonly<Record<Mode, Size>> = {
  full: { ...large, seconds: 60 },
  quick: { ...large, seconds: 10, longEntries: 200_000 },
  tiny: { threads: 5, followers: 20, deltas: 40, everyMs: 10, seconds: 2, longEntries: 1000 },
}

/** The same runs, followed in different ways. */
export interface LoadScenario {
  readonly name: string
  readonly title: string
  readonly followed: boolean
  /** One follower in ten never reads. */
  readonly stuck: boolean
  /**
   * Measured twice, with one follower on each thread: first without and then with a reader of a
   * very long thread.
   */
  readonly long: boolean
}

export const scenarios: readonly LoadScenario[] = [
  { name: 'alone', title: 'no followers', followed: false, stuck: false, long: false },
  { name: 'followed', title: 'all read', followed: true, stuck: false, long: false },
  { name: 'stuck', title: 'one in ten never reads', followed: true, stuck: true, long: false },
  { name: 'long', title: 'a long thread is read', followed: true, stuck: false, long: true },
]

export interface FollowerPlan {
  readonly thread: string
  readonly transport: 'sse' | 'socket'
  readonly stuck: boolean
  /** The number of the server to connect to; the first one by default. */
  readonly server?: number
  /** Whether that is the server that runs the thread, if this is to be counted. */
  readonly group?: 'same' | 'other'
}

export const threadNames = ({ threads }: Size) => Array.from({ length: threads }, (_, index) => `t${index}`)

/**
 * The stuck followers are four of five on every eighth thread. These threads are long enough to
 * fill the system's buffers at once, and a few of them cost less than many.
 */
export function followersOf(size: Size, { followed, stuck, long }: LoadScenario): FollowerPlan[] {
  const { threads, followers } = size
  const length = followed ? (long ? threads : followers) : 0
  return Array.from({ length }, (_, index) => {
    const thread = index % threads
    const place = Math.floor(index / threads)
    return {
      thread: `t${thread}`,
      transport: (thread + place) % 2 === 0 ? 'sse' : 'socket',
      stuck: stuck && thread % 8 === 0 && place > 0,
    }
  })
}

interface Options {
  readonly store: string
  readonly scenario: readonly string[]
  readonly profile: boolean
}

export const loadPart: Part<Size, Options, LoadResults> = {
  name: 'load',
  title: 'Millrace under load',
  about: 'threads and server under load; eight minutes, 10 s of each scenario with --quick',
  sizes,
  instead: { store: { postgres: postgresPart } },
  options: {
    store: storeOption,
    scenario: namesOption(
      scenarios.map(({ name }) => name),
      'only these scenarios',
    ),
    profile: flagOption('write a CPU profile of the server to bench/.cache/'),
  },
  async run({ size, options, signal, onStep }) {
    const { measureScenario } = await import('./measure-scenario.ts')
    const measured: Measured[] = []
    for (const scenario of scenarios.filter(({ name }) => options.scenario.includes(name)))
      measured.push(
        await measureScenario(scenario, size, {
          signal,
          profile: options.profile,
          onStep: (step) => onStep(`${scenario.title}: ${step}`),
        }),
      )
    return { scenarios: measured }
  },
  tables: tablesOf,
  faults: (results) =>
    results.scenarios.flatMap(({ title, faults }) => faults.map((fault) => `${title}: ${fault}`)),
  /** Scenarios that were not measured again stay, in their order. */
  merge(before, now) {
    const fresh = new Map(now.scenarios.map((scenario) => [scenario.scenario, scenario]))
    const old = new Set(before.scenarios.map(({ scenario }) => scenario))
    const kept = before.scenarios.map((scenario) => fresh.get(scenario.scenario) ?? scenario)
    return { ...now, scenarios: [...kept, ...now.scenarios.filter(({ scenario }) => !old.has(scenario))] }
  },
}
