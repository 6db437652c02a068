import type { AssistantMessage, SavedMessage, ThreadState } from '../protocol/index.ts'
import { isOpen, savedMessages, saveThread, trimToPlayed } from '../protocol/index.ts'
import type { Part, PartKind, Snapshot } from './snapshot.ts'
import { checksum, headText, partName, readPart } from './snapshot.ts'
import type { Lease, ThreadStore } from './store.ts'
import { pause } from './turns.ts'

/** Approximate number of parts written in one commit. */
const partsAtOnce = 4
/**
 * A head is rewritten with each save. If it would be longer than this, as with large results in the
 * current round, nothing is saved.
 */
const maxHeadChars = 512 * 1024

export interface SaveSnapshotOptions {
  readonly store: ThreadStore
  readonly lease: Lease
  /** The previous snapshot. Only what is new since then is written. */
  readonly last: Snapshot | undefined
  /** How many of its messages the conversation still has. */
  readonly keep?: number
  /** How much of each answer was played since then, by run and round. */
  readonly played: ReadonlyMap<string, number>
  /** Maximum length of a part. */
  readonly partChars?: number
}

/**
 * Saves a thread as it is when this is called, in several writes if it is large. The head is
 * written last, so the previous snapshot stays in use until then. Returns the previous snapshot if
 * there is nothing to save (see `saveThread`) or if it is damaged.
 */
export async function saveSnapshot(
  state: ThreadState,
  saving: SaveSnapshotOptions,
): Promise<Snapshot | 'fenced' | undefined> {
  const { store, lease, last, keep = Number.POSITIVE_INFINITY, played, partChars = 128 * 1024 } = saving
  const { run, rewinds } = state
  // The messages that will be replaced are still there.
  if (run && isOpen(run) && rewinds.length > 0) return last
  // Measured before it is copied: copying thousands of calls would block everything else.
  if (run && isOpen(run) && isLong(run.calls.values(), maxHeadChars)) return last
  const saved = saveThread(state)
  if (!saved || JSON.stringify(saved).length > maxHeadChars) return last
  const output = partWriter(store, lease, partChars)
  // Copied, since the state may change from here on.
  const kept = Math.min(last?.messages ?? 0, keep)
  const newMessages = [...savedMessages(state, kept)]
  const newCalls = [...callLines(state, last)]
  const known = last?.parts ?? { messages: [], calls: [] }
  const isShorter = last !== undefined && kept < last.messages
  const shortened = isShorter ? await output.shorten(known.messages, kept) : known.messages
  const trimmed = shortened && (await output.trim(shortened, played))
  const messages = trimmed && (await output.append('messages', trimmed, messageLines(newMessages), kept))
  const callCount = last ? last.callIds + last.decisions : 0
  const calls = messages && (await output.append('calls', known.calls, newCalls, callCount))
  if (!calls) return last
  const snapshot: Snapshot = { ...saved, parts: { messages, calls } }
  await output.flush({ seq: saved.thread.head, state: headText(snapshot) })
  return output.isFenced ? 'fenced' : snapshot
}

/** Whether these are longer than `max` characters as JSON. Stops as soon as it knows. */
export function isLong(items: Iterable<unknown>, max: number): boolean {
  let chars = 0
  for (const item of items) {
    chars += JSON.stringify(item).length
    if (chars > max) return true
  }
  return false
}

function* messageLines(messages: readonly SavedMessage[]): Generator<string> {
  for (const { message, key } of messages)
    yield JSON.stringify(key === undefined ? [message] : [message, key])
}

function* callLines({ run, decisions }: ThreadState, last: Snapshot | undefined): Generator<string> {
  for (const id of skip(last?.callIds ?? 0, run?.callIds ?? [])) yield JSON.stringify([id])
  for (const decision of skip(last?.decisions ?? 0, decisions)) yield JSON.stringify(decision)
}

function* skip<Item>(count: number, items: Iterable<Item>): Generator<Item> {
  let index = 0
  for (const item of items) if (index++ >= count) yield item
}

/** Writes parts of a thread's snapshot, several in one commit. */
function partWriter(store: ThreadStore, lease: Lease, partChars: number) {
  const source = { store, threadId: lease.threadId }
  const parts = new Map<string, string>()
  let chars = 0
  let isFenced = false

  async function flush(head?: { readonly seq: number; readonly state: string }): Promise<void> {
    if (isFenced || (!head && parts.size === 0)) return
    isFenced = (await store.saveSnapshot(lease, { parts, head })) === 'fenced'
    parts.clear()
    chars = 0
  }

  async function write(kind: PartKind, index: number, from: number, lines: readonly string[]): Promise<Part> {
    const text = lines.join('\n')
    parts.set(partName(kind, index), text)
    chars += text.length
    if (chars >= partsAtOnce * partChars) await flush()
    return { from, chars: text.length, sum: checksum(text) }
  }

  return {
    get isFenced() {
      return isFenced
    },
    flush,

    /**
     * Appends lines to the `count` lines that exist. Returns undefined if the part they continue is
     * damaged.
     */
    async append(kind: PartKind, known: readonly Part[], lines: Iterable<string>, count: number) {
      const all = [...known]
      const open = (known.at(-1)?.chars ?? partChars) < partChars ? all.pop() : undefined
      let part = open ? await readPart(source, kind, all.length, open) : []
      let length = open?.chars ?? 0
      let steps = 0
      let from = open?.from ?? count
      if (!part) return undefined
      const close = async (part: readonly string[]) => {
        if (part.length > 0) all.push(await write(kind, all.length, from, part))
        from += part.length
        length = 0
      }
      for (const line of lines) {
        await pause(steps)
        if (length + line.length > partChars) {
          steps++
          await close(part)
          part = []
        }
        part.push(line)
        length += line.length + 1
      }
      await close(part)
      return all
    },

    /** The parts up to message `count`. Returns undefined if the last of them is damaged. */
    async shorten(known: readonly Part[], count: number): Promise<readonly Part[] | undefined> {
      const all = known.filter(({ from }) => from < count)
      const last = all.pop()
      if (!last) return all
      const lines = await readPart(source, 'messages', all.length, last)
      if (!lines) return undefined
      // A head may describe the start of a part: later saves append to it in any case.
      const text = lines.slice(0, count - last.from).join('\n')
      return [...all, { from: last.from, chars: text.length, sum: checksum(text) }]
    },

    /** Trims saved answers to what was played of them. Returns undefined if a part is damaged. */
    async trim(
      known: readonly Part[],
      played: ReadonlyMap<string, number>,
    ): Promise<readonly Part[] | undefined> {
      const all = [...known]
      const remaining = new Map(played)
      for (let index = all.length - 1; index >= 0 && remaining.size > 0; index--) {
        const part = all[index] as Part
        await pause(all.length - 1 - index)
        const lines = await readPart(source, 'messages', index, part)
        if (!lines) return undefined
        let isChanged = false
        for (const [key, chars] of remaining) {
          const at = lines.findIndex((line) => line.endsWith(`,${JSON.stringify(key)}]`))
          if (at < 0) continue
          const [message] = JSON.parse(lines[at] as string) as [AssistantMessage]
          lines[at] = JSON.stringify([trimToPlayed(message, chars), key])
          remaining.delete(key)
          isChanged = true
        }
        if (isChanged) all[index] = await write('messages', index, part.from, lines)
      }
      await flush()
      return all
    },
  }
}
