import { setTimeout as wait } from 'node:timers/promises'
import { answer, configOf, usage } from '../harness/answer.ts'
import { type Follower, follower } from '../load/follower.ts'
import { type Mark, now } from './figures.ts'
import { isUnspoken } from './part.ts'
import { type HeardVoice, type VoiceClient, voiceClient } from './voice-client.ts'

// All clients, in their own process. Each thread has two that read and one that plays audio, or
// also reads if the thread is not spoken.

const { url, isSpoken } = configOf<{ url: string; isSpoken: boolean }>()
const readers: { readonly follower: Follower; readonly marks: Mark[] }[] = []
const listeners: { readonly thread: string; readonly client: VoiceClient }[] = []
let mostPlaying = 0

async function read(thread: string, transport: 'sse' | 'socket') {
  const marks: Mark[] = []
  const one = follower({
    plan: { thread, transport, stuck: false },
    url,
    onEntry({ event: { type, text } }) {
      if (type === 'text' && text !== undefined) marks.push([(marks.at(-1)?.[0] ?? 0) + text.length, now()])
    },
  })
  readers.push({ follower: one, marks })
  await one.connected
}

async function listen(thread: string) {
  if (!isSpoken || isUnspoken(thread))
    return follower({ plan: { thread, transport: 'socket', stuck: false }, url, onEntry() {} }).connected
  const client = voiceClient(url, thread)
  listeners.push({ thread, client })
  await client.ready
}

function countPlaying() {
  const playing = listeners.filter(({ client }) => client.isPlaying).length
  mostPlaying = Math.max(mostPlaying, playing)
}
setInterval(countPlaying, 100).unref()

const asked = {
  async connect(threads: readonly string[]) {
    for (const thread of threads)
      await Promise.all([listen(thread), read(thread, 'sse'), read(thread, 'socket')])
  },
  /** Waits until all clients have read these characters and heard these turns, but not forever. */
  async reach({ chars, turns, withinMs }: { chars: number; turns: number; withinMs: number }) {
    const deadline = now() + withinMs
    const isBehind = () =>
      readers.some(({ marks }) => (marks.at(-1)?.[0] ?? 0) < chars) ||
      listeners.some(({ client }) => client.heard.records.length < turns)
    while (isBehind() && now() < deadline) await wait(50)
  },
  read: (): ReadThread[] =>
    readers.map(({ follower: { plan, log }, marks }) => ({
      thread: plan.thread,
      marks,
      faults: log.faults.slice(0, 3),
    })),
  heard: (): HeardThread[] => listeners.map(({ thread, client }) => ({ thread, ...client.heard })),
  mostPlaying: () => mostPlaying,
  usage: usage(),
}
export type ClientsAnswers = typeof asked

/** What a reading client received, and when. */
export interface ReadThread {
  readonly thread: string
  readonly marks: readonly Mark[]
  readonly faults: readonly string[]
}

export interface HeardThread extends HeardVoice {
  readonly thread: string
}
answer(asked)
