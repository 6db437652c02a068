import type { Entry, JsonObject } from '../../protocol/index.ts'
import { rememberJson } from '../entry-json.ts'
import { patchesIn } from '../patched.ts'
import type { CountedSpend } from '../spending.ts'
import { spendsIn } from '../spending.ts'
import type { AppendResult, Batch } from '../store.ts'
import { inputsTakenBy, sumOf, tokensOf } from '../usage.ts'

/**
 * The batches of a commit in columns, one value for each batch. To pass an object between threads
 * costs about a microsecond for each of its fields; a column of texts or numbers costs a tenth.
 */
export interface BatchColumns {
  readonly threads: readonly string[]
  readonly owners: readonly string[]
  readonly epochs: readonly number[]
  readonly numbers: readonly number[]
  readonly counts: readonly number[]
  /** How many messages stop waiting, and how many tokens were used. */
  readonly inputs: readonly number[]
  readonly tokens: readonly number[]
  /** What few batches have, by their index. */
  readonly freed: ReadonlyMap<number, readonly string[]>
  readonly spends: ReadonlyMap<number, readonly CountedSpend[]>
  readonly patches: ReadonlyMap<number, readonly JsonObject[]>
  /** The events of all batches as JSON. */
  readonly texts: readonly string[]
}

/** In place of a number: the batch was not written, since its lease is not valid. */
export const fenced = -1

/** The number of the last entry of each batch, or `fenced`, and its time. */
export interface WrittenColumns {
  readonly heads: readonly number[]
  readonly times: readonly number[]
}

export function batchColumns(batches: readonly Batch[]): BatchColumns {
  const threads: string[] = []
  const owners: string[] = []
  const epochs: number[] = []
  const numbers: number[] = []
  const counts: number[] = []
  const inputs: number[] = []
  const tokens: number[] = []
  const freed = new Map<number, readonly string[]>()
  const spends = new Map<number, readonly CountedSpend[]>()
  const patches = new Map<number, readonly JsonObject[]>()
  const texts: string[] = []
  for (const { lease, number, events, freed: ended } of batches) {
    const index = threads.length
    threads.push(lease.threadId)
    owners.push(lease.owner)
    epochs.push(lease.epoch)
    numbers.push(number)
    counts.push(events.length)
    inputs.push(sumOf(events, inputsTakenBy))
    tokens.push(sumOf(events, tokensOf))
    if (ended && ended.length > 0) freed.set(index, ended)
    const spent = spendsIn(events)
    if (spent.length > 0) spends.set(index, spent)
    const patched = patchesIn(events)
    if (patched.length > 0) patches.set(index, patched)
    for (const event of events) texts.push(JSON.stringify(event))
  }
  return { threads, owners, epochs, numbers, counts, inputs, tokens, freed, spends, patches, texts }
}

/**
 * The entries of batches that were written. They remember their JSON. Each array is filled in a
 * loop: one that `map()` returns has another hidden class once V8 has optimized the call, and all
 * code that entries pass through is compiled again.
 */
export function writtenEntries(
  batches: readonly Batch[],
  { texts }: BatchColumns,
  { heads, times }: WrittenColumns,
): AppendResult[] {
  const results: AppendResult[] = []
  let next = 0
  for (const { events } of batches) {
    const index = results.length
    const head = heads[index] as number
    const at = times[index] as number
    const entries: Entry[] = []
    if (head !== fenced)
      for (const [offset, event] of events.entries()) {
        const entry = { seq: head - events.length + 1 + offset, at, event }
        rememberJson(entry, texts[next + offset] as string)
        entries.push(entry)
      }
    next += events.length
    results.push(head === fenced ? 'fenced' : entries)
  }
  return results
}
