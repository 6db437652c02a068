import { setTimeout as wait } from 'node:timers/promises'
import { longThread } from './long-thread.ts'
import type { Beside, Measured, Reading } from './measured.ts'
import { figuresOf } from './measured.ts'
import type { FollowerPlan, Scene, Size } from './size.ts'
import { followersOf, threadNames } from './size.ts'
import type { Talk } from './talk.ts'
import { allAtRest, talkIn, tellMuch } from './talk.ts'
import { messageFor } from './turn.ts'
import { faultsOf } from './verdict.ts'
import type { World } from './world.ts'
import { openWorld } from './world.ts'

export interface PerformOptions {
  readonly signal: AbortSignal
  /** Where to leave a profile of the server's CPU. */
  readonly profile?: string | undefined
  readonly onStep: (step: string) => void
}

/** What takes so much longer than it should hangs. */
const patienceMs = 400_000
/** So long the last of what is measured may be on its way. */
const arriveMs = 1000
/** So long followers have to read what is left, when nothing new comes. */
const catchUpMs = 60_000

/** Plays a scene and measures it. */
export async function perform(scene: Scene, size: Size, options: PerformOptions): Promise<Measured> {
  const limitMs = 2 * size.deltas * size.everyMs + 2 * size.seconds * 1000 + patienceMs
  const limit = new AbortController()
  const timer = setTimeout(
    () => limit.abort(new Error(`"${scene.title}" was not over after ${limitMs / 1000} s`)),
    limitMs,
  )
  const signal = AbortSignal.any([options.signal, limit.signal])
  const world = await openWorld({ scene, size, profile: options.profile })
  const close = () => void world.close()
  signal.addEventListener('abort', close)
  try {
    return await measure(world, scene, size, { ...options, signal })
  } catch (error) {
    // What broke because everything was ended is not the reason.
    throw signal.aborted ? signal.reason : error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', close)
    await world.close()
  }
}

async function measure(world: World, scene: Scene, size: Size, options: PerformOptions): Promise<Measured> {
  const { provider, server, followers, longReader, api } = world
  const { signal, onStep } = options
  const threads = threadNames(size)
  const plans = followersOf(size, scene)
  onStep('threads are made')
  for (const thread of threads) await api.create(thread)
  const crowded = new Set(plans.filter(({ stuck }) => stuck).map(({ thread }) => thread))
  await tellMuch([...crowded], api, signal)
  if (scene.long) {
    onStep('the long thread is answered once')
    await api.send(longThread, messageFor(longThread, 'greet'))
    await allAtRest(api, signal)
  }
  const { rss: start } = await server.ask('usage')
  onStep(`${plans.length} followers come`)
  const each = await gather(world, plans)

  onStep(`${threads.length} runs begin`)
  const talk = await talkIn(threads, world, size.deltas * size.everyMs)
  const measureOnce = async () => {
    onStep(`it is measured for ${size.seconds} s`)
    await followers.ask('begin')
    const before = await read(world, talk)
    await wait(size.seconds * 1000, undefined, { signal })
    const after = await read(world, talk)
    await followers.ask('end')
    return { before, after }
  }
  let without: Pick<Beside, 'delays' | 'late'> | undefined
  if (scene.long) {
    const { before, after } = await measureOnce()
    await wait(arriveMs, undefined, { signal })
    without = figuresOf(before, after, await followers.ask('tallies'))
    onStep(`a thread of ${size.longEntries} entries is read`)
    await longReader?.ask('begin', { thread: longThread, entries: size.longEntries })
  }
  const { before, after } = await measureOnce()
  const reads = await longReader?.ask('end')
  await talk.stop()

  onStep('the last runs end')
  const heads = await allAtRest(api, signal)
  await followers.ask('awaken')
  await followers.ask('reach', { heads, withinMs: catchUpMs })
  const tallies = await followers.ask('tallies')
  // Whoever comes when all is over is told the same as those who were there.
  const latecomers = threads.map((thread): FollowerPlan => ({ thread, transport: 'sse', stuck: false }))
  await followers.ask('connect', latecomers)
  await followers.ask('reach', { heads, withinMs: catchUpMs })
  const logs = await followers.ask('logs')
  const { rss: end } = await server.ask('usage')
  await server.ask('close')
  return {
    scene: scene.name,
    title: scene.title,
    threads: threads.length,
    followers: plans.length,
    ...figuresOf(before, after, tallies),
    memory: { start, peak: after.server.peak, end, each: scene.stuck ? undefined : each },
    ...(without && reads && { beside: { ...beforeOf(without), entries: size.longEntries, reads } }),
    database: await world.databaseSize(),
    faults: [
      ...faultsOf(logs, { heads, words: await provider.ask('sent') }),
      ...(reads?.faults ?? []).map((fault) => `the long thread: ${fault}`),
    ],
  }
}

const beforeOf = ({ delays, late }: Pick<Beside, 'delays' | 'late'>) => ({ delays, late })

/** Has all come, and tells what each takes. The first few show the server what it will need for all of them. */
async function gather({ server, followers }: World, plans: readonly FollowerPlan[]) {
  const few = Math.ceil(plans.length / 10)
  await followers.ask('connect', plans.slice(0, few))
  const before = await server.ask('held')
  await followers.ask('connect', plans.slice(few))
  const after = await server.ask('held')
  return plans.length > few ? (after - before) / (plans.length - few) : undefined
}

async function read({ server, provider, followers, api }: World, talk: Talk): Promise<Reading> {
  const [words, threads, late, ...usages] = await Promise.all([
    provider.ask('total'),
    api.list(),
    server.ask('late'),
    server.ask('usage'),
    provider.ask('usage'),
    followers.ask('usage'),
  ])
  return {
    now: performance.now(),
    runs: talk.answers(),
    words,
    written: threads.reduce((sum, { head }) => sum + head, 0),
    late,
    server: usages[0],
    provider: usages[1],
    followers: usages[2],
  }
}
