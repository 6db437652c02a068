import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { RemoteThread } from '../../packages/millrace/src/client/index.ts'
import { client } from '../../packages/millrace/src/client/index.ts'
import type { Entry, InputMode, ThreadState } from '../../packages/millrace/src/protocol/index.ts'
import {
  applyEntry,
  emptyThread,
  isMillraceError,
  nextThreadAction,
} from '../../packages/millrace/src/protocol/index.ts'
import { messageText } from './plot.ts'
import type { Random } from './random.ts'

/** Somebody who reads a thread from its beginning, over whatever happens, to the end of the test. */
export interface Reader {
  readonly name: string
  readonly entries: readonly Entry[]
  /** What it has read, folded. */
  readonly state: ThreadState
  /** Resolves when what it has read is so. Rejects if it cannot read any more. */
  until(isSo: (state: ThreadState) => boolean): Promise<void>
}

/** Patient enough for a server that is away most of the time. */
export const patience = { attempts: 500, baseMs: 20, maxDelayMs: 150 }

export function reader(
  name: string,
  thread: Pick<RemoteThread, 'follow'>,
  onEntry: (entry: Entry) => void = () => {},
): Reader {
  const entries: Entry[] = []
  const state = emptyThread()
  const controller = new AbortController()
  const waiting = new Set<() => void>()
  let failure: unknown

  async function read() {
    try {
      for await (const entry of thread.follow({ signal: controller.signal })) {
        entries.push(entry)
        applyEntry(state, entry)
        onEntry(entry)
        for (const look of waiting) look()
      }
      failure = new Error(`${name} was told that nothing more comes`)
    } catch (thrown) {
      failure = thrown
    }
    for (const look of waiting) look()
  }

  const reading = read()
  onTestFinished(async () => {
    controller.abort()
    await reading
  })
  return {
    name,
    entries,
    state,
    until: (isSo) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (isSo(state)) resolve()
          else if (failure !== undefined) reject(failure)
          else return
          waiting.delete(look)
        }
        waiting.add(look)
        look()
      }),
  }
}

export interface Conversation {
  readonly id: string
  readonly readers: readonly Reader[]
  /** How many messages were sent. */
  readonly said: () => number
  /** Resolves when the user has nothing more to say and all is answered. */
  readonly over: Promise<void>
}

export interface ConversationOptions {
  readonly id: string
  /** The servers: each action goes to any of them. */
  readonly urls: readonly string[]
  readonly random: Random
  /** True for as long as the user has more to say. */
  readonly goesOn: () => boolean
  readonly onEntry?: (entry: Entry) => void
}

/** A user of a thread that is there, who talks, decides when asked, and reads over SSE; and one who only reads, over a WebSocket. */
export function converse(options: ConversationOptions): Conversation {
  const { id, urls, random, goesOn, onEntry } = options
  const clients = urls.map((url) => client(url, { retry: patience, timeoutMs: 5000, openMs: 5000 }))
  const any = () => random.pick(clients).thread(id)
  const readers = (['sse', 'websocket'] as const).map((transport) => {
    const remote = client(random.pick(urls), { retry: patience, transport, openMs: 5000 })
    return reader(`${id} over ${transport}`, remote.thread(id), transport === 'sse' ? hear : onEntry)
  })
  const [own] = readers as [Reader]
  const failure = Promise.withResolvers<never>()
  let said = 0

  function hear(entry: Entry) {
    onEntry?.(entry)
    if (entry.event.type === 'approval-request') decide(entry.event.callId).catch(failure.reject)
  }

  async function decide(callId: string) {
    // Half of them at once, while the run that asks is about to come to rest.
    if (random.chance(0.5)) await delay(random.whole(0, 400))
    const answer = random.chance(0.7) ? { approved: true } : { approved: false, reason: 'not today' }
    try {
      await any().approve(callId, answer)
    } catch (error) {
      // The round in which it was asked may be retracted by now. One that waits for ever shows by never ending.
      if (!isMillraceError(error) || !['conflict', 'invalid_input'].includes(error.code)) throw error
    }
  }

  async function say(mode: InputMode) {
    said++
    const seq = await any().send(messageText(id, said), { mode, key: `message ${said}` })
    return () => own.until((state) => state.head >= seq && nextThreadAction(state).type === 'idle')
  }

  async function talk() {
    while (goesOn()) {
      const answered = await say(random.pick(['queue', 'queue', 'queue', 'steer', 'interrupt']))
      if (random.chance(0.7)) await answered()
      else await delay(random.whole(0, 300))
      if (random.chance(0.1)) await any().stop('enough')
    }
    // The last one hears what a stop has left behind.
    await (await say('queue'))()
    const { head } = own.state
    await Promise.all(readers.map((one) => one.until((state) => state.head >= head)))
  }

  return { id, readers, said: () => said, over: Promise.race([talk(), failure.promise]) }
}

/** Where it stands, for whoever waits for its end in vain. */
export function standing({ id, said, readers }: Conversation): string {
  const lines = readers.map(({ name, state, entries }) => {
    const last = entries.slice(-8).map(({ seq, event }) => `${seq} ${event.type}`)
    return `${name}: ${nextThreadAction(state).type} after ${last.join(', ')}`
  })
  return [`${id}, told ${said()} messages`, ...lines].join('\n  ')
}

/** Threads of both agents by turns: `t0`, `t1`, … */
export async function openThreads(url: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `t${index}`)
  for (const [index, id] of ids.entries())
    await client(url).create({ id, agent: index % 2 === 0 ? 'chat' : 'claude' })
  return ids
}

/** The whole log, as somebody reads it who was never there. */
export async function readLog(url: string, id: string): Promise<Entry[]> {
  const thread = client(url, { retry: patience }).thread(id)
  const log: Entry[] = []
  for (;;) {
    const page = await thread.read({ after: log.at(-1)?.seq ?? 0, limit: 1000 })
    if (page.length === 0) return log
    log.push(...page)
  }
}
