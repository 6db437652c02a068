import { setTimeout as wait } from 'node:timers/promises'
import { withChildren } from '../harness/process.ts'
import { messageFor } from './conversation.ts'
import { type Beside, faultsOf, figuresOf, type Measured, type Reading } from './figures.ts'
import { longThread } from './long-thread.ts'
import { type FollowerPlan, followersOf, type Scene, type Size, threadNames } from './part.ts'
import { type Api, openWorld, type World, withFolder } from './world.ts'

export interface PerformOptions {
  readonly signal: AbortSignal
  /** Whether to leave a profile of the server's CPU. */
  readonly profile: boolean
  readonly onStep: (step: string) => void
}

/** What takes so much longer than it should hangs. */
const patienceMs = 400_000
/** So long the last of what is measured may be on its way. */
const arriveMs = 1000
/** So long followers have to read what is left, when nothing new comes. */
const catchUpMs = 60_000

/** Plays a scene and measures it. */
export function perform(scene: Scene, size: Size, options: PerformOptions): Promise<Measured> {
  const limitMs = 2 * size.deltas * size.everyMs + 2 * size.seconds * 1000 + patienceMs
  const { profile, signal: given } = options
  return withFolder((folder) =>
    withChildren({ signal: given, limitMs, what: `"${scene.title}"` }, async (start, signal) => {
      const world = await openWorld({ start, folder, scene, size, profile })
      return measure(world, scene, size, { ...options, signal })
    }),
  )
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
    const { delays, late } = figuresOf(before, after, await followers.ask('tallies'))
    without = { delays, late }
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
    ...(without && reads && { beside: { ...without, entries: size.longEntries, reads } }),
    database: await world.databaseSize(),
    faults: [
      ...faultsOf(logs, { heads, words: await provider.ask('sent') }),
      ...(reads?.faults ?? []).map((fault) => `the long thread: ${fault}`),
    ],
  }
}

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

/** Keeps a run under way in every thread: when one is answered, the next message is sent. */
export interface Talk {
  /** How many answers were told. */
  readonly answers: () => number
  /** Sends nothing more. Rejects if something could not be sent. */
  stop(): Promise<void>
}

/** Begins one thread after the other, so that their runs end one after the other too. Resolves when all have begun. */
export async function talkIn(
  threads: readonly string[],
  { provider, api }: Pick<World, 'provider' | 'api'>,
  spreadMs: number,
): Promise<Talk> {
  const sending = new Set<Promise<void>>()
  let failure: unknown
  let isOver = false
  let answers = 0

  function send(thread: string) {
    if (isOver) return
    const sent = api.send(thread, messageFor(thread, 'talk')).then(
      () => void sending.delete(sent),
      (error: unknown) => {
        failure ??= error
      },
    )
    sending.add(sent)
  }

  provider.onWord((thread) => {
    answers++
    send(thread)
  })
  const begin = performance.now()
  for (const [index, thread] of threads.entries()) {
    await wait(Math.max(0, begin + (index * spreadMs) / threads.length - performance.now()))
    send(thread)
  }
  return {
    answers: () => answers,
    async stop() {
      isOver = true
      await Promise.all(sending)
      if (failure !== undefined) throw failure
    },
  }
}

/** Has some threads tell more than the buffers of a connection hold. */
export async function tellMuch(threads: readonly string[], api: Api, signal: AbortSignal): Promise<void> {
  for (const thread of threads) await api.send(thread, messageFor(thread, 'watch'))
  await allAtRest(api, signal)
}

/** Resolves with the number of each thread's last entry when nothing is under way any more. */
export async function allAtRest(api: Api, signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
  for (;;) {
    signal.throwIfAborted()
    const threads = await api.list()
    if (threads.every(({ status }) => status === 'idle'))
      return Object.fromEntries(threads.map(({ id, head }) => [id, head]))
    await wait(250)
  }
}
