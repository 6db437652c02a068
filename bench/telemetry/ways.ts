import type { Session, Wire } from '../contract.ts'
import type { Mode } from '../harness/part.ts'
import { allWires } from '../works/work.ts'

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

/** In which way a run is looked on at. */
export type WayName =
  | 'nobody'
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
  /** The only works for which it makes a difference, if not all. */
  readonly only?: WorkName
  /** Which of its traces are sent. Metrics always are, if any trace is. */
  readonly sends: 'all' | 'some' | 'nothing'
}

/** What the others are held against. */
export const base: WayName = 'nobody'

/** Where all else costs least, so that this shows most. */
const once: readonly Wire[] = ['messages']

export const ways: readonly Way[] = [
  { name: 'nobody', title: 'nobody looks on', wires: allWires, sends: 'nothing' },
  { name: 'otel', title: '`otel()`, all of it', wires: allWires, sends: 'all' },
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

/** What is done, as in the comparison with others. */
export interface LookedAt {
  readonly name: WorkName
  readonly title: (size: Size) => string
  /** What its CPU time is counted by, and how many of that one play has. */
  readonly unit: string
  readonly units: (size: Size) => number
  readonly scenario: (size: Size) => string
  readonly how: keyof Session
  /** One play makes so many: the run, its model calls, its tools. */
  readonly spans: number
}

export const works: readonly LookedAt[] = [
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

export function lookedAt(name: WorkName): LookedAt {
  const found = works.find((work) => work.name === name)
  if (!found) throw new Error(`there is no work ${name}`)
  return found
}
