import type {
  Entry,
  FeedbackEvent,
  InputEvent,
  JsonObject,
  ThreadStatus,
  ToolProgressEvent,
  UserMessage,
} from '../protocol/index.ts'
import { countSpend, mergePatch } from '../protocol/index.ts'
import {
  addArguments,
  addProgress,
  closeCall,
  endCall,
  recordDecision,
  requestApproval,
  startCall,
  updateCall,
  updateProviderTool,
} from './fold-call.ts'
import { addText, applyPlayback, endRound, retractRound, retryRound, startRound } from './fold-round.ts'
import { endRun, startRun } from './fold-run.ts'
import { addToUsage, closeText, markChanged, pushNotice } from './parts.ts'
import { rewind } from './rewind.ts'
import type { CallView, Change, LogView, Row } from './types.ts'

export interface ViewOptions {
  /**
   * `round` keeps only the current round, for followers that do not need the past. Default: `all`.
   */
  readonly keep?: 'all' | 'round'
  /** The thread's metadata at the entry that the view starts after, or at a later one. */
  readonly metadata?: JsonObject | undefined
}

export function createView({ keep = 'all', metadata }: ViewOptions = {}): LogView {
  return { ...emptyView('', keep === 'round'), ...(metadata && { metadata }) }
}

function emptyView(keyPrefix: string, onlyRound: boolean): LogView {
  const rows: Row[] = []
  return {
    rows,
    waiting: [],
    versions: new Map(),
    runs: [],
    head: 0,
    version: 0,
    open: {
      keyPrefix,
      onlyRound,
      rows,
      isAnswering: false,
      discarded: [],
      calls: new Map(),
      roundRowsStart: 0,
      isPartial: true,
    },
  }
}

/**
 * Applies the next entry and returns what it changed. The cost does not depend on the length of the
 * log.
 */
export function applyEntry(view: LogView, entry: Entry): Change {
  const change: Change = { entry, delta: '' }
  view.head = entry.seq
  markChanged(view)
  const { run } = view.open
  if (run) {
    run.lastSeq = entry.seq
    markChanged(run).lastAt = entry.at
  }
  fold(view, change)
  const spender = change.run ?? view.open.run
  if (spender) countSpend(spender.spent, entry.event)
  view.open.last = entry
  return change
}

/** The only switch over all events for user interfaces: they read the view. */
function fold(view: LogView, change: Change): void {
  const { event } = change.entry
  switch (event.type) {
    case 'input':
      return addInput(view, change, event)
    case 'stop':
      // The reason is shown at the end of the run.
      for (const input of view.waiting) markChanged(input).held = true
      view.open.isAnswering = false
      return
    case 'rewind':
      return rewind(view, change, event)
    case 'playback':
      return applyPlayback(view, event)
    case 'title':
      view.title = event.title
      return
    case 'metadata':
      view.metadata = mergePatch(view.metadata ?? event.initial ?? {}, event.patch)
      change.metadata = event.patch
      return
    case 'feedback':
      return addFeedback(view, change, event)
    case 'run-start':
      return startRun(view, change, event)
    case 'run-end':
      return endRun(view, change, event)
    case 'round-start':
      startRound(view, change, event)
      return
    case 'round-retry':
      return retryRound(view, change, event)
    case 'round-retract':
      return retractRound(view, change, event)
    case 'round-end':
      return endRound(view, change, event)
    case 'summary': {
      addToUsage(view, event.usage)
      const text = `Earlier messages (${event.replaces}) were summarized for the model.`
      return pushNotice(view, change, { notice: 'summary', text, detail: textOf(event.message) })
    }
    case 'text':
    case 'reasoning':
      return addText(view, change, event)
    case 'part-end':
      return closeText(view, change)
    case 'checkpoint':
      return
    case 'tool-input-start':
      return updateCall(view, change, event, () => {})
    case 'tool-input':
      return updateCall(view, change, event, addArguments)
    case 'tool-call':
      return updateCall(view, change, event, closeCall)
    case 'tool-start':
      return updateCall(view, change, event, startCall)
    case 'tool-progress':
      return updateCall(view, change, event, addProgressEvent)
    case 'tool-result':
      return updateCall(view, change, event, endCall)
    case 'approval-request':
      return updateCall(view, change, event, requestApproval)
    case 'approval':
      return updateCall(view, change, event, recordDecision)
    case 'provider-tool':
      return updateCall(view, change, event, updateProviderTool)
    default:
      event satisfies never
  }
}

function addInput(view: LogView, change: Change, { message, mode }: InputEvent): void {
  const { seq, at } = change.entry
  if (mode === 'correct') {
    const text = 'The agent asked for a better answer.'
    return pushNotice(view, change, { notice: 'correction', text, detail: textOf(message) })
  }
  change.input = {
    kind: 'input',
    key: view.open.keyPrefix + seq,
    version: 0,
    seq,
    at,
    message,
    // Speech is always sent as `interrupt`, even if there is nothing to interrupt.
    mode: mode === 'interrupt' && statusOf(view) === 'idle' ? 'queue' : mode,
    held: false,
  }
  const place = view.open.keyPrefix ? view.open.rows : view.waiting
  place.push(change.input)
}

function addFeedback(view: LogView, { entry }: Change, event: FeedbackEvent): void {
  const run = view.runs.findLast(({ id }) => id === event.run)
  if (!run) return
  const { user = '', rating, note } = event
  if (rating === undefined && note === undefined) run.feedback.delete(user)
  else run.feedback.set(user, { ...event, at: entry.at })
  // The end of the run is drawn again, too: it has the same version.
  markChanged(run)
}

function addProgressEvent(call: CallView, change: Change, { data = null, event }: ToolProgressEvent): void {
  if (!event) return addProgress(call, change, data)
  call.inner ??= emptyView('inner-', false)
  change.inner = applyEntry(call.inner, { ...change.entry, event })
}

/** The text of a message. */
export function textOf({ content }: UserMessage): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** `queued`: an input waits for a run to start. `waiting`: for a person. */
export function statusOf(view: LogView): ThreadStatus {
  if (view.open.run) return 'running'
  if (view.runs.at(-1)?.outcome === 'suspended') return 'waiting'
  return view.open.isAnswering || view.waiting.some(({ held }) => !held) ? 'queued' : 'idle'
}
