import type { Wire } from '../contract.ts'
import type { Mode } from '../harness/part.ts'

export interface Size {
  /** How often fresh processes are started. */
  readonly sets: number
  /** How many turns each process takes. */
  readonly turns: number
  /** How long each runs before it is measured. The AI SDK takes 10 s until its cost is stable. */
  readonly warmMs: number
  /**
   * How long a turn takes at least. A fixed number of answers would be too short for the cheap ones:
   * a proxy needs 25 ms for a long answer.
   */
  readonly turnMs: number
  readonly long: { readonly deltas: number }
  readonly paced: { readonly streams: number; readonly deltas: number; readonly everyMs: number }
}

export const sizes: Readonly<Record<Mode, Size>> = {
  full: {
    sets: 3,
    turns: 3,
    warmMs: 10_000,
    turnMs: 2000,
    long: { deltas: 20_000 },
    paced: { streams: 100, deltas: 200, everyMs: 20 },
  },
  quick: {
    sets: 1,
    turns: 2,
    warmMs: 5000,
    turnMs: 1500,
    long: { deltas: 20_000 },
    paced: { streams: 100, deltas: 100, everyMs: 20 },
  },
  tiny: {
    sets: 1,
    turns: 1,
    warmMs: 0,
    turnMs: 0,
    long: { deltas: 200 },
    paced: { streams: 3, deltas: 5, everyMs: 5 },
  },
}

export type RouteName = Wire | 'chat-from-messages' | 'messages-from-chat'

/** The format that a client speaks, and the one of the provider behind the gateway. */
export interface Route {
  readonly name: RouteName
  readonly title: string
  readonly client: Wire
  readonly provider: Wire
}

export const routes: readonly Route[] = [
  { name: 'chat', title: 'Chat', client: 'chat', provider: 'chat' },
  { name: 'responses', title: 'Responses', client: 'responses', provider: 'responses' },
  { name: 'messages', title: 'Messages', client: 'messages', provider: 'messages' },
  { name: 'chat-from-messages', title: 'Messages to Chat', client: 'chat', provider: 'messages' },
  { name: 'messages-from-chat', title: 'Chat to Messages', client: 'messages', provider: 'chat' },
]

const sameFormat: readonly RouteName[] = ['chat', 'responses', 'messages']

export type WayName = 'proxy' | 'portkey' | 'llms' | 'ai-sdk' | 'memory' | 'sqlite'

/** A gateway. */
export interface Way {
  readonly name: WayName
  readonly title: string
  readonly ours: boolean
  /** The package that it needs, from `bench/package.json`. */
  readonly needs?: string
  readonly routes: readonly RouteName[]
}

/** What the others are compared with, where it can do the same. */
export const base: WayName = 'proxy'

const all = routes.map(({ name }) => name)

export const ways: readonly Way[] = [
  { name: 'proxy', title: 'floor: a bare reverse proxy', ours: false, routes: sameFormat },
  {
    name: 'portkey',
    title: 'Portkey gateway',
    ours: false,
    needs: '@portkey-ai/gateway',
    routes: [...sameFormat, 'chat-from-messages'],
  },
  {
    name: 'llms',
    title: 'llms, of Claude Code Router',
    ours: false,
    needs: '@musistudio/llms',
    routes: [...sameFormat, 'messages-from-chat'],
  },
  { name: 'ai-sdk', title: 'AI SDK, `streamText` by hand', ours: false, routes: all },
  { name: 'memory', title: 'Millrace, in memory', ours: true, routes: all },
  { name: 'sqlite', title: 'Millrace, SQLite and recordings', ours: true, routes: all },
]

export type WorkName = 'long' | 'paced'

export interface Workload {
  readonly name: WorkName
  readonly title: (size: Size) => string
  /** A scenario of the provider. */
  readonly scenario: (size: Size) => string
  /** How many answers are read at once, and the deltas of each. */
  readonly answers: (size: Size) => { readonly atOnce: number; readonly deltas: number }
}

export const workloads: readonly Workload[] = [
  {
    name: 'long',
    title: ({ long }) => `CPU per delta of one long answer: ${long.deltas.toLocaleString('en')} text deltas`,
    scenario: ({ long }) => `text-${long.deltas}`,
    answers: ({ long: { deltas } }) => ({ atOnce: 1, deltas }),
  },
  {
    name: 'paced',
    title: ({ paced: { streams, everyMs } }) =>
      `CPU per delta of ${streams} answers at once, each a delta every ${everyMs} ms`,
    scenario: ({ paced: { deltas, everyMs } }) => `streams-${deltas}-${everyMs}`,
    answers: ({ paced: { streams, deltas } }) => ({ atOnce: streams, deltas }),
  },
]

export function workloadOf(name: WorkName): Workload {
  const found = workloads.find((work) => work.name === name)
  if (!found) throw new Error(`unknown workload ${name}`)
  return found
}
