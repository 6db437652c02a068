import { setTimeout as wait } from 'node:timers/promises'
import { answer, configOf } from '../harness/answer.ts'
import { messageFor } from './conversation.ts'
import { sseReader } from './follower.ts'

// Reads a very long thread repeatedly, in every way there is, in its own process.

const { url } = configOf<{ url: string }>()

/** The pause before the same read again. */
const pauseMs = 100
/** A longer read counts as a hang. */
const hangMs = 120_000
/** A stream is closed after this many bytes; the next one starts over. */
const streamBytes = 16 * 2 ** 20

/** How long each read took, in milliseconds, and what went wrong. */
export interface Reads {
  readonly kinds: readonly { readonly kind: string; readonly times: readonly number[] }[]
  readonly faults: readonly string[]
}

interface Long {
  readonly thread: string
  readonly entries: number
}

interface Page {
  readonly entries: readonly { readonly seq: number; readonly from?: number }[]
}

async function get(path: string, init: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(hangMs)
  const response = await fetch(`${url}/threads/${path}`, { ...init, signal })
  if (!response.ok) throw new Error(`${path} responded ${response.status} ${await response.text()}`)
  return response
}

/** Where the next page starts. */
let page = 0

const kinds: Readonly<Record<string, (long: Long) => Promise<void>>> = {
  async state({ thread }) {
    await (await get(thread)).text()
  },
  async page({ thread, entries: most }) {
    const headers = { accept: 'application/json' }
    const { entries } = (await (
      await get(`${thread}/events?after=${page}&limit=1000`, { headers })
    ).json()) as Page
    const [first] = entries
    if (first && (first.from ?? first.seq) !== page + 1)
      throw new Error(`after ${page} came ${first.from ?? first.seq}`)
    const last = entries.at(-1)?.seq ?? most
    page = last < most ? last : 0
  },
  async stream({ thread, entries }) {
    await readStream(await get(`${thread}/events?after=0`, { headers: { accept: 'text/event-stream' } }), {
      after: 0,
      upTo: entries,
    })
  },
  async message({ thread }) {
    const response = await get(`${thread}/messages`, {
      method: 'POST',
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ message: messageFor(thread, 'greet') }),
    })
    await readStream(response, {})
  },
}

/** Reads to the end, or up to an entry. Checks that the numbers have no gaps. */
async function readStream(response: Response, { after, upTo = Infinity }: { after?: number; upTo?: number }) {
  let head = after
  let bytes = 0
  const read = sseReader((json) => {
    // Only the number: parsing megabytes would take CPU time from the measured server.
    const [, seq = '', from = seq] = /^\{"seq":(\d+)(?:,"from":(\d+))?/.exec(json) ?? []
    if (head !== undefined && Number(from) !== head + 1) throw new Error(`after ${head} came ${from}`)
    head = Number(seq)
  })
  for await (const piece of response.body ?? []) {
    bytes += piece.length
    read(Buffer.from(piece).toString('latin1'))
    if ((head ?? 0) >= upTo || (upTo < Infinity && bytes >= streamBytes)) break
  }
}

const times = new Map<string, number[]>()
const faults: string[] = []
let isOver = false
let reading: Promise<unknown> = Promise.resolve()

async function repeat(kind: string, read: (long: Long) => Promise<void>, long: Long) {
  const own: number[] = []
  times.set(kind, own)
  while (!isOver) {
    const begin = performance.now()
    try {
      await read(long)
      own.push(performance.now() - begin)
    } catch (error) {
      faults.push(`${kind}: ${error instanceof Error ? error.message : error}`)
    }
    await wait(pauseMs)
  }
}

const asked = {
  begin(long: Long) {
    reading = Promise.all(Object.entries(kinds).map(([kind, read]) => repeat(kind, read, long)))
  },
  async end(): Promise<Reads> {
    isOver = true
    await reading
    return { kinds: Array.from(times, ([kind, own]) => ({ kind, times: own })), faults: faults.slice(0, 3) }
  },
}
export type LongReaderAnswers = typeof asked
answer(asked)
