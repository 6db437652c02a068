import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Child, withChildren } from '../harness/process.ts'
import { allAtRest } from '../load/measure-scenario.ts'
import { type Api, api, withFolder } from '../load/setup.ts'
import type { ClientsAnswers } from './clients.ts'
import { coresOf, faultsOf, figuresOf, now, type Reading, type Spoken } from './figures.ts'
import { type SpeakingSize, threadNames, type VoiceScenario } from './part.ts'
import type { ServerAnswers, ServerConfig } from './server.ts'
import { answerChars } from './texts.ts'

export interface SpeakingOptions {
  readonly signal: AbortSignal
  readonly onStep: (step: string) => void
}

interface Setup {
  readonly server: Child<ServerAnswers>
  readonly clients: Child<ClientsAnswers>
  readonly api: Api
}

/** Time for the last turns to finish, and the time after which a scenario counts as a hang. */
const patienceMs = 20_000
const hangsMs = 90_000

/** Runs a scenario and measures it. */
export function measureSpeaking(
  scenario: VoiceScenario,
  size: SpeakingSize,
  options: SpeakingOptions,
): Promise<Spoken> {
  const limitMs = size.turns * size.turnMs + hangsMs
  const { wordMs, charMs } = size
  return withFolder((folder) =>
    withChildren({ signal: options.signal, limitMs, what: `"${scenario.title}"` }, async (start, signal) => {
      const config: ServerConfig = {
        file: join(folder, 'threads.db'),
        scenario: scenario.name,
        wordMs,
        charMs,
      }
      const server = start<ServerAnswers>('voice/server.ts', config, { execArgv: ['--expose-gc'] })
      const url = await server.ask('open')
      const clients = start<ClientsAnswers>('voice/clients.ts', { url, isSpoken: scenario.isSpoken })
      return play({ server, clients, api: api(url) }, scenario, size, { ...options, signal })
    }),
  )
}

async function play(
  setup: Setup,
  scenario: VoiceScenario,
  size: SpeakingSize,
  { signal, onStep }: SpeakingOptions,
): Promise<Spoken> {
  const { server, clients, api } = setup
  const threads = threadNames(size)
  onStep(`${scenario.title}: creating ${threads.length} threads with three clients each`)
  for (const thread of threads) await api.create(thread)
  await clients.ask('connect', threads)
  const [held, { rss: start }] = [await server.ask('held'), await server.ask('usage')]
  await server.ask('late')
  const before = await read(setup)
  for (let turn = 1; turn <= size.turns; turn++) {
    onStep(`${scenario.title}: turn ${turn} of ${size.turns}`)
    await askAll(threads, api, size, signal)
  }
  const after = await read(setup)
  const late = await server.ask('late')
  await allAtRest(api, signal)
  await clients.ask('reach', {
    chars: size.turns * answerChars,
    turns: scenario.isHeard ? size.turns : 0,
    withinMs: patienceMs,
  })
  const received = {
    said: await server.ask('said'),
    read: await clients.ask('read'),
    heard: await clients.ask('heard'),
  }
  const [more, { rss: end }] = [await server.ask('held'), await server.ask('usage')]
  const atOnce = await clients.ask('mostPlaying')
  // Followers that read raw bytes do not answer a close frame, so the server would wait for them.
  await clients.stop()
  await server.ask('close')
  return {
    scenario: scenario.name,
    title: scenario.title,
    threads: size.threads,
    ...figuresOf(received),
    atOnce,
    cores: coresOf(before, after),
    late,
    memory: { start, peak: after.server.peak, end, held: more - held },
    faults: faultsOf(scenario, size, received),
  }
}

/** Sends a question to one thread after the other, and waits for the answers. */
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

async function read({ server, clients }: Setup): Promise<Reading> {
  const [one, other] = await Promise.all([server.ask('usage'), clients.ask('usage')])
  return { now: now(), server: one, clients: other }
}
