import type { Delta, Entry, RunEvent, ThreadEvent } from '../protocol/index.ts'
import { isRunEvent, relate, textOfDelta, withText } from '../protocol/index.ts'

/**
 * An entry as stored. Where deltas were joined it has `cuts`, two values for each number that it
 * stands for: the length of that delta's text, and how many milliseconds before the last delta it
 * was written. So joining loses nothing.
 */
export interface PackedEntry extends Entry {
  readonly cuts?: readonly number[]
}

/** A packed entry stays small enough to be read, cut and sent in one go. */
const maxNumbers = 1024
const maxChars = 256 * 1024

/** The number of the first event that an entry stands for. */
export function firstOf({ from, seq }: Entry): number {
  return from ?? seq
}

/**
 * Joins adjacent deltas, for a reader that is behind. Takes time and memory in proportion to the
 * text.
 */
export function joinEntries(entries: readonly Entry[]): Entry[] {
  return groupsOf(entries, { numbers: Infinity, chars: Infinity }).map(joined)
}

/**
 * Joins adjacent deltas for storage. The result can be cut and split again as if it had never been
 * joined.
 */
export function packEntries(entries: readonly PackedEntry[]): PackedEntry[] {
  return groupsOf(entries, { numbers: maxNumbers, chars: maxChars }).map((group) => {
    if (group.length === 1) return group[0] as PackedEntry
    const whole = joined(group)
    return { ...whole, cuts: group.flatMap((entry) => cutsOf(entry, whole.at)) }
  })
}

/**
 * Returns the part of an entry after a number, without `cuts`, as readers get it. The number must
 * be less than the entry's own.
 */
export function cutEntry(entry: PackedEntry, after: number): Entry {
  const { seq, from, at, event } = entry
  const skipped = after + 1 - firstOf(entry)
  if (skipped <= 0) return from === undefined ? { seq, at, event } : { seq, from, at, event }
  const lengths = cutsOf(entry, at).filter((_, index) => index % 2 === 0)
  const start = lengths.slice(0, skipped).reduce((sum, length) => sum + length, 0)
  const rest = withText(event as Delta, (deltaText(event) as string).slice(start))
  return after + 1 === seq ? { seq, at, event: rest } : { seq, from: after + 1, at, event: rest }
}

/**
 * Returns the part of an entry up to a number, packed as before. The entry's first number must not
 * be greater.
 */
export function entryUpTo(entry: PackedEntry, upTo: number): PackedEntry {
  if (entry.seq <= upTo) return entry
  const [cut] = packEntries(splitEntry(entry).filter(({ seq }) => seq <= upTo))
  return cut as PackedEntry
}

/** Splits an entry into the ones that were joined, exactly as they were. */
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

/**
 * Returns what a reader gets of consecutive packed entries. The first of them must contain the
 * number after `after`.
 */
export function readEntries(
  entries: Iterable<PackedEntry>,
  { after, limit, split = false }: { after: number; limit: number; split?: boolean | undefined },
): Entry[] {
  const read: Entry[] = []
  for (const entry of entries) {
    if (!split) read.push(cutEntry(entry, after))
    else for (const piece of splitEntry(entry)) if (piece.seq > after && read.length < limit) read.push(piece)
    // Before reading the next one, which may be large.
    if (read.length >= limit) break
  }
  return read
}

/** Why entries, with the keys of signals among them, cannot start a log; undefined if they can. */
export function logProblem(
  entries: readonly Entry[],
  keys: ReadonlyMap<string, number> = new Map(),
): string | undefined {
  let head = 0
  for (const entry of entries) {
    const first = firstOf(entry)
    if (first !== head + 1 || !Number.isInteger(entry.seq) || entry.seq < first)
      return `number ${head + 1} must come next, not ${first === entry.seq ? first : `${first} to ${entry.seq}`}`
    if (first < entry.seq && deltaText(entry.event) === undefined)
      return `${first} to ${entry.seq} are one entry, but it is not a delta`
    head = entry.seq
  }
  for (const [key, seq] of keys)
    if (!Number.isInteger(seq) || seq < 1 || seq > head)
      return `the key '${key}' names number ${seq}, but the log ends at ${head}`
  return undefined
}

function groupsOf<Kept extends Entry>(
  entries: readonly Kept[],
  max: { readonly numbers: number; readonly chars: number },
): Kept[][] {
  const groups: Kept[][] = []
  let group: Kept[] = []
  let chars = 0
  for (const entry of entries) {
    const { length = 0 } = deltaText(entry.event) ?? ''
    const [first] = group
    const continuesGroup =
      first &&
      continues(group.at(-1) as Kept, entry) &&
      entry.seq - firstOf(first) < max.numbers &&
      chars + length <= max.chars
    if (!continuesGroup) {
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
    relate(before.event as RunEvent, entry.event as RunEvent) === 'continues'
  )
}

/** Joins a group into one entry. The text is concatenated once. */
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

/**
 * The text of a delta that consists of nothing else. A tool's progress report may carry data next
 * to its sub-agent's text.
 */
function deltaText(event: ThreadEvent): string | undefined {
  if (!isRunEvent(event)) return undefined
  if (event.type === 'tool-progress' && (event.data !== undefined || !event.event)) return undefined
  return event.type === 'tool-progress' ? deltaText(event.event as RunEvent) : textOfDelta(event)
}

/**
 * The cuts of an entry, relative to one that ends at `at`. An entry joined without cuts (from a log
 * that was exported and imported again) gets made-up ones: equal parts, so that each number always
 * gets the same piece of the text.
 */
function cutsOf(entry: PackedEntry, at: number): number[] {
  const { cuts, seq } = entry
  const earlier = at - entry.at
  if (cuts) return cuts.map((value, index) => (index % 2 === 0 ? value : value + earlier))
  const length = deltaText(entry.event)?.length ?? 0
  const count = seq + 1 - firstOf(entry)
  const upTo = (part: number) => Math.floor((part * length) / count)
  return Array.from({ length: count }, (_, index) => [upTo(index + 1) - upTo(index), earlier]).flat()
}
