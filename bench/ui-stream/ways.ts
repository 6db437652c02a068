import type { Mode } from '../harness/part.ts'

export interface Size {
  /** How often fresh processes are started. */
  readonly sets: number
  /** How many turns each process takes. */
  readonly turns: number
  /** How long each runs before it is measured. */
  readonly warmMs: number
  readonly long: { readonly deltas: number; readonly plays: number }
  readonly paced: { readonly streams: number; readonly deltas: number; readonly everyMs: number }
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    sets: 5,
    turns: 3,
    warmMs: 3000,
    long: { deltas: 20_000, plays: 2 },
    paced: { streams: 100, deltas: 200, everyMs: 20 },
  },
  quick: {
    sets: 1,
    turns: 3,
    warmMs: 1500,
    long: { deltas: 20_000, plays: 2 },
    paced: { streams: 100, deltas: 100, everyMs: 20 },
  },
  tiny: {
    sets: 1,
    turns: 1,
    warmMs: 0,
    long: { deltas: 200, plays: 1 },
    paced: { streams: 3, deltas: 5, everyMs: 5 },
  },
}

/** How an answer becomes a UI message stream. */
export type WayName = 'floor' | 'ai-sdk' | 'ai-sdk-pipe' | 'response' | 'protocol'

export interface Way {
  readonly name: WayName
  readonly title: string
  readonly ours: boolean
}

/** What the others are compared with. */
export const base: WayName = 'ai-sdk'

export const ways: readonly Way[] = [
  { name: 'floor', title: 'floor: by hand', ours: false },
  { name: 'ai-sdk', title: 'AI SDK, `toUIMessageStreamResponse()`', ours: false },
  { name: 'ai-sdk-pipe', title: 'AI SDK, `pipeUIMessageStreamToResponse()`', ours: false },
  { name: 'response', title: 'Millrace, `toUIMessageResponse()`', ours: true },
  { name: 'protocol', title: 'Millrace, `serve()` with `aiSdkUi()`', ours: true },
]

export type WorkName = 'long' | 'paced'

export interface Workload {
  readonly name: WorkName
  readonly title: (size: Size) => string
  /** A scenario of the provider. */
  readonly scenario: (size: Size) => string
  /** The answers of one turn, how many of them at once, and the deltas of each. */
  readonly answers: (size: Size) => {
    readonly count: number
    readonly atOnce: number
    readonly deltas: number
  }
}

export const workloads: readonly Workload[] = [
  {
    name: 'long',
    title: ({ long }) => `One long answer: ${long.deltas.toLocaleString('en')} text deltas`,
    scenario: ({ long }) => `text-${long.deltas}`,
    answers: ({ long: { plays, deltas } }) => ({ count: plays, atOnce: 1, deltas }),
  },
  {
    name: 'paced',
    title: ({ paced: { streams, everyMs } }) =>
      `${streams} answers at once, each a delta every ${everyMs} ms`,
    scenario: ({ paced: { deltas, everyMs } }) => `streams-${deltas}-${everyMs}`,
    answers: ({ paced: { streams, deltas } }) => ({ count: streams, atOnce: streams, deltas }),
  },
]

export function workloadOf(name: WorkName): Workload {
  const found = workloads.find((work) => work.name === name)
  if (!found) throw new Error(`unknown workload ${name}`)
  return found
}
