import type { AssistantMessage, Message, SavedMessage, SavedThread, ThreadState } from '../protocol/index.ts'
import { foldVersion, restoreThread, trimToPlayed } from '../protocol/index.ts'
import type { ThreadStore } from './store.ts'
import { pause } from './turns.ts'

/**
 * A folded thread as stored: a head, and parts with the transcript, call ids and decisions. Parts
 * only grow, so that the heads of earlier saves stay usable. A part is lines of JSON. An incomplete
 * snapshot is ignored, since the log has everything.
 */
export interface Snapshot extends SavedThread {
  readonly parts: Readonly<Record<PartKind, readonly Part[]>>
}

/** `messages`: `[message, key?]`. `calls`: `[callId]`, or `[callId, seq]` for the first decision about it. */
export type PartKind = 'messages' | 'calls'

/**
 * What a head records about a part. A later save may append to the part without this head knowing.
 */
export interface Part {
  /** The index of its first line. */
  readonly from: number
  readonly chars: number
  readonly sum: number
}

/** Where the snapshots of a thread are stored. */
export interface SnapshotSource {
  readonly store: Pick<ThreadStore, 'snapshot' | 'snapshotPart'>
  readonly threadId: string
}

/** How many snapshots are tried before the whole log is read. */
const maxTries = 4

/**
 * Reads a value by the last snapshot of a thread. If `read` returns undefined, because the snapshot
 * is damaged or one of its parts was trimmed after a fork, the previous snapshot is tried. Returns
 * undefined if no snapshot up to `upTo` is usable.
 */
export async function fromSnapshot<Value>(
  { store, threadId }: SnapshotSource,
  read: (snapshot: Snapshot) => Promise<Value | undefined>,
  upTo?: number,
): Promise<Value | undefined> {
  let last = upTo
  for (let tries = 0; tries < maxTries; tries++) {
    const head = await store.snapshot(threadId, last)
    if (!head) return undefined
    const snapshot = readHead(head.state)
    const value = snapshot && (await read(snapshot))
    if (value !== undefined) return value
    last = head.seq - 1
  }
  return undefined
}

function readHead(state: string): Snapshot | undefined {
  const text = state.slice(state.indexOf('\n') + 1)
  if (!text || checksum(text) !== Number.parseInt(state, 10)) return undefined
  const snapshot = JSON.parse(text) as Snapshot
  return snapshot.version === foldVersion ? snapshot : undefined
}

/** FNV-1a over the code units. It detects damage, not tampering, and works on every platform. */
export function checksum(text: string): number {
  let sum = 0x811c9dc5
  for (let index = 0; index < text.length; index++) sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193)
  return sum >>> 0
}

export function headText(snapshot: Snapshot): string {
  const text = JSON.stringify(snapshot)
  return `${checksum(text)}\n${text}`
}

/** Restores the state of a thread; undefined if the snapshot is incomplete. */
export async function restore(source: SnapshotSource, snapshot: Snapshot): Promise<ThreadState | undefined> {
  const messages: SavedMessage[] = []
  const callIds = new Set<string>()
  const decisions = new Map<string, number>()
  const { parts, needed } = snapshot
  let steps = 0
  for (const [index, part] of parts.messages.entries()) {
    const next = parts.messages[index + 1]
    if (next && next.from <= needed) continue
    await pause(steps++)
    const lines = await readPart(source, 'messages', index, part)
    if (!lines) return undefined
    for (const line of lines.slice(Math.max(0, needed - part.from))) {
      const [message, key] = JSON.parse(line) as [Message, string?]
      messages.push({ message, key })
    }
  }
  for (const [index, part] of parts.calls.entries()) {
    await pause(steps++)
    const lines = await readPart(source, 'calls', index, part)
    if (!lines) return undefined
    for (const line of lines) {
      const [id, seq] = readCall(line)
      if (seq === undefined) callIds.add(id)
      else decisions.set(id, seq)
    }
  }
  return restoreThread(snapshot, { messages, callIds, decisions })
}

/** A fast path: long threads have many of these lines, and most are as plain as `["call_1"]`. */
function readCall(line: string): [string, number?] {
  return line.endsWith('"]') && !line.includes('\\') ? [line.slice(2, -2)] : JSON.parse(line)
}

/** Returns the lines of a part; undefined if it does not match the head. */
export async function readPart(
  { store, threadId }: SnapshotSource,
  kind: PartKind,
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

export const partName = (kind: PartKind, index: number) => `${kind}/${index}`

/**
 * A range of a transcript: the messages before an index, as many as fit into `bytes`, but at least
 * `min`.
 */
export interface MessageRange {
  readonly before: number
  readonly bytes: number
  readonly min: number
}

/**
 * `played` has how much of each answer was played since the snapshot. Returns undefined if the
 * snapshot is incomplete.
 */
export async function messagesBefore(
  source: SnapshotSource,
  { parts }: Snapshot,
  { before, bytes, min }: MessageRange,
  played: ReadonlyMap<string, number>,
): Promise<Message[] | undefined> {
  const found: Message[] = []
  let [end, room] = [before, bytes]
  let steps = 0
  for (let index = parts.messages.findLastIndex(({ from }) => from < before); index >= 0; index--) {
    const part = parts.messages[index] as Part
    await pause(steps++)
    const lines = await readPart(source, 'messages', index, part)
    if (!lines) return undefined
    for (; end > part.from; end--) {
      const line = lines[end - 1 - part.from] as string
      room -= bytesOf(line)
      if (room < 0 && found.length >= min) return found.reverse()
      const [message, key] = JSON.parse(line) as [Message, string?]
      const chars = key === undefined ? undefined : played.get(key)
      found.push(chars === undefined ? message : trimToPlayed(message as AssistantMessage, chars))
    }
  }
  return found.reverse()
}
