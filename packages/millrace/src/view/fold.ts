import type { Entry, InputEvent, ThreadStatus, ToolProgressEvent, UserMessage } from '../protocol/index.ts'
import {
  addArguments,
  addProgress,
  askAbout,
  closeCall,
  decide,
  endCall,
  onCall,
  runByProvider,
  startCall,
} from './fold-call.ts'
import { addText, beginRound, endRound, hearRound, retractRound, retryRound } from './fold-round.ts'
import { beginRun, endRun } from './fold-run.ts'
import { changed, closeText, count, pushNotice } from './parts.ts'
import type { CallView, Change, LogView } from './types.ts'

export interface ViewOptions {
  /** `round`: only the current round is kept, for a follower that shows and forgets. Everything is unless you say so. */
  readonly keep?: 'all' | 'round'
}

export function createView({ keep = 'all' }: ViewOptions = {}): LogView {
  return emptyView('', keep === 'round')
}

function emptyView(keys: string, onlyRound: boolean): LogView {
  return {
    rows: [],
    waiting: [],
    runs: [],
    head: 0,
    version: 0,
    open: {
      keys,
      onlyRound,
      calls: new Map(),
      rowsFrom: 0,
      partial: true,
    },
  }
}

/** Takes the next entry and gives what it changed. Costs the same however long the log is. */
export function take(view: LogView, entry: Entry): Change {
  const change: Change = { entry, delta: '' }
  view.head = entry.seq
  changed(view)
  const { run } = view.open
  if (run) {
    run.lastSeq = entry.seq
    changed(run).lastAt = entry.at
  }
  fold(view, change)
  view.open.last = entry
  return change
}

/** The one switch over all events for people: a follower reads the view. */
function fold(view: LogView, change: Change): void {
  const { event } = change.entry
  switch (event.type) {
    case 'input':
      return addInput(view, change, event)
    case 'stop':
      // The end of the run gives the reason.
      for (const input of view.waiting) changed(input).held = true
      return
    case 'heard':
      return hearRound(view, event)
    case 'run-start':
      return beginRun(view, change, event)
    case 'run-end':
      return endRun(view, change, event)
    case 'round-start':
      beginRound(view, change, event)
      return
    case 'round-retry':
      return retryRound(view, change, event)
    case 'round-retract':
      return retractRound(view, change, event)
    case 'round-end':
      return endRound(view, change, event)
    case 'summary': {
      count(view, event.usage)
      const text = `Earlier messages (${event.replaces}) were summed up for the model.`
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
      return onCall(view, change, event, () => {})
    case 'tool-input':
      return onCall(view, change, event, addArguments)
    case 'tool-call':
      return onCall(view, change, event, closeCall)
    case 'tool-start':
      return onCall(view, change, event, startCall)
    case 'tool-progress':
      return onCall(view, change, event, addReport)
    case 'tool-result':
      return onCall(view, change, event, endCall)
    case 'approval-request':
      return onCall(view, change, event, askAbout)
    case 'approval':
      return onCall(view, change, event, decide)
    case 'provider-tool':
      return onCall(view, change, event, runByProvider)
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
    key: view.open.keys + seq,
    version: 0,
    seq,
    at,
    message,
    // What a microphone hears interrupts whatever there is, which may be nothing.
    mode: mode === 'interrupt' && statusOf(view) === 'idle' ? 'queue' : mode,
    held: false,
  }
  const place = view.open.keys ? view.rows : view.waiting
  place.push(change.input)
}

function addReport(call: CallView, change: Change, { data = null, event }: ToolProgressEvent): void {
  if (!event) return addProgress(call, change, data)
  call.inner ??= emptyView('inner-', false)
  change.inner = take(call.inner, { ...change.entry, event })
}

/** What a message says in words. */
export function textOf({ content }: UserMessage): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

/** `queued`: there is an input that is answered soon. `waiting`: for a person. */
export function statusOf(view: LogView): ThreadStatus {
  if (view.open.run) return 'running'
  if (view.runs.at(-1)?.outcome === 'suspended') return 'waiting'
  return view.waiting.some(({ held }) => !held) ? 'queued' : 'idle'
}
