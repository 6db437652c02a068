import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { sseReader } from '../../bench/load/follower.ts'
import type { Random } from '../survival/random.ts'
import { answerText, tokenOf } from './options.ts'

/** An ordinary user of the server, who records everything that goes wrong. */
export interface CallerOptions {
  readonly url: string
  readonly user: string
  readonly random: Random
  readonly isOver: () => boolean
  readonly onDelay: (ms: number) => void
  readonly onFault: (fault: string) => void
  readonly onAnswer: () => void
}

interface SeenEntry {
  readonly seq?: number
  readonly from?: number
  readonly at: number
  readonly event: {
    readonly type: string
    readonly text?: string
    readonly outcome?: string
    readonly status?: string
  }
}

/** A longer request counts as a hang. */
const hangMs = 30_000
const messagesPerThread = 4

export async function call({ url, user, random, isOver, onDelay, onFault, onAnswer }: CallerOptions) {
  const headers = { authorization: `Bearer ${tokenOf(user)}`, 'content-type': 'application/json' }
  let what = ''

  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    what = `${method} ${path}`
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(hangMs),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`the response is ${response.status} ${text}`)
    return text && JSON.parse(text)
  }

  /** Sends a message and waits for the answer, which must be complete. */
  async function converse(thread: string, follower: Follower, number: number) {
    const id = `${user}.${number}`
    await ask('POST', `/threads/${thread}/messages`, { message: `say ${id}` })
    what = `the answer to message ${number} of ${thread}`
    await follower.ended(number)
    if (follower.texts[number - 1] !== answerText(id))
      throw new Error(`is ${JSON.stringify(follower.texts[number - 1])}`)
    onAnswer()
  }

  async function runThread() {
    const thread = randomUUID()
    await ask('POST', '/threads', { id: thread })
    const stop = new AbortController()
    const follow = random.chance(0.5) ? followEvents : followSocket
    const follower = followerOf(onDelay)
    what = `following ${thread}`
    try {
      await inTime(follow({ url, thread, headers, signal: stop.signal, follower }))
      for (let number = 1; number <= messagesPerThread && !isOver(); number++) {
        await converse(thread, follower, number)
        await wait(random.whole(200, 1500))
      }
      const { messages } = (await ask('GET', `/threads/${thread}`)) as { messages: readonly unknown[] }
      const expected = 4 * follower.texts.length
      if (messages.length !== expected) throw new Error(`has ${messages.length} messages, not ${expected}`)
      if (random.chance(0.3)) await ask('GET', '/threads?limit=20')
      if (random.chance(0.3)) await ask('DELETE', `/threads/${thread}`)
    } finally {
      stop.abort()
    }
  }

  await wait(random.whole(0, 2000))
  while (!isOver())
    try {
      await runThread()
    } catch (error) {
      onFault(`${user}: ${what}: ${error instanceof Error ? error.message : error}`)
      await wait(1000)
    }
}

async function inTime(work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('hangs')), hangMs)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

interface Follower {
  /** The words of each run. */
  readonly texts: string[]
  take(json: string): void
  fail(error: Error): void
  /** Resolves when this many runs have ended. Rejects if the log is wrong. */
  ended(runs: number): Promise<void>
}

function followerOf(onDelay: (ms: number) => void): Follower {
  const texts: string[] = []
  let head = 0
  let text = ''
  let failure: Error | undefined
  let check = () => {}
  const fail = (error: Error) => {
    failure ??= error
    check()
  }
  return {
    texts,
    fail,
    take(json) {
      const { seq, from = seq, at, event }: SeenEntry = JSON.parse(json)
      if (seq === undefined || from === undefined) return
      if (from !== head + 1) return fail(new Error(`after ${head} came ${from} to ${seq}`))
      head = seq
      onDelay(Date.now() - at)
      if (event.type === 'text') text += event.text
      if (event.type === 'tool-result' && event.status !== 'ok')
        fail(new Error(`a tool call has the status ${event.status}`))
      if (event.type !== 'run-end') return
      if (event.outcome !== 'completed') fail(new Error(`a run was ${event.outcome}`))
      texts.push(text)
      text = ''
      check()
    },
    ended: (runs) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => fail(new Error(`hangs after ${head}`)), hangMs)
        check = () => {
          if (texts.length < runs && !failure) return
          clearTimeout(timer)
          if (failure) reject(failure)
          else resolve()
        }
        check()
      }),
  }
}

interface FollowOptions {
  readonly url: string
  readonly thread: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly follower: Follower
}

async function followEvents({ url, thread, headers, signal, follower }: FollowOptions) {
  const response = await fetch(`${url}/threads/${thread}/events?after=0`, {
    headers: { ...headers, accept: 'text/event-stream' },
    signal,
  })
  if (!response.ok) throw new Error(`the response is ${response.status}`)
  const read = sseReader(follower.take)
  const decoder = new TextDecoder()
  const reading = async () => {
    for await (const piece of response.body ?? []) read(decoder.decode(piece, { stream: true }))
    throw new Error('the stream has ended')
  }
  reading().catch((error: Error) => signal.aborted || follower.fail(error))
}

function followSocket({ url, thread, headers, signal, follower }: FollowOptions): Promise<void> {
  const { authorization = '' } = headers
  const address = `${url.replace('http', 'ws')}/threads/${thread}/socket?after=0`
  // Node's WebSocket accepts headers; the shared type does not have them.
  const socket = new WebSocket(address, { headers: { authorization } } as never)
  socket.addEventListener('message', ({ data }) => follower.take(String(data)))
  signal.addEventListener('abort', () => socket.close())
  const closed = new Promise<never>((_, reject) =>
    socket.addEventListener('close', ({ code, reason }) =>
      reject(new Error(`the socket was closed with ${code} ${reason}`)),
    ),
  )
  closed.catch((error: Error) => signal.aborted || follower.fail(error))
  return Promise.race([
    closed,
    new Promise<void>((resolve) => socket.addEventListener('open', () => resolve())),
  ])
}
