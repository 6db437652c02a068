import type { Session, Wire } from '../contract.ts'
import type { Mode } from '../harness/part.ts'
import { allWires } from '../workloads/workload.ts'

/** How often a workload runs. */
export interface Repetitions {
  /** How long it runs before it is measured. */
  readonly warmMs: number
  /** How often it runs in one turn. */
  readonly plays: number
}

export interface Size {
  /** How often fresh processes are started for each workload, wire and kind of telemetry. */
  readonly sets: number
  /** How many turns each process takes. */
  readonly turns: number
  /** Deltas of the long answer. */
  readonly deltas: number
  readonly text: Repetitions
  readonly loop: Repetitions
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

/** The kinds of telemetry that are compared. */
export type WayName =
  | 'none'
  | 'cost'
  | 'otel'
  | 'by-hand'
  | 'json'
  | 'tenth'
  | 'without-chunks'
  | 'content'
  | 'no-sdk'
  | 'logs'

export interface Way {
  readonly name: WayName
  readonly title: string
  readonly wires: readonly Wire[]
  /** The only workload for which it makes a difference, if not both. */
  readonly only?: WorkName
  /** Which traces are sent. Metrics are sent if any trace is. */
  readonly sends: 'all' | 'some' | 'nothing'
}

/** What the others are compared with. */
export const base: WayName = 'none'

/** The cheapest wire, where telemetry weighs most. */
const once: readonly Wire[] = ['messages']

export const ways: readonly Way[] = [
  { name: 'none', title: 'no telemetry', wires: allWires, sends: 'nothing' },
  { name: 'cost', title: 'no telemetry, with costs and budgets', wires: allWires, sends: 'nothing' },
  { name: 'otel', title: '`otel()`', wires: allWires, sends: 'all' },
  { name: 'by-hand', title: 'floor: the same, by hand', wires: once, sends: 'all' },
  { name: 'json', title: '`otel()`, sent as JSON', wires: once, only: 'loop', sends: 'all' },
  { name: 'tenth', title: '`otel()`, one trace in ten', wires: once, only: 'loop', sends: 'some' },
  {
    name: 'without-chunks',
    title: '`otel()`, without the time between chunks',
    wires: once,
    only: 'text',
    sends: 'all',
  },
  { name: 'content', title: '`otel({ content: true })`', wires: once, sends: 'all' },
  { name: 'no-sdk', title: '`otel()`, no SDK registered', wires: once, sends: 'nothing' },
  { name: 'logs', title: '`logs(console)`', wires: once, sends: 'nothing' },
]

export type WorkName = 'text' | 'loop'

/** A workload of the comparison with other clients. */
export interface Workload {
  readonly name: WorkName
  readonly title: (size: Size) => string
  /** The unit of CPU time, and how many units one play has. */
  readonly unit: string
  readonly units: (size: Size) => number
  readonly scenario: (size: Size) => string
  readonly how: keyof Session
  /** The spans of one play: the run, its model calls, its tool calls. */
  readonly spans: number
}

export const workloads: readonly Workload[] = [
  {
    name: 'text',
    title: ({ deltas }) => `One long answer: ${deltas.toLocaleString('en')} text deltas`,
    unit: 'delta',
    units: ({ deltas }) => deltas,
    scenario: ({ deltas }) => `text-${deltas}`,
    how: 'answer',
    spans: 2,
  },
  {
    name: 'loop',
    title: () => 'A loop with tools: two rounds, three parallel calls',
    unit: 'loop',
    units: () => 1,
    scenario: () => 'loop-20',
    how: 'loop',
    spans: 6,
  },
]

export function workloadOf(name: WorkName): Workload {
  const found = workloads.find((work) => work.name === name)
  if (!found) throw new Error(`unknown workload ${name}`)
  return found
}
