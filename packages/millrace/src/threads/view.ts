import type { Log, Snapshot, SnapshotSource } from '../log/index.ts'
import { bytesOf, fromSnapshot, messagesBefore, pause, readLog } from '../log/index.ts'
import type { Entry, Message, ThreadEvent, ThreadSnapshot, ThreadState } from '../protocol/index.ts'
import {
  answerKey,
  applyEntry,
  conversationOf,
  countSpend,
  countSummary,
  droppedOf,
  emptyThread,
  restoreWithoutMessages,
  snapshotOf,
} from '../protocol/index.ts'

/** Which messages of a conversation to return. */
export interface ViewOptions {
  /**
   * Approximate size of the messages, the last ones first. At least one message is returned, unless
   * this is 0.
   */
  readonly bytes: number
  /** Only messages before this index. */
  readonly before: number
}

/** How many bytes of messages count as one step of work. */
const stepBytes = 128 * 1024

/** Stands for a message that is not returned. */
const omitted: Message = { role: 'assistant', content: [] }

/**
 * Reads the view of a thread from its log, with the requested messages. Holds few others at any
 * time.
 */
export async function readView(log: Log & SnapshotSource, options: ViewOptions): Promise<ThreadSnapshot> {
  const view = await fromSnapshot(log, (snapshot) => viewFrom(log, options, snapshot))
  return view ?? ((await viewFrom(log, options, undefined)) as ThreadSnapshot)
}

async function viewFrom(
  log: Log & SnapshotSource,
  options: ViewOptions,
  snapshot: Snapshot | undefined,
): Promise<ThreadSnapshot | undefined> {
  const state = snapshot ? restoreWithoutMessages(snapshot) : emptyThread()
  const played = new Map<string, number>()
  const dropOld = messageDropper(state, options)
  /** How many messages of the snapshot the conversation still has. */
  let intact = snapshot?.messages ?? 0
  let pages = 0
  for await (const page of readLog(log, { after: state.head })) {
    for (const entry of page) {
      applyForView(state, entry, played)
      if (entry.event.type === 'rewind') intact = Math.min(intact, entry.event.keep ?? intact)
      if (dropOld(entry.event)) await pause(pages)
    }
    pages++
  }
  const dropped = droppedOf(state)
  const messages = conversationOf(state)
  const before = Math.min(options.before, dropped + messages.length)
  const shown = await lastFitting(messages.slice(0, Math.max(0, before - dropped)), options.bytes)
  const start = before - shown.messages.length
  // The messages that were kept in memory were replaced: read the log again for those before them.
  if (start > intact && shown.messages.length === 0 && options.bytes > 0 && start < options.before)
    return viewFrom(log, { ...options, before: start }, snapshot)
  const range = {
    before: start,
    bytes: shown.remaining,
    min: shown.messages.length === 0 && options.bytes > 0 ? 1 : 0,
  }
  const saved = snapshot && start <= intact ? await messagesBefore(log, snapshot, range, played) : []
  if (!saved) return undefined
  const earlier = start - saved.length
  return {
    ...snapshotOf(state, [...saved, ...shown.messages]),
    ...(earlier > 0 && { earlier: { messages: earlier } }),
  }
}

/**
 * Like `applyEntry`, but the history keeps all messages unchanged, since it is not what a model
 * reads.
 */
function applyForView(state: ThreadState, entry: Entry, played: Map<string, number>): void {
  const { seq, event } = entry
  state.head = seq
  if (event.type === 'playback') played.set(answerKey(event.run, event.round), event.chars)
  if (event.type === 'summary') {
    if (state.run) countSummary(state.run, event)
  } else if (event.type === 'tool-progress' && event.event?.type !== 'approval') {
    // Text of a sub-agent is not a message of this conversation.
    if (state.run) countSpend(state.run.spent, event)
  } else
    applyEntry(state, 'shown' in event && event.shown ? { ...entry, event: { ...event, output: [] } } : entry)
}

/** Drops the oldest messages as a conversation grows. Returns true if it did any work. */
function messageDropper(state: ThreadState, { bytes, before }: ViewOptions): (event: ThreadEvent) => boolean {
  let sizes: number[] = []
  let total = 0
  return ({ type }) => {
    const { run } = state
    // The end of the history may have been replaced: measured again.
    if (type === 'rewind' || (type === 'run-end' && state.rewinds.length > 0)) [sizes, total] = [[], 0]
    // Only these add to the history.
    if (!run || !Number.isFinite(bytes) || (type !== 'run-start' && type !== 'round-start')) return false
    const { history } = run
    const end = before - run.dropped
    for (let index = sizes.length; index < history.length; index++) {
      if (index >= end) history[index] = omitted
      const size = index < end ? sizeOf(history[index] as Message) : 0
      sizes.push(size)
      total += size
    }
    if (total <= 2 * bytes) return true
    const max = Math.min(sizes.length, end) - 1
    let count = 0
    while (count < max && total > bytes) total -= sizes[count++] as number
    history.splice(0, count)
    sizes.splice(0, count)
    run.dropped += count
    return true
  }
}

/** As many of the last messages as fit, and the bytes that remain. */
async function lastFitting(messages: readonly Message[], bytes: number) {
  if (bytes === Number.POSITIVE_INFINITY) return { messages: [...messages], remaining: bytes }
  let start = messages.length
  let remaining = bytes
  for (; start > 0; start--) {
    await pause(Math.floor((bytes - remaining) / stepBytes))
    const size = sizeOf(messages[start - 1] as Message)
    if (size > remaining && (start < messages.length || bytes === 0)) break
    remaining -= size
  }
  // Stops at the first message that does not fit, even if the next one would.
  return { messages: messages.slice(start), remaining: start > 0 ? 0 : Math.max(0, remaining) }
}

/** The size of a message in a response. */
function sizeOf(message: Message): number {
  return bytesOf(JSON.stringify(message)) + 1
}
