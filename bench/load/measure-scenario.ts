import { setTimeout as wait } from 'node:timers/promises'
import { withChildren } from '../harness/process.ts'
import { messageFor } from './conversation.ts'
import { type Baseline, faultsOf, figuresOf, type Measured, type Reading } from './figures.ts'
import { longThread } from './long-thread.ts'
import { type FollowerPlan, followersOf, type LoadScenario, type Size, threadNames } from './part.ts'
import { type Api, type Setup, startSetup, withFolder } from './setup.ts'

export interface MeasureOptions {
  readonly signal: AbortSignal
  /** Whether to write a CPU profile of the server. */
  readonly profile: boolean
  readonly onStep: (step: string) => void
}

/** A scenario that takes this much longer than planned counts as a hang. */
const patienceMs = 400_000
/** Time for the last measured entries to arrive. */
const arriveMs = 1000
/** Time for followers to catch up, when nothing new comes. */
const catchUpMs = 60_000

/** Runs a scenario and measures it. */
export function measureScenario(
  scenario: LoadScenario,
  size: Size,
  options: MeasureOptions,
): Promise<Measured> {
  const limitMs = 2 * size.deltas * size.everyMs + 2 * size.seconds * 1000 + patienceMs
  const { profile, signal: given } = options
  return withFolder((folder) =>
    withChildren({ signal: given, limitMs, what: `"${scenario.title}"` }, async (start, signal) => {
      const setup = await startSetup({ start, folder, scenario, size, profile })
      return measure(setup, scenario, size, { ...options, signal })
    }),
  )
}

async function measure(
  setup: Setup,
  scenario: LoadScenario,
  size: Size,
  options: MeasureOptions,
): Promise<Measured> {
  const { provider, server, followers, longReader, api } = setup
  const { signal, onStep } = options
  const threads = threadNames(size)
  const plans = followersOf(size, scenario)
  onStep('creating threads')
  for (const thread of threads) await api.create(thread)
  const crowded = new Set(plans.filter(({ stuck }) => stuck).map(({ thread }) => thread))
  await fillThreads([...crowded], api, signal)
  if (scenario.long) {
    onStep('answering the long thread once')
    await api.send(longThread, messageFor(longThread, 'greet'))
    await allAtRest(api, signal)
  }
  const { rss: start } = await server.ask('usage')
  onStep(`connecting ${plans.length} followers`)
  const each = await connectAll(setup, plans)

  onStep(`starting ${threads.length} runs`)
  const talk = await talkIn(threads, setup, size.deltas * size.everyMs)
  const measureOnce = async () => {
    onStep(`measuring for ${size.seconds} s`)
    await followers.ask('begin')
    const before = await read(setup, talk)
    await wait(size.seconds * 1000, undefined, { signal })
    const after = await read(setup, talk)
    await followers.ask('end')
    return { before, after }
  }
  let baseline: Pick<Baseline, 'delays' | 'late'> | undefined
  if (scenario.long) {
    const { before, after } = await measureOnce()
    await wait(arriveMs, undefined, { signal })
    const { delays, late } = figuresOf(before, after, await followers.ask('tallies'))
    baseline = { delays, late }
    onStep(`reading a thread of ${size.longEntries} entries`)
    await longReader?.ask('begin', { thread: longThread, entries: size.longEntries })
  }
  const { before, after } = await measureOnce()
  const reads = await longReader?.ask('end')
  await talk.stop()

  onStep('waiting for the last runs')
  const heads = await allAtRest(api, signal)
  await followers.ask('startReading')
  await followers.ask('catchUp', { heads, withinMs: catchUpMs })
  const tallies = await followers.ask('tallies')
  // A follower that connects at the end must receive the same log.
  const latecomers = threads.map((thread): FollowerPlan => ({ thread, transport: 'sse', stuck: false }))
  await followers.ask('connect', latecomers)
  await followers.ask('catchUp', { heads, withinMs: catchUpMs })
  const logs = await followers.ask('logs')
  const { rss: end } = await server.ask('usage')
  await server.ask('close')
  return {
    scenario: scenario.name,
    title: scenario.title,
    threads: threads.length,
    followers: plans.length,
    ...figuresOf(before, after, tallies),
    memory: { start, peak: after.server.peak, end, each: scenario.stuck ? undefined : each },
    ...(baseline && reads && { baseline: { ...baseline, entries: size.longEntries, reads } }),
    database: await setup.databaseSize(),
    faults: [
      ...faultsOf(logs, { heads, words: await provider.ask('sent') }),
      ...(reads?.faults ?? []).map((fault) => `the long thread: ${fault}`),
    ],
  }
}

/** Connects all followers and returns the memory of each. The first tenth warms the server up. */
async function connectAll({ server, followers }: Setup, plans: readonly FollowerPlan[]) {
  const few = Math.ceil(plans.length / 10)
  await followers.ask('connect', plans.slice(0, few))
  const before = await server.ask('held')
  await followers.ask('connect', plans.slice(few))
  const after = await server.ask('held')
  return plans.length > few ? (after - before) / (plans.length - few) : undefined
}

async function read({ server, provider, followers, api }: Setup, talk: Talk): Promise<Reading> {
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

/** Keeps a run active in every thread: after each answer, it sends the next message. */
export interface Talk {
  /** How many answers were completed. */
  readonly answers: () => number
  /** Stops sending. Rejects if a message could not be sent. */
  stop(): Promise<void>
}

/**
 * Starts the threads one after the other, so that their runs end at different times. Resolves when
 * all have started.
 */
export async function talkIn(
  threads: readonly string[],
  { provider, api }: Pick<Setup, 'provider' | 'api'>,
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

/** Fills threads with more than the buffers of a connection hold. */
export async function fillThreads(threads: readonly string[], api: Api, signal: AbortSignal): Promise<void> {
  for (const thread of threads) await api.send(thread, messageFor(thread, 'watch'))
  await allAtRest(api, signal)
}

/** Waits until all threads are idle. Returns the number of each thread's last entry. */
export async function allAtRest(api: Api, signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
  for (;;) {
    signal.throwIfAborted()
    const threads = await api.list()
    if (threads.every(({ status }) => status === 'idle'))
      return Object.fromEntries(threads.map(({ id, head }) => [id, head]))
    await wait(250)
  }
}
