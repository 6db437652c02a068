import type { AssistantMessage, SavedMessage, ThreadState } from '../protocol/index.ts'
import { isOpen, savedMessages, saveThread, trimToHeard } from '../protocol/index.ts'
import type { Kind, Part, Snapshot } from './snapshot.ts'
import { checksum, headText, partName, readPart } from './snapshot.ts'
import type { Lease, ThreadStore } from './store.ts'
import { pause } from './turns.ts'

/** About so many parts are written in one commit. */
const partsAtOnce = 4
/** A head is written each time. Where it would be longer, as with large results in the current round, nothing is saved. */
const mostHeadChars = 512 * 1024

export interface Saving {
  readonly store: ThreadStore
  readonly lease: Lease
  /** The snapshot before this one: only what is new since then is written. */
  readonly last: Snapshot | undefined
  /** What was heard of answers since then, by run and round. */
  readonly heard: ReadonlyMap<string, number>
  /** How long a part becomes. */
  readonly partChars?: number
}

/**
 * Saves a thread as it is when this is called, in several writes if it is large. The head comes last, so that until then the snapshot
 * before counts. Gives that one if there is nothing to save (see `saveThread`), or if it is damaged.
 */
export async function saveSnapshot(
  state: ThreadState,
  saving: Saving,
): Promise<Snapshot | 'fenced' | undefined> {
  const { store, lease, last, heard, partChars = 128 * 1024 } = saving
  const { run } = state
  // Measured before it is copied: a copy of thousands of calls would hold up everyone else.
  if (run && isOpen(run) && isLong(run.calls.values(), mostHeadChars)) return last
  const saved = saveThread(state)
  if (!saved || JSON.stringify(saved).length > mostHeadChars) return last
  const output = partWriter(store, lease, partChars)
  // The state may go on from here.
  const newMessages = [...savedMessages(state, last?.messages ?? 0)]
  const newCalls = [...callLines(state, last)]
  const known = last?.parts ?? { messages: [], calls: [] }
  const trimmed = await output.trim(known.messages, heard)
  const messages =
    trimmed && (await output.append('messages', trimmed, messageLines(newMessages), last?.messages ?? 0))
  const callCount = last ? last.callIds + last.decisions : 0
  const calls = messages && (await output.append('calls', known.calls, newCalls, callCount))
  if (!calls) return last
  const snapshot: Snapshot = { ...saved, parts: { messages, calls } }
  await output.flush({ seq: saved.thread.head, state: headText(snapshot) })
  return output.isFenced ? 'fenced' : snapshot
}

/** Whether these are longer than so many characters as JSON. Looks at no more of them than it takes to know. */
export function isLong(items: Iterable<unknown>, most: number): boolean {
  let chars = 0
  for (const item of items) {
    chars += JSON.stringify(item).length
    if (chars > most) return true
  }
  return false
}

function* messageLines(messages: readonly SavedMessage[]): Generator<string> {
  for (const { message, key } of messages)
    yield JSON.stringify(key === undefined ? [message] : [message, key])
}

function* callLines({ run, decisions }: ThreadState, last: Snapshot | undefined): Generator<string> {
  for (const id of without(last?.callIds ?? 0, run?.callIds ?? [])) yield JSON.stringify([id])
  for (const decision of without(last?.decisions ?? 0, decisions)) yield JSON.stringify(decision)
}

function* without<Item>(count: number, items: Iterable<Item>): Generator<Item> {
  let index = 0
  for (const item of items) if (index++ >= count) yield item
}

/** Writes parts of a thread's snapshot, several in one commit. */
function partWriter(store: ThreadStore, lease: Lease, partChars: number) {
  const shelf = { store, threadId: lease.threadId }
  const parts = new Map<string, string>()
  let chars = 0
  let isFenced = false

  async function flush(head?: { readonly seq: number; readonly state: string }): Promise<void> {
    if (isFenced || (!head && parts.size === 0)) return
    isFenced = (await store.saveSnapshot(lease, { parts, head })) === 'fenced'
    parts.clear()
    chars = 0
  }

  async function write(kind: Kind, index: number, from: number, lines: readonly string[]): Promise<Part> {
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

    /** Puts lines behind those there are, of which `count` is the number. Undefined if what they continue is damaged. */
    async append(kind: Kind, known: readonly Part[], lines: Iterable<string>, count: number) {
      const all = [...known]
      const open = (known.at(-1)?.chars ?? partChars) < partChars ? all.pop() : undefined
      let part = open ? await readPart(shelf, kind, all.length, open) : []
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

    /** Trims answers to what was heard of them, where they are saved already. Undefined if a part is damaged. */
    async trim(
      known: readonly Part[],
      heard: ReadonlyMap<string, number>,
    ): Promise<readonly Part[] | undefined> {
      const all = [...known]
      const left = new Map(heard)
      for (let index = all.length - 1; index >= 0 && left.size > 0; index--) {
        const part = all[index] as Part
        await pause(all.length - 1 - index)
        const lines = await readPart(shelf, 'messages', index, part)
        if (!lines) return undefined
        let isChanged = false
        for (const [key, chars] of left) {
          const at = lines.findIndex((line) => line.endsWith(`,${JSON.stringify(key)}]`))
          if (at < 0) continue
          const [message] = JSON.parse(lines[at] as string) as [AssistantMessage]
          lines[at] = JSON.stringify([trimToHeard(message, chars), key])
          left.delete(key)
          isChanged = true
        }
        if (isChanged) all[index] = await write('messages', index, part.from, lines)
      }
      await flush()
      return all
    },
  }
}
