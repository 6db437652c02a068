import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Child, withChildren } from '../harness/process.ts'
import { allAtRest } from '../load/perform.ts'
import { type Api, api, withFolder } from '../load/world.ts'
import type { ClientsAnswers } from './clients.ts'
import { coresOf, faultsOf, figuresOf, now, type Reading, type Spoken } from './figures.ts'
import { type Scene, type SpeakingSize, threadNames } from './part.ts'
import type { ServerAnswers, ServerConfig } from './server.ts'
import { answerChars } from './texts.ts'

export interface SpeakingOptions {
  readonly signal: AbortSignal
  readonly onStep: (step: string) => void
}

interface World {
  readonly server: Child<ServerAnswers>
  readonly clients: Child<ClientsAnswers>
  readonly api: Api
}

/** So long what should be over may take to be so. What takes longer still hangs. */
const patienceMs = 20_000
const hangsMs = 90_000

/** Plays a scene and measures it. */
export function measureSpeaking(scene: Scene, size: SpeakingSize, options: SpeakingOptions): Promise<Spoken> {
  const limitMs = size.turns * size.turnMs + hangsMs
  const { wordMs, charMs } = size
  return withFolder((folder) =>
    withChildren({ signal: options.signal, limitMs, what: `"${scene.title}"` }, async (start, signal) => {
      const config: ServerConfig = { file: join(folder, 'threads.db'), scene: scene.name, wordMs, charMs }
      const server = start<ServerAnswers>('voice/server.ts', config, { execArgv: ['--expose-gc'] })
      const url = await server.ask('open')
      const clients = start<ClientsAnswers>('voice/clients.ts', { url, isSpoken: scene.isSpoken })
      return play({ server, clients, api: api(url) }, scene, size, { ...options, signal })
    }),
  )
}

async function play(
  world: World,
  scene: Scene,
  size: SpeakingSize,
  { signal, onStep }: SpeakingOptions,
): Promise<Spoken> {
  const { server, clients, api } = world
  const threads = threadNames(size)
  onStep(`${scene.title}: ${threads.length} threads are made, and three clients come to each`)
  for (const thread of threads) await api.create(thread)
  await clients.ask('connect', threads)
  const [held, { rss: start }] = [await server.ask('held'), await server.ask('usage')]
  await server.ask('late')
  const before = await read(world)
  for (let turn = 1; turn <= size.turns; turn++) {
    onStep(`${scene.title}: turn ${turn} of ${size.turns}`)
    await askAll(threads, api, size, signal)
  }
  const after = await read(world)
  const late = await server.ask('late')
  await allAtRest(api, signal)
  await clients.ask('reach', {
    chars: size.turns * answerChars,
    turns: scene.isHeard ? size.turns : 0,
    withinMs: patienceMs,
  })
  const told = {
    said: await server.ask('said'),
    read: await clients.ask('read'),
    heard: await clients.ask('heard'),
  }
  const [more, { rss: end }] = [await server.ask('held'), await server.ask('usage')]
  const atOnce = await clients.ask('mostPlaying')
  // Followers that read raw bytes answer no farewell, and would be waited for.
  await clients.stop()
  await server.ask('close')
  return {
    scene: scene.name,
    title: scene.title,
    threads: size.threads,
    ...figuresOf(told),
    atOnce,
    cores: coresOf(before, after),
    late,
    memory: { start, peak: after.server.peak, end, held: more - held },
    faults: faultsOf(scene, size, told),
  }
}

/** Asks in one thread after the other, and gives all of them the time to answer. */
async function askAll(
  threads: readonly string[],
  api: Api,
  { turnMs, spreadMs }: SpeakingSize,
  signal: AbortSignal,
) {
  const begin = now()
  const sent: Promise<void>[] = []
  for (const [index, thread] of threads.entries()) {
    await wait(Math.max(0, begin + (index * spreadMs) / threads.length - now()), undefined, { signal })
    sent.push(api.send(thread, `${thread} asks where its order is.`))
  }
  await Promise.all(sent)
  await wait(Math.max(0, begin + turnMs - now()), undefined, { signal })
}

async function read({ server, clients }: World): Promise<Reading> {
  const [one, other] = await Promise.all([server.ask('usage'), clients.ask('usage')])
  return { now: now(), server: one, clients: other }
}
