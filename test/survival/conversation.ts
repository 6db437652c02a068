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
import type { Random } from './random.ts'
import { messageText } from './scenario.ts'

/** A client that reads a thread from its start to the end of the test, whatever happens. */
export interface Reader {
  readonly name: string
  readonly entries: readonly Entry[]
  /** The fold of what it has read. */
  readonly state: ThreadState
  /** Resolves when the state matches. Rejects if it can no longer read. */
  until(matches: (state: ThreadState) => boolean): Promise<void>
}

/** Retries for a server that is down most of the time. */
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
        for (const check of waiting) check()
      }
      failure = new Error(`the stream of ${name} ended`)
    } catch (thrown) {
      failure = thrown
    }
    for (const check of waiting) check()
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
    until: (matches) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (matches(state)) resolve()
          else if (failure !== undefined) reject(failure)
          else return
          waiting.delete(check)
        }
        waiting.add(check)
        check()
      }),
  }
}

export interface Conversation {
  readonly id: string
  readonly readers: readonly Reader[]
  /** How many messages were sent. */
  readonly sent: () => number
  /** Resolves when the user sends nothing more and every message has its answer. */
  readonly ended: Promise<void>
}

export interface ConversationOptions {
  readonly id: string
  /** The servers. Each request goes to a random one. */
  readonly urls: readonly string[]
  readonly random: Random
  /** Whether the user continues to send messages. */
  readonly continues: () => boolean
  readonly onEntry?: (entry: Entry) => void
}

/** Follows a thread for some entries at one server, then at another, and so on. */
function movingThread(
  threads: readonly Pick<RemoteThread, 'follow'>[],
  random: Random,
): Pick<RemoteThread, 'follow'> {
  return {
    async *follow({ signal } = {}): AsyncGenerator<Entry, undefined> {
      for (let after = 0; !signal?.aborted; ) {
        let left = random.whole(1, 200)
        for await (const entry of random.pick(threads).follow({ after, signal })) {
          yield entry
          after = entry.seq
          if (--left === 0) break
        }
      }
      return undefined
    },
  }
}

/**
 * A user of an existing thread who sends messages, answers approvals and reads over SSE, one who
 * only reads, over a WebSocket, and one who reads at one server after the other.
 */
export function converse(options: ConversationOptions): Conversation {
  const { id, urls, random, continues, onEntry } = options
  // A server that is shutting down asks for a second.
  const retry = { ...patience, maxDelayMs: 1000 }
  const clients = urls.map((url) => client(url, { retry, timeoutMs: 5000, openMs: 5000 }))
  const any = () => random.pick(clients).thread(id)
  const transports = ['sse', 'websocket'] as const
  const over = (transport: 'sse' | 'websocket', url: string) =>
    client(url, { retry: patience, transport, openMs: 5000 }).thread(id)
  const all = urls.flatMap((url) => transports.map((transport) => over(transport, url)))
  const readers = [
    ...transports.map((transport) =>
      reader(
        `${id} over ${transport}`,
        over(transport, random.pick(urls)),
        transport === 'sse' ? onOwnEntry : onEntry,
      ),
    ),
    reader(`${id} at all servers`, movingThread(all, random)),
  ]
  const [own] = readers as [Reader]
  const failure = Promise.withResolvers<never>()
  let sent = 0

  function onOwnEntry(entry: Entry) {
    onEntry?.(entry)
    if (entry.event.type === 'approval-request') decide(entry.event.callId).catch(failure.reject)
  }

  async function decide(callId: string) {
    // Half of them at once, while the run is about to be suspended.
    if (random.chance(0.5)) await delay(random.whole(0, 400))
    const answer = random.chance(0.7) ? { approved: true } : { approved: false, reason: 'not today' }
    try {
      await any().approve(callId, answer)
    } catch (error) {
      // The round of the tool call may have been retracted. A call that waits forever keeps the
      // thread from ending.
      if (!isMillraceError(error) || !['conflict', 'invalid_input'].includes(error.code)) throw error
    }
  }

  async function say(mode: InputMode) {
    sent++
    const seq = await any().send(messageText(id, sent), { mode, key: `message ${sent}` })
    return () => own.until((state) => state.head >= seq && nextThreadAction(state).type === 'idle')
  }

  async function talk() {
    while (continues()) {
      const answered = await say(random.pick(['queue', 'queue', 'queue', 'steer', 'interrupt']))
      if (random.chance(0.7)) await answered()
      else await delay(random.whole(0, 300))
      if (random.chance(0.1)) await any().stop('enough')
    }
    // The last message also gets the inputs that a stop has left behind.
    await (await say('queue'))()
    const { head } = own.state
    await Promise.all(readers.map((one) => one.until((state) => state.head >= head)))
  }

  return { id, readers, sent: () => sent, ended: Promise.race([talk(), failure.promise]) }
}

/** Its state, for the error message of a timeout. */
export function describeState({ id, sent, readers }: Conversation): string {
  const lines = readers.map(({ name, state, entries }) => {
    const last = entries.slice(-8).map(({ seq, event }) => `${seq} ${event.type}`)
    return `${name}: ${nextThreadAction(state).type} after ${last.join(', ')}`
  })
  return [`${id}, sent ${sent()} messages`, ...lines].join('\n  ')
}

/** Threads of the two agents in turn: `t0`, `t1`, … */
export async function openThreads(url: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `t${index}`)
  for (const [index, id] of ids.entries())
    await client(url).create({ id, agent: index % 2 === 0 ? 'chat' : 'claude' })
  return ids
}

/** The whole log, as a new client reads it. */
export async function readLog(url: string, id: string): Promise<Entry[]> {
  const thread = client(url, { retry: patience }).thread(id)
  const log: Entry[] = []
  for (;;) {
    const page = await thread.read({ after: log.at(-1)?.seq ?? 0, limit: 1000 })
    if (page.length === 0) return log
    log.push(...page)
  }
}
