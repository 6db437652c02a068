import { flagOption, namesOption } from '../harness/options.ts'
import type { Mode, Part } from '../harness/part.ts'
import { type LoadResults, type Measured, tablesOf } from './figures.ts'

export interface Size {
  readonly threads: number
  /** Half of them over SSE, half over WebSockets, spread over all threads. */
  readonly followers: number
  /** So many words an answer has, one in so many milliseconds. */
  readonly deltas: number
  readonly everyMs: number
  /** How long it is measured, when all are under way. */
  readonly seconds: number
  /** So many entries the long thread has. */
  readonly longEntries: number
}

const large = { threads: 200, followers: 1000, deltas: 500, everyMs: 20, longEntries: 1_000_000 }

export const sizes: Readonly<Record<Mode, Size>> = {
  full: { ...large, seconds: 60 },
  quick: { ...large, seconds: 10, longEntries: 200_000 },
  tiny: { threads: 5, followers: 20, deltas: 40, everyMs: 10, seconds: 2, longEntries: 1000 },
}

/** One thing to measure: the same runs, followed in different ways. */
export interface Scene {
  readonly name: string
  readonly title: string
  readonly followed: boolean
  /** One follower in ten never reads. */
  readonly stuck: boolean
  /** Measured twice: with each thread followed once, and then with a reader of a very long thread beside that. */
  readonly long: boolean
}

export const scenes: readonly Scene[] = [
  { name: 'alone', title: 'nobody follows', followed: false, stuck: false, long: false },
  { name: 'followed', title: 'all read', followed: true, stuck: false, long: false },
  { name: 'stuck', title: 'one in ten never reads', followed: true, stuck: true, long: false },
  { name: 'long', title: 'a long thread is read', followed: true, stuck: false, long: true },
]

export interface FollowerPlan {
  readonly thread: string
  readonly transport: 'sse' | 'socket'
  readonly stuck: boolean
}

export const threadNames = ({ threads }: Size) => Array.from({ length: threads }, (_, index) => `t${index}`)

/**
 * Those that never read sit together, four of five on one thread in eight: each of these threads has so much to tell that the buffers of
 * the system are full at once, and a few such threads weigh less than many.
 */
export function followersOf(size: Size, { followed, stuck, long }: Scene): FollowerPlan[] {
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
  readonly scene: readonly string[]
  readonly profile: boolean
}

export const loadPart: Part<Size, Options, LoadResults> = {
  name: 'load',
  title: 'Millrace under load',
  about: 'threads and server under load; eight minutes, 10 s of each scene with --quick',
  sizes,
  options: {
    scene: namesOption(
      scenes.map(({ name }) => name),
      'only these scenes',
    ),
    profile: flagOption("leave a profile of the server's CPU in bench/.cache/"),
  },
  async run({ size, options, signal, onStep }) {
    const { perform } = await import('./perform.ts')
    const measured: Measured[] = []
    for (const scene of scenes.filter(({ name }) => options.scene.includes(name)))
      measured.push(
        await perform(scene, size, {
          signal,
          profile: options.profile,
          onStep: (step) => onStep(`${scene.title}: ${step}`),
        }),
      )
    return { scenes: measured }
  },
  tables: tablesOf,
  faults: (results) =>
    results.scenes.flatMap(({ title, faults }) => faults.map((fault) => `${title}: ${fault}`)),
  /** Scenes that were not played again stay as they were, in their order. */
  merge(before, now) {
    const fresh = new Map(now.scenes.map((scene) => [scene.scene, scene]))
    const old = new Set(before.scenes.map(({ scene }) => scene))
    const kept = before.scenes.map((scene) => fresh.get(scene.scene) ?? scene)
    return { ...now, scenes: [...kept, ...now.scenes.filter(({ scene }) => !old.has(scene))] }
  },
}
