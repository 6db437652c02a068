import type { ErrorJson } from './errors.ts'
import type { ApprovalEvent, Entry, InputMode, RunEvent, RunStartEvent, ThreadEvent } from './events.ts'
import type { Message, UserMessage } from './messages.ts'
import type { RunState } from './run-state.ts'
import {
  applyEvent,
  applyHeard,
  emptyState,
  messagesOf,
  openRequests,
  stateAfter,
  transcriptOf,
} from './run-state.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

/** Something said to a thread that no run has heard yet. */
export interface WaitingInput {
  readonly seq: number
  readonly message: UserMessage
  readonly mode: InputMode
  /** Said before a stop: nothing is begun for it, but the next run hears it. */
  held: boolean
  /** The trace context of whoever said it. */
  readonly trace?: string | undefined
}

/** A thread as a fold of its log. */
export interface ThreadState {
  /** The number of the last entry; 0 if there is none. */
  head: number
  /** The current run or, after it, the last one; undefined before the first. */
  run: RunState | undefined
  agent: string | undefined
  waiting: WaitingInput[]
  /** How many of those interrupt the current run. */
  interrupts: number
  /** The number of the first decision about each call that a person was asked about. */
  readonly decisions: Map<string, number>
  /** The largest number that the current run was begun for: a stop behind it is meant for that run. */
  answering: number
  stop: { readonly seq: number; readonly reason: string } | undefined
  /** Of the runs before the current one. */
  earlierUsage: Usage
  error: ErrorJson | undefined
}

export function emptyThread(): ThreadState {
  return {
    head: 0,
    run: undefined,
    agent: undefined,
    waiting: [],
    interrupts: 0,
    decisions: new Map(),
    answering: 0,
    stop: undefined,
    earlierUsage: noUsage,
    error: undefined,
  }
}

/** Takes the next entry of the log. Deltas may be joined. */
export function applyEntry(state: ThreadState, { seq, event }: Entry): void {
  state.head = seq
  apply(state, event, seq)
}

/** Takes an event of the current run before it has a number. `applyNumber` takes that when it is known. */
export function applyAppended(state: ThreadState, event: RunEvent): void {
  apply(state, event, undefined)
}

export function applyNumber(state: ThreadState, { seq, event }: Entry): void {
  state.head = seq
  if (event.type === 'approval') keepDecision(state, event, seq)
}

function apply(state: ThreadState, event: ThreadEvent, seq: number | undefined): void {
  switch (event.type) {
    case 'input':
      // The agent's own words to the model, and those to a run outside of any thread, belong to the run.
      if (event.mode === 'correct' || seq === undefined) break
      if (event.mode === 'interrupt') state.interrupts++
      state.waiting.push({
        seq,
        message: event.message,
        mode: event.mode,
        held: false,
        ...(event.trace !== undefined && { trace: event.trace }),
      })
      return
    case 'stop':
      state.stop = { seq: seq ?? state.head, reason: event.reason }
      for (const input of state.waiting) input.held = true
      state.interrupts = 0
      return
    case 'heard':
      if (state.run) applyHeard(state.run, event)
      return
    case 'run-start':
      state.agent = event.agent
      state.error = undefined
      if (event.resumes === undefined) beginRun(state, event.heard)
      break
    case 'round-start':
      for (const { message } of takeHeard(state, event.heard)) state.run?.inputs.push(message)
      break
    case 'approval':
      if (seq !== undefined) keepDecision(state, event, seq)
      break
    case 'run-end':
      state.error = event.error
      break
    // The rest is only the run's.
    case 'round-retry':
    case 'round-retract':
    case 'round-end':
    case 'text':
    case 'reasoning':
    case 'part-end':
    case 'checkpoint':
    case 'summary':
    case 'tool-input-start':
    case 'tool-input':
    case 'tool-call':
    case 'tool-start':
    case 'tool-progress':
    case 'tool-result':
    case 'provider-tool':
    case 'approval-request':
      break
    default:
      event satisfies never
  }
  if (state.run) applyEvent(state.run, event)
}

function keepDecision({ decisions }: ThreadState, { callId }: ApprovalEvent, seq: number) {
  if (!decisions.has(callId)) decisions.set(callId, seq)
}

/** A run begins with the conversation as the runs before it have left it, and what it was begun for. */
function beginRun(state: ThreadState, heard: readonly number[] = []) {
  const before = state.run
  const run = before ? stateAfter(before) : emptyState()
  if (before) state.earlierUsage = addUsage(state.earlierUsage, before.usage)
  for (const { message } of takeHeard(state, heard)) run.history.push(message)
  state.answering = heard.reduce((last, seq) => Math.max(last, seq), 0)
  state.run = run
}

function takeHeard(state: ThreadState, heard: readonly number[] = []): WaitingInput[] {
  if (heard.length === 0) return []
  const numbers = new Set(heard)
  const taken = state.waiting.filter(({ seq }) => numbers.has(seq))
  state.waiting = state.waiting.filter(({ seq }) => !numbers.has(seq))
  state.interrupts = state.waiting.filter(interrupts).length
  return taken
}

/** What was said to the thread for the run under way: its next round reads it. */
export function steeringInputs({ waiting }: ThreadState): readonly WaitingInput[] {
  return waiting.filter(({ mode, held }) => mode === 'steer' && !held)
}

/** The conversation as the model reads it in the next round. */
export function promptOf(state: ThreadState): Message[] {
  const messages = state.run ? messagesOf(state.run) : []
  for (const { message } of steeringInputs(state)) messages.push(message)
  return messages
}

function interrupts({ mode, held }: WaitingInput): boolean {
  return mode === 'interrupt' && !held
}

/**
 * - `idle`: nothing to do before somebody says something; `wait`: nor before a person decides
 * - `start`: begin a run for these inputs
 * - `continue`: go on with a run whose process is gone, or that a person has decided about
 * - `cancel`: the run that is under way, or waits, is to end
 */
export type ThreadAction =
  | { readonly type: 'idle' | 'wait' | 'continue' }
  | { readonly type: 'start'; readonly inputs: readonly WaitingInput[] }
  | { readonly type: 'cancel'; readonly reason: string }

/** What happens next in a thread: a pure function of its log. */
export function nextThreadAction(state: ThreadState): ThreadAction {
  const { run, waiting } = state
  if (run && isOpen(run)) {
    const reason = cancelReason(state)
    if (reason !== undefined) return { type: 'cancel', reason }
    if (run.outcome === undefined) return { type: 'continue' }
    return { type: hasDecided(run) ? 'continue' : 'wait' }
  }
  const wanted = waiting.filter(({ held }) => !held)
  const last = wanted.findLast(({ mode }) => mode === 'interrupt') ?? wanted[0]
  if (!last) return { type: 'idle' }
  // What was said before it comes along, so that the conversation keeps its order.
  return { type: 'start', inputs: waiting.filter(({ seq }) => seq <= last.seq) }
}

/** Whether a call can go on that waited for a person. */
function hasDecided({ calls }: RunState): boolean {
  for (const { result, waiting } of calls.values()) if (!result && !waiting) return true
  return false
}

/** Why the current run is to end now; undefined if it is to go on. */
export function cancelReason({ stop, answering, interrupts }: ThreadState): string | undefined {
  if (stop && stop.seq > answering) return stop.reason
  return interrupts > 0 ? 'interrupted by a new message' : undefined
}

/** It goes on sooner or later: it is under way, or waits for a person. */
export function isOpen({ outcome }: RunState): boolean {
  return outcome === undefined || outcome === 'suspended'
}

/** The beginning of a run, and not of a process that continues one. */
export function isNewRun(event: ThreadEvent): event is RunStartEvent {
  return event.type === 'run-start' && event.resumes === undefined
}

/** Everything that was said, also what the model reads only a summary of, and what waits to be heard. */
export function conversationOf({ run, waiting }: ThreadState): Message[] {
  return [...(run ? transcriptOf(run) : []), ...waiting.map(({ message }) => message)]
}

export function approvalsOf({ run }: ThreadState) {
  return run && isOpen(run) ? openRequests(run) : []
}

export function usageOf({ run, earlierUsage }: ThreadState): Usage {
  return run ? addUsage(earlierUsage, run.usage) : earlierUsage
}
