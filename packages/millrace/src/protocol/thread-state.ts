import type { ErrorJson } from './errors.ts'
import type {
  ApprovalEvent,
  Entry,
  InputMode,
  RewindEvent,
  RunEvent,
  RunStartEvent,
  ThreadEvent,
} from './events.ts'
import type { Message, UserMessage } from './messages.ts'
import type { MetadataState } from './metadata.ts'
import { appendMetadata, applyMetadata, numberMetadata } from './metadata.ts'
import type { RunRequest } from './run-request.ts'
import type { RunState } from './run-state.ts'
import {
  applyEvent,
  applyPlayback,
  emptyState,
  messagesOf,
  openRequests,
  rewindTo,
  stateAfter,
  transcriptOf,
} from './run-state.ts'
import type { Spent } from './spend.ts'
import { addSpent, nothingSpent } from './spend.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

/** An input to a thread that no run has read yet, or a `rewind` that no run has answered yet. */
export interface WaitingInput {
  readonly seq: number
  /** Absent for a `rewind`: what it answers is in the conversation. */
  readonly message?: UserMessage | undefined
  readonly mode: InputMode
  readonly request?: RunRequest | undefined
  /** A stop came after it: no run is started for it, but the next run reads it. */
  held: boolean
  /** The conversation was rewound to before it: the next run takes it without reading it. */
  discarded?: boolean
  /** The trace context of the sender. */
  readonly trace?: string | undefined
}

/** A thread as a fold of its log. */
export interface ThreadState {
  /** The number of the last entry; 0 if there is none. */
  head: number
  /** The current or last run; undefined before the first. */
  run: RunState | undefined
  agent: string | undefined
  waiting: WaitingInput[]
  /** How many of the waiting inputs interrupt the current run. */
  interrupts: number
  /** The number of the first decision for each call that needed approval. */
  readonly decisions: Map<string, number>
  /**
   * The number of the last input the current run was started for: a stop after it applies to that
   * run.
   */
  answering: number
  stop: { readonly seq: number; readonly reason: string } | undefined
  /**
   * Rewinds that no run has taken yet. They apply at the end of each run that started without
   * knowing of them.
   */
  rewinds: { readonly seq: number; readonly event: RewindEvent }[]
  /** The usage of the runs before the current one. */
  earlierUsage: Usage
  earlierSpent: Spent
  /** When the process that works on the run started, and when it wrote its last entry. */
  workedFrom: number
  workedUntil: number
  error: ErrorJson | undefined
  /** Undefined until an entry changes it: then it is what the thread was created with. */
  metadata: MetadataState | undefined
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
    rewinds: [],
    earlierUsage: noUsage,
    earlierSpent: nothingSpent(),
    workedFrom: 0,
    workedUntil: 0,
    error: undefined,
    metadata: undefined,
  }
}

/** Applies the next entry of the log. Deltas may be joined. */
export function applyEntry(state: ThreadState, { seq, at, event }: Entry): void {
  state.head = seq
  countTime(state, event, at)
  apply(state, event, seq)
}

/** Signals come from others, at any time. */
const signals: ReadonlySet<string> = new Set([
  'input',
  'approval',
  'stop',
  'playback',
  'rewind',
  'title',
  'metadata',
  'feedback',
])

function countTime(state: ThreadState, { type }: ThreadEvent, at: number) {
  if (type === 'run-start') state.workedFrom = state.workedUntil = at
  else if (!signals.has(type)) state.workedUntil = at
}

/**
 * Applies an event of the current run before it has a number. Call `applyNumber` once the number is
 * known.
 */
export function applyAppended(state: ThreadState, event: RunEvent): void {
  apply(state, event, undefined)
}

export function applyNumber(state: ThreadState, { seq, at, event }: Entry): void {
  state.head = seq
  countTime(state, event, at)
  if (event.type === 'approval') recordDecision(state, event, seq)
  if (event.type === 'metadata') numberMetadata(state.metadata)
}

function apply(state: ThreadState, event: ThreadEvent, seq: number | undefined): void {
  switch (event.type) {
    case 'input':
      // The agent's own corrections, and inputs to a run outside of any thread, belong to the run.
      if (event.mode === 'correct' || seq === undefined) break
      if (event.mode === 'interrupt') state.interrupts++
      state.waiting.push({
        seq,
        message: event.message,
        mode: event.mode,
        held: false,
        ...(event.request && { request: event.request }),
        ...(event.trace !== undefined && { trace: event.trace }),
      })
      return
    case 'stop':
      state.stop = { seq: seq ?? state.head, reason: event.reason }
      for (const input of state.waiting) input.held = true
      state.interrupts = 0
      return
    case 'playback':
      if (state.run) applyPlayback(state.run, event)
      return
    // What the model reads does not depend on these.
    case 'title':
    case 'feedback':
      return
    case 'metadata':
      state.metadata = (seq === undefined ? appendMetadata : applyMetadata)(state.metadata, event)
      return
    case 'rewind':
      return rewind(state, event, seq ?? state.head)
    case 'run-start':
      state.agent = event.agent
      state.error = undefined
      if (event.resumes === undefined) startRun(state, event)
      break
    case 'round-start':
      for (const { message, request } of takeInputs(state, event.inputs)) {
        if (message) state.run?.inputs.push(message)
        if (state.run && request) state.run.nextRequest = request
      }
      break
    case 'approval':
      if (seq !== undefined) recordDecision(state, event, seq)
      break
    case 'run-end':
      state.error = event.error
      if (state.run) applyEvent(state.run, event)
      return applyRewinds(state)
    // The rest only concerns the run.
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

/** Results of calls that a client has run are not recorded: a second one is ignored. */
function recordDecision({ decisions }: ThreadState, { callId, output }: ApprovalEvent, seq: number) {
  if (!output && !decisions.has(callId)) decisions.set(callId, seq)
}

function rewind(state: ThreadState, event: RewindEvent, seq: number) {
  for (const input of state.waiting) if (input.message && input.seq >= event.before) input.discarded = true
  state.interrupts = state.waiting.filter(interrupts).length
  if (event.keep === undefined) return
  state.stop = { seq, reason: 'the conversation was rewound' }
  // What an earlier rewind would have answered is replaced.
  for (const input of state.waiting) if (!input.message) input.held = true
  state.waiting.push({
    seq,
    mode: 'queue',
    held: !event.answer,
    ...(event.request && { request: event.request }),
  })
  state.rewinds.push({ seq, event })
  applyRewinds(state)
}

/** A run in progress needs its messages until it has ended. Applying a rewind twice is harmless. */
function applyRewinds(state: ThreadState) {
  if (state.run && isOpen(state.run)) return
  for (const { event } of state.rewinds) {
    state.run ??= { ...emptyState(), outcome: 'completed' }
    rewindTo(state.run, event)
  }
}

/** A run starts with the conversation of the runs before it, and the inputs it answers. */
function startRun(state: ThreadState, { inputs = [], discarded = [] }: RunStartEvent) {
  const before = state.run
  const run = before ? stateAfter(before) : emptyState()
  if (before) {
    state.earlierUsage = addUsage(state.earlierUsage, before.usage)
    state.earlierSpent = addSpent(state.earlierSpent, before.spent)
  }
  for (const { message, request } of takeInputs(state, inputs)) {
    if (message) run.history.push(message)
    if (request) run.request = request
  }
  takeInputs(state, discarded)
  state.answering = inputs.reduce((last, seq) => Math.max(last, seq), 0)
  state.rewinds = state.rewinds.filter(({ seq }) => seq > state.answering)
  state.run = run
}

function takeInputs(state: ThreadState, inputs: readonly number[] = []): WaitingInput[] {
  if (inputs.length === 0) return []
  const numbers = new Set(inputs)
  const taken = state.waiting.filter(({ seq }) => numbers.has(seq))
  state.waiting = state.waiting.filter(({ seq }) => !numbers.has(seq))
  state.interrupts = state.waiting.filter(interrupts).length
  return taken
}

/** The inputs that steer the current run: its next round reads them. */
export function steeringInputs({ waiting }: ThreadState): readonly WaitingInput[] {
  return waiting.filter((input) => input.mode === 'steer' && isWanted(input))
}

/** What the next round of the current run reads. */
export function nextRequestOf(state: ThreadState): RunRequest | undefined {
  const steering = steeringInputs(state).findLast(({ request }) => request)?.request
  return steering ?? state.run?.nextRequest ?? state.run?.request
}

/** The conversation as the model reads it in the next round. */
export function promptOf(state: ThreadState): Message[] {
  const messages = state.run ? messagesOf(state.run) : []
  for (const { message } of steeringInputs(state)) if (message) messages.push(message)
  return messages
}

function interrupts(input: WaitingInput): boolean {
  return input.mode === 'interrupt' && isWanted(input)
}

/** Whether a run is started for the input. */
export function isWanted({ held, discarded = false }: WaitingInput): boolean {
  return !held && !discarded
}

/** The inputs that a run will read, in order. */
export function queuedInputs({ waiting }: ThreadState) {
  return waiting.flatMap(({ seq, mode, message, request, held, discarded }) =>
    message && !discarded ? [{ seq, mode, message, request, held }] : [],
  )
}

/**
 * - `idle`: nothing to do until the next input; `wait`: nothing to do until a person decides
 * - `start`: start a run for these inputs
 * - `continue`: continue a run whose process died, or whose approval was decided
 * - `cancel`: end the current run, running or suspended
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
  const wanted = waiting.filter(isWanted)
  const last = wanted.findLast(({ mode }) => mode === 'interrupt') ?? wanted[0]
  if (!last) return { type: 'idle' }
  // A rewind must not apply to the run that knows of it.
  const rewound = waiting.findLast(({ message }) => !message)
  const end = Math.max(last.seq, rewound?.seq ?? 0)
  // Earlier inputs are included, so that the conversation keeps its order.
  return { type: 'start', inputs: waiting.filter(({ seq }) => seq <= end) }
}

/** Whether a call that waited for a person can proceed. */
function hasDecided({ calls, budgetRequest, budgetDecision }: RunState): boolean {
  if (budgetRequest) return budgetDecision !== undefined
  for (const { result, waiting } of calls.values()) if (!result && !waiting) return true
  return false
}

/** Why the current run must end now; undefined if it may continue. */
export function cancelReason({ stop, answering, interrupts }: ThreadState): string | undefined {
  if (stop && stop.seq > answering) return stop.reason
  return interrupts > 0 ? 'interrupted by a new message' : undefined
}

/** Whether the run is not finished: it is running, or waits for a person. */
export function isOpen({ outcome }: RunState): boolean {
  return outcome === undefined || outcome === 'suspended'
}

/** Whether the event starts a new run, rather than resuming one. */
export function isNewRun(event: ThreadEvent): event is RunStartEvent {
  return event.type === 'run-start' && event.resumes === undefined
}

/**
 * The whole conversation, including messages replaced by a summary and inputs that no run has read
 * yet.
 */
export function conversationOf(state: ThreadState): Message[] {
  return [...transcript(state).messages, ...queuedInputs(state).map(({ message }) => message)]
}

/** How many messages at the start of the conversation are not in memory. */
export function droppedOf(state: ThreadState): number {
  return transcript(state).dropped
}

/** The conversation without waiting inputs, after rewinds that have not been applied yet. */
function transcript({ run, rewinds }: ThreadState) {
  let messages = run ? transcriptOf(run) : []
  let dropped = run?.dropped ?? 0
  for (const { event } of run && isOpen(run) ? rewinds : []) {
    const { keep = 0, messages: restored = [] } = event
    messages = [...messages.slice(0, Math.max(0, keep - dropped)), ...restored]
    dropped = Math.min(dropped, keep)
  }
  return { messages, dropped }
}

export function approvalsOf({ run }: ThreadState) {
  return run && isOpen(run) ? openRequests(run) : []
}

/** What the thread has spent, with sub-agents, summaries and failed requests. */
export function spentIn({ run, earlierSpent }: ThreadState): Spent {
  return run ? addSpent(earlierSpent, run.spent) : earlierSpent
}

export function usageOf({ run, earlierUsage }: ThreadState): Usage {
  return run ? addUsage(earlierUsage, run.usage) : earlierUsage
}
