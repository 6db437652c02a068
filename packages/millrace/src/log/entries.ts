import type { Delta, Entry, RunEvent, ThreadEvent } from '../protocol/index.ts'
import { relate, textOfDelta, withText } from '../protocol/index.ts'

/**
 * An entry as a store keeps it. Where deltas were joined it has `cuts`, two figures for each number that it stands for: how
 * long that one's text was, and how many milliseconds before the last it was written. So nothing is lost by joining.
 */
export interface PackedEntry extends Entry {
  readonly cuts?: readonly number[]
}

/** A packed entry stays small enough to be read, cut and sent at once. */
const mostNumbers = 1024
const mostChars = 256 * 1024

/** The number of the first event that an entry stands for. */
export function firstOf({ from, seq }: Entry): number {
  return from ?? seq
}

/** Deltas that stand side by side become one, for a reader that is behind. Takes time and room as the text is long. */
export function joinEntries(entries: readonly Entry[]): Entry[] {
  return groupsOf(entries, { numbers: Infinity, chars: Infinity }).map(joined)
}

/** The same for good: what comes out can be cut and split again as if it had never been joined. */
export function packEntries(entries: readonly PackedEntry[]): PackedEntry[] {
  return groupsOf(entries, { numbers: mostNumbers, chars: mostChars }).map((group) => {
    if (group.length === 1) return group[0] as PackedEntry
    const whole = joined(group)
    return { ...whole, cuts: group.flatMap((entry) => cutsOf(entry, whole.at)) }
  })
}

/** What of an entry comes after a number; without `cuts`, as a reader gets it. The number is smaller than the entry's own. */
export function cutEntry(entry: PackedEntry, after: number): Entry {
  const { seq, from, at, event } = entry
  const gone = after + 1 - firstOf(entry)
  if (gone <= 0) return from === undefined ? { seq, at, event } : { seq, from, at, event }
  const lengths = cutsOf(entry, at).filter((_, index) => index % 2 === 0)
  const start = lengths.slice(0, gone).reduce((sum, length) => sum + length, 0)
  const rest = withText(event as Delta, (deltaText(event) as string).slice(start))
  return after + 1 === seq ? { seq, at, event: rest } : { seq, from: after + 1, at, event: rest }
}

/** What an entry holds of the numbers up to another, of which the first is one; packed as before. */
export function entryUpTo(entry: PackedEntry, upTo: number): PackedEntry {
  if (entry.seq <= upTo) return entry
  const [cut] = packEntries(splitEntry(entry).filter(({ seq }) => seq <= upTo))
  return cut as PackedEntry
}

/** The entries that were joined into this one, as they were. */
export function splitEntry(entry: PackedEntry): Entry[] {
  const first = firstOf(entry)
  if (first === entry.seq) return [cutEntry(entry, first - 1)]
  const text = deltaText(entry.event) as string
  const cuts = cutsOf(entry, entry.at)
  let start = 0
  return Array.from({ length: entry.seq + 1 - first }, (_, index) => {
    const end = start + (cuts[2 * index] as number)
    const event = withText(entry.event as Delta, text.slice(start, end))
    start = end
    return { seq: first + index, at: entry.at - (cuts[2 * index + 1] as number), event }
  })
}

/** What a reader gets of packed entries that follow each other, the first of which contains the number after `after`. */
export function readEntries(
  entries: Iterable<PackedEntry>,
  { after, limit, split = false }: { after: number; limit: number; split?: boolean | undefined },
): Entry[] {
  const read: Entry[] = []
  for (const entry of entries) {
    if (!split) read.push(cutEntry(entry, after))
    else for (const piece of splitEntry(entry)) if (piece.seq > after && read.length < limit) read.push(piece)
    // Before the next one is asked for, which may be large.
    if (read.length >= limit) break
  }
  return read
}

/** Why entries cannot be a log from its first number on; undefined if they can. */
export function logProblem(entries: readonly Entry[]): string | undefined {
  let head = 0
  for (const entry of entries) {
    const first = firstOf(entry)
    if (first !== head + 1 || !Number.isInteger(entry.seq) || entry.seq < first)
      return `the number ${head + 1} must come next, not ${first === entry.seq ? first : `${first} to ${entry.seq}`}`
    if (first < entry.seq && deltaText(entry.event) === undefined)
      return `${first} to ${entry.seq} are one entry and no delta`
    head = entry.seq
  }
  return undefined
}

function groupsOf<Kept extends Entry>(
  entries: readonly Kept[],
  most: { readonly numbers: number; readonly chars: number },
): Kept[][] {
  const groups: Kept[][] = []
  let group: Kept[] = []
  let chars = 0
  for (const entry of entries) {
    const { length = 0 } = deltaText(entry.event) ?? ''
    const [first] = group
    const goesOn =
      first &&
      continues(group.at(-1) as Kept, entry) &&
      entry.seq - firstOf(first) < most.numbers &&
      chars + length <= most.chars
    if (!goesOn) {
      group = []
      groups.push(group)
      chars = 0
    }
    group.push(entry)
    chars += length
  }
  return groups
}

function continues(before: Entry, entry: Entry): boolean {
  return (
    firstOf(entry) === before.seq + 1 &&
    deltaText(before.event) !== undefined &&
    deltaText(entry.event) !== undefined &&
    relate(before.event as RunEvent, entry.event as RunEvent) === 'goes-on'
  )
}

/** The entry for all numbers of a group. Its text is put together once. */
function joined(group: readonly Entry[]): Entry {
  const [first, last] = [group[0] as Entry, group.at(-1) as Entry]
  if (first === last) return first
  const text = group.map(({ event }) => deltaText(event)).join('')
  return {
    seq: last.seq,
    from: firstOf(first),
    at: last.at,
    event: withText(first.event as Delta, text),
  }
}

/** The text of a delta that consists of nothing else. A tool's report may carry data of its own beside its sub-agent's words. */
function deltaText(event: ThreadEvent): string | undefined {
  if (event.type === 'stop' || event.type === 'heard') return undefined
  if (event.type === 'tool-progress' && (event.data !== undefined || !event.event)) return undefined
  return event.type === 'tool-progress' ? deltaText(event.event as RunEvent) : textOfDelta(event)
}

/**
 * The cuts of any entry, as seen from one that ends at `at`. Somebody who joined entries without keeping their cuts (a log that was
 * exported and is read in again) has them made up: equal parts, so that every number has some of the text and always the same.
 */
function cutsOf(entry: PackedEntry, at: number): number[] {
  const { cuts, seq } = entry
  const earlier = at - entry.at
  if (cuts) return cuts.map((figure, index) => (index % 2 === 0 ? figure : figure + earlier))
  const length = deltaText(entry.event)?.length ?? 0
  const count = seq + 1 - firstOf(entry)
  const upTo = (part: number) => Math.floor((part * length) / count)
  return Array.from({ length: count }, (_, index) => [upTo(index + 1) - upTo(index), earlier]).flat()
}
