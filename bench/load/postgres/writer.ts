import type { ThreadEvent } from 'millrace'
import type { Batch, Lease, ThreadStore } from 'millrace/store'
import { answer, configOf, usage } from '../../harness/answer.ts'
import { type Counts, histogram } from '../../harness/measure.ts'
import { wordDeltas } from '../../server/scenario.ts'
import { openStore, type StorePlace } from '../open-store.ts'
import { plainWriter } from '../plain-writer.ts'

// Appends to a store, or with plain inserts, as fast as it can: one group after the other, as an app
// does that always has something to write.

export interface WriterConfig {
  readonly place: StorePlace
  /** Makes the threads of all processes different. */
  readonly name: string
  /** How many threads a group has. */
  readonly threads: number
}

/** How many entries were written in how long, and how long each group took. */
export interface Written {
  readonly entries: number
  readonly ms: number
  readonly times: Counts
}

const { place, name, threads } = configOf<WriterConfig>()
const leaseMs = 3_600_000
const ids = Array.from({ length: threads }, (_, index) => `${name}-${index}`)
/** Entries of about 20 characters of text. */
const texts =
  wordDeltas(4 * 1024)
    .join('')
    .match(/.{20}/gs) ?? []
let used = 0
const nextEvents = (count: number): ThreadEvent[] =>
  Array.from({ length: count }, () => ({ type: 'text', text: texts[used++ % texts.length] ?? '' }))

interface Writer {
  /** Writes one group, with this many events for each thread. */
  write(events: number): Promise<void>
  /** Returns how many entries are stored. */
  close(): Promise<number>
}

async function open(): Promise<Writer> {
  if (place.kind === 'floor') {
    const writer = await plainWriter(place.url)
    return {
      write: (events) => writer.insert(ids.map((thread) => ({ thread, events: nextEvents(events) }))),
      async close() {
        const count = await writer.count()
        await writer.close()
        return count
      },
    }
  }
  const store = openStore(place)
  const leases = await Promise.all(ids.map((id) => claimed(store, id)))
  let number = 0
  return {
    async write(events) {
      number++
      const batches = leases.map((lease): Batch => ({ lease, number, events: nextEvents(events) }))
      const results = await store.append(batches)
      if (results.some((result) => typeof result === 'string')) throw new Error('a batch was rejected')
    },
    async close() {
      const heads = await store.heads(ids)
      await store.close()
      // Each log starts with a message.
      return [...heads.values()].reduce((sum, head) => sum + head - 1, 0)
    },
  }
}

/** A new thread, with a caller of its own. */
async function claimed(store: ThreadStore, id: string): Promise<Lease> {
  await store.create({ id, agent: 'desk', caller: id })
  await store.signal(id, 'first', {
    type: 'input',
    message: { role: 'user', content: 'Go.' },
    mode: 'queue',
  })
  const claim = await store.claim(id, name, leaseMs)
  if (!claim) throw new Error(`cannot claim ${id}`)
  return claim.lease
}

let opened: Writer | undefined

const asked = {
  async open() {
    opened = await open()
  },
  async write({ events, seconds }: { events: number; seconds: number }): Promise<Written> {
    const times = histogram()
    const begin = performance.now()
    let now = begin
    let groups = 0
    for (; now < begin + seconds * 1000; groups++) {
      await opened?.write(events)
      const after = performance.now()
      times.add(after - now)
      now = after
    }
    return { entries: groups * threads * events, ms: now - begin, times: times.counts() }
  },
  /** Returns how many entries are stored. */
  close: async () => (await opened?.close()) ?? 0,
  usage: usage(),
}
export type WriterAnswers = typeof asked
answer(asked)
