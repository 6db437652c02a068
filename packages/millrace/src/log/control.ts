import type { Entry, ThreadEvent, ThreadState, UserMessage } from '../protocol/index.ts'
import { applyEntry, emptyThread, isNewRun } from '../protocol/index.ts'
import type { Log } from './read-log.ts'
import { findLast, readLog } from './read-log.ts'

const noWords: UserMessage = { role: 'user', content: '' }

/**
 * What a thread has to do, and what waits in it, at a number of its log: its state without messages, usage and what was before the
 * current run. Takes as long as that run, however long the log is.
 */
export async function controlAt(log: Log, at: number): Promise<ThreadState> {
  const state = emptyThread()
  const start = await findLast(log, at, ({ event }) => inputsOf(event).length > 0)
  // A run hears everything that waits up to the last input that it answers, so whatever still waits came after that.
  if (start) state.head = inputsOf(start.event).reduce((last, seq) => Math.max(last, seq), 0)
  for await (const page of readLog(log, { after: state.head, upTo: at }))
    for (const entry of page) applyControl(state, entry)
  return state
}

/** Takes the next entry into a state without messages. */
export function applyControl(state: ThreadState, entry: Entry): void {
  const event = withoutContent(entry.event)
  if (event) applyEntry(state, { ...entry, event })
  else state.head = entry.seq
  if (state.run) state.run.history.length = 0
}

/** The numbers of the inputs that a new run answers. */
function inputsOf(event: ThreadEvent): readonly number[] {
  return isNewRun(event) ? (event.heard ?? []) : []
}

/** Events that decide nothing about what comes next. */
const contentOnly: ReadonlySet<ThreadEvent['type']> = new Set<ThreadEvent['type']>([
  ...(['text', 'reasoning', 'part-end', 'tool-input', 'provider-tool'] as const),
  ...(['checkpoint', 'summary', 'heard'] as const),
])

/** What is content of the others. */
const content: { readonly [Type in ThreadEvent['type']]?: object } = {
  input: { message: noWords },
  'run-start': { input: [] },
  'tool-call': { input: {}, raw: undefined, opaque: undefined },
  'tool-result': { output: [], shown: undefined },
}

/** What of an event decides about what comes next; undefined if nothing does. */
function withoutContent(event: ThreadEvent): ThreadEvent | undefined {
  if (contentOnly.has(event.type)) return undefined
  if (event.type === 'tool-progress') return event.event?.type === 'approval' ? event : undefined
  return { ...event, ...content[event.type] }
}
