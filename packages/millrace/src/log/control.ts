import type { Entry, MetadataState, ThreadEvent, ThreadState, UserMessage } from '../protocol/index.ts'
import { applyEntry, applyMetadata, emptyThread, isNewRun } from '../protocol/index.ts'
import type { Log } from './read-log.ts'
import { findLast, readLog } from './read-log.ts'
import type { SnapshotSource } from './snapshot.ts'
import { fromSnapshot } from './snapshot.ts'

const emptyMessage: UserMessage = { role: 'user', content: '' }

/**
 * Returns what a thread has to do, and which inputs wait, at a number of its log. This is its state
 * without messages, usage and anything before the current run. Takes time in proportion to that
 * run, however long the log is.
 */
export async function controlAt(log: Log, at: number): Promise<ThreadState> {
  const state = emptyThread()
  const start = await findLast(log, at, ({ event }) => inputsOf(event).length > 0)
  // A run takes all waiting inputs up to the last one it answers, so inputs that still wait came
  // later.
  if (start) state.head = inputsOf(start.event).reduce((last, seq) => Math.max(last, seq), 0)
  for await (const page of readLog(log, { after: state.head, upTo: at }))
    for (const entry of page) applyControl(state, entry)
  return state
}

/**
 * Returns the metadata of a thread at a number of its log; undefined if nothing up to there has
 * changed it. Reads the log from the last snapshot before that number.
 */
export async function metadataAt(log: Log & SnapshotSource, at: number): Promise<MetadataState | undefined> {
  const saved = await fromSnapshot(log, async ({ thread }) => thread, at)
  let metadata = saved?.metadata
  for await (const page of readLog(log, { after: saved?.head ?? 0, upTo: at }))
    for (const { event } of page) if (event.type === 'metadata') metadata = applyMetadata(metadata, event)
  return metadata
}

/** Applies the next entry to a state without messages. */
export function applyControl(state: ThreadState, entry: Entry): void {
  const event = withoutContent(entry.event)
  if (event) applyEntry(state, { ...entry, event })
  else state.head = entry.seq
  if (state.run) state.run.history.length = 0
}

/** The numbers of the inputs that a new run answers. */
function inputsOf(event: ThreadEvent): readonly number[] {
  return isNewRun(event) ? (event.inputs ?? []) : []
}

/** Events that do not affect what happens next. */
const contentOnly: ReadonlySet<ThreadEvent['type']> = new Set<ThreadEvent['type']>([
  ...(['text', 'reasoning', 'part-end', 'tool-input', 'provider-tool'] as const),
  ...(['checkpoint', 'summary', 'playback', 'metadata'] as const),
])

/** The content fields of the other events, emptied. */
const content: { readonly [Type in ThreadEvent['type']]?: object } = {
  input: { message: emptyMessage, request: undefined },
  rewind: { messages: undefined, request: undefined },
  'run-start': { input: [] },
  'tool-call': { input: {}, raw: undefined, opaque: undefined },
  'tool-result': { output: [], shown: undefined },
  approval: { request: undefined },
}

/** Strips an event of its content. Returns undefined if it does not affect what happens next. */
function withoutContent(event: ThreadEvent): ThreadEvent | undefined {
  if (contentOnly.has(event.type)) return undefined
  if (event.type === 'tool-progress') return event.event?.type === 'approval' ? event : undefined
  return { ...event, ...content[event.type] }
}
