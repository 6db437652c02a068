import type { AssistantMessage, Message, SavedMessage, SavedThread, ThreadState } from '../protocol/index.ts'
import { foldVersion, restoreThread, trimToHeard } from '../protocol/index.ts'
import type { ThreadStore } from './store.ts'
import { pause } from './turns.ts'

/**
 * A folded thread as a store keeps it: a head, and parts with the transcript, call ids and decisions, which only grow, so that heads of
 * earlier saves can still be used. A part is lines of JSON. A snapshot that is not whole is not used: the log has everything.
 */
export interface Snapshot extends SavedThread {
  readonly parts: Readonly<Record<Kind, readonly Part[]>>
}

/** `messages`: `[message, key?]`. `calls`: `[callId]`, or `[callId, seq]` for the first decision about it. */
export type Kind = 'messages' | 'calls'

/** What a head says of a part. A later save may append to it, which this head does not know of. */
export interface Part {
  /** The number of its first line. */
  readonly from: number
  readonly chars: number
  readonly sum: number
}

/** Where the snapshot of a thread is kept. */
export interface Shelf {
  readonly store: Pick<ThreadStore, 'snapshot' | 'snapshotPart'>
  readonly threadId: string
}

/** So many are tried before the log is read from its beginning. */
const mostTries = 4

/**
 * What can be read by the last snapshot of a thread. Where that gives nothing, since the snapshot is damaged or a part of it was trimmed
 * after a fork, the one before it is tried. Undefined if no snapshot can be used.
 */
export async function fromSnapshot<Value>(
  { store, threadId }: Shelf,
  read: (snapshot: Snapshot) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  let upTo: number | undefined
  for (let tries = 0; tries < mostTries; tries++) {
    const head = await store.snapshot(threadId, upTo)
    if (!head) return undefined
    const snapshot = readHead(head.state)
    const value = snapshot && (await read(snapshot))
    if (value !== undefined) return value
    upTo = head.seq - 1
  }
  return undefined
}

function readHead(state: string): Snapshot | undefined {
  const text = state.slice(state.indexOf('\n') + 1)
  if (!text || checksum(text) !== Number.parseInt(state, 10)) return undefined
  const snapshot = JSON.parse(text) as Snapshot
  return snapshot.version <= foldVersion ? snapshot : undefined
}

/** FNV-1a over the code units: for damage, not for malice, and wherever this runs. */
export function checksum(text: string): number {
  let sum = 0x811c9dc5
  for (let index = 0; index < text.length; index++) sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193)
  return sum >>> 0
}

export function headText(snapshot: Snapshot): string {
  const text = JSON.stringify(snapshot)
  return `${checksum(text)}\n${text}`
}

/** The thread as it was, for going on with it; undefined if the snapshot is not whole. */
export async function restore(shelf: Shelf, snapshot: Snapshot): Promise<ThreadState | undefined> {
  const messages: SavedMessage[] = []
  const callIds = new Set<string>()
  const decisions = new Map<string, number>()
  const { parts, needed } = snapshot
  let steps = 0
  for (const [index, part] of parts.messages.entries()) {
    const next = parts.messages[index + 1]
    if (next && next.from <= needed) continue
    await pause(steps++)
    const lines = await readPart(shelf, 'messages', index, part)
    if (!lines) return undefined
    for (const line of lines.slice(Math.max(0, needed - part.from))) {
      const [message, key] = JSON.parse(line) as [Message, string?]
      messages.push({ message, key })
    }
  }
  for (const [index, part] of parts.calls.entries()) {
    await pause(steps++)
    const lines = await readPart(shelf, 'calls', index, part)
    if (!lines) return undefined
    for (const line of lines) {
      const [id, seq] = readCall(line)
      if (seq === undefined) callIds.add(id)
      else decisions.set(id, seq)
    }
  }
  return restoreThread(snapshot, { messages, callIds, decisions })
}

/** Of a long thread there are many, and most are as plain as this: `["call_1"]`. */
function readCall(line: string): [string, number?] {
  return line.endsWith('"]') && !line.includes('\\') ? [line.slice(2, -2)] : JSON.parse(line)
}

/** The lines of a part; undefined if it is not as the head says. */
export async function readPart(
  { store, threadId }: Shelf,
  kind: Kind,
  index: number,
  { chars, sum }: Part,
): Promise<string[] | undefined> {
  const text = (await store.snapshotPart(threadId, partName(kind, index)))?.slice(0, chars)
  return text?.length === chars && checksum(text) === sum ? text.split('\n') : undefined
}

const encoder = new TextEncoder()

export function bytesOf(text: string): number {
  return encoder.encode(text).length
}

export const partName = (kind: Kind, index: number) => `${kind}/${index}`

/** Which messages of a transcript are asked for: those before a place, as many as fit, but at least so many. */
export interface Window {
  readonly before: number
  readonly bytes: number
  readonly least: number
}

/** `heard` has what was heard of answers since the snapshot. Undefined if the snapshot is not whole. */
export async function messagesBefore(
  shelf: Shelf,
  { parts }: Snapshot,
  { before, bytes, least }: Window,
  heard: ReadonlyMap<string, number>,
): Promise<Message[] | undefined> {
  const found: Message[] = []
  let [end, room] = [before, bytes]
  let steps = 0
  for (let index = parts.messages.findLastIndex(({ from }) => from < before); index >= 0; index--) {
    const part = parts.messages[index] as Part
    await pause(steps++)
    const lines = await readPart(shelf, 'messages', index, part)
    if (!lines) return undefined
    for (; end > part.from; end--) {
      const line = lines[end - 1 - part.from] as string
      room -= bytesOf(line)
      if (room < 0 && found.length >= least) return found.reverse()
      const [message, key] = JSON.parse(line) as [Message, string?]
      const chars = key === undefined ? undefined : heard.get(key)
      found.push(chars === undefined ? message : trimToHeard(message as AssistantMessage, chars))
    }
  }
  return found.reverse()
}
