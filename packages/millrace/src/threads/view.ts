import type { Log, Shelf, Snapshot } from '../log/index.ts'
import { bytesOf, fromSnapshot, messagesBefore, pause, readLog } from '../log/index.ts'
import type { Entry, Message, ThreadEvent, ThreadSnapshot, ThreadState } from '../protocol/index.ts'
import {
  answerKey,
  applyEntry,
  conversationOf,
  countSummary,
  emptyThread,
  restoreOutline,
  snapshotOf,
} from '../protocol/index.ts'

/** Which messages of a conversation are asked for. */
export interface ViewOptions {
  /** About so many bytes of them, the last ones. At least one message, unless it is 0. */
  readonly bytes: number
  /** Only those before this place. */
  readonly before: number
}

/** Messages of so many bytes are one step of work. */
const stepBytes = 128 * 1024

/** Stands for a message that is not asked for. */
const omitted: Message = { role: 'assistant', content: [] }

/** What a log tells of its thread, with the messages that are asked for: it holds few others at any time. */
export async function readView(log: Log & Shelf, options: ViewOptions): Promise<ThreadSnapshot> {
  const view = await fromSnapshot(log, (snapshot) => viewFrom(log, options, snapshot))
  return view ?? ((await viewFrom(log, options, undefined)) as ThreadSnapshot)
}

async function viewFrom(
  log: Log & Shelf,
  options: ViewOptions,
  snapshot: Snapshot | undefined,
): Promise<ThreadSnapshot | undefined> {
  const state = snapshot ? restoreOutline(snapshot) : emptyThread()
  const heard = new Map<string, number>()
  const shed = shedder(state, options)
  let pages = 0
  for await (const page of readLog(log, { after: state.head })) {
    for (const entry of page) {
      applyForView(state, entry, heard)
      if (shed(entry.event)) await pause(pages)
    }
    pages++
  }
  const dropped = state.run?.dropped ?? 0
  const messages = conversationOf(state)
  const before = Math.min(options.before, dropped + messages.length)
  const shown = await lastOf(messages.slice(0, Math.max(0, before - dropped)), options.bytes)
  const start = before - shown.messages.length
  const window = {
    before: start,
    bytes: shown.room,
    least: shown.messages.length === 0 && options.bytes > 0 ? 1 : 0,
  }
  const saved =
    snapshot && start <= snapshot.messages ? await messagesBefore(log, snapshot, window, heard) : []
  if (!saved) return undefined
  const earlier = start - saved.length
  return {
    ...snapshotOf(state, [...saved, ...shown.messages]),
    ...(earlier > 0 && { earlier: { messages: earlier } }),
  }
}

/** As `applyEntry`, but the history keeps all messages, as they were said: it is not what a model reads. */
function applyForView(state: ThreadState, entry: Entry, heard: Map<string, number>): void {
  const { seq, event } = entry
  state.head = seq
  if (event.type === 'heard') heard.set(answerKey(event.run, event.round), event.chars)
  if (event.type === 'summary') {
    if (state.run) countSummary(state.run, event)
    // What a sub-agent says is no message of this conversation.
  } else if (event.type !== 'tool-progress' || event.event?.type === 'approval')
    applyEntry(state, 'shown' in event && event.shown ? { ...entry, event: { ...event, output: [] } } : entry)
}

/** Drops the oldest messages as a conversation grows. Gives true if it had something to look at. */
function shedder(state: ThreadState, { bytes, before }: ViewOptions): (event: ThreadEvent) => boolean {
  const sizes: number[] = []
  let total = 0
  return ({ type }) => {
    const { run } = state
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
    const most = Math.min(sizes.length, end) - 1
    let count = 0
    while (count < most && total > bytes) total -= sizes[count++] as number
    history.splice(0, count)
    sizes.splice(0, count)
    run.dropped += count
    return true
  }
}

/** As many of the last messages as fit, and what is left of the room. */
async function lastOf(messages: readonly Message[], bytes: number) {
  if (bytes === Number.POSITIVE_INFINITY) return { messages: [...messages], room: bytes }
  let start = messages.length
  let room = bytes
  for (; start > 0; start--) {
    await pause(Math.floor((bytes - room) / stepBytes))
    const size = sizeOf(messages[start - 1] as Message)
    if (size > room && (start < messages.length || bytes === 0)) break
    room -= size
  }
  // One that does not fit ends it, also if the next would.
  return { messages: messages.slice(start), room: start > 0 ? 0 : Math.max(0, room) }
}

/** How many bytes a message takes in an answer. */
function sizeOf(message: Message): number {
  return bytesOf(JSON.stringify(message)) + 1
}
