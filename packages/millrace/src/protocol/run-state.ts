import type { AmountKind, BudgetScope, ContextUse, ReachedLimit } from './cost.ts'
import type { AssistantDraft } from './draft.ts'
import { assistantDraft } from './draft.ts'
import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  ModelEvent,
  Outcome,
  PlaybackEvent,
  RewindEvent,
  RoundEndEvent,
  RoundFinish,
  RoundStartEvent,
  RunEvent,
  SummaryEvent,
  ToolCallEvent,
  ToolResultEvent,
} from './events.ts'
import type { JsonObject } from './json.ts'
import type {
  AssistantMessage,
  Message,
  ProviderData,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from './messages.ts'
import { trimToPlayed } from './playback.ts'
import type { RunRequest } from './run-request.ts'
import type { Spent } from './spend.ts'
import { countSpend, nothingSpent } from './spend.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

/** The state of one tool call of the current round. */
export interface CallState {
  readonly call: ToolCallEvent
  /** How often it was started. */
  attempts: number
  /** It was started, and has neither ended nor stopped to ask a person. */
  inFlight: boolean
  /** The input it ran with, if not the model's. */
  input?: JsonObject
  /**
   * Its approval requests, and the decisions so far. By the call's own id or, if the call runs a
   * sub-agent that asks, by an id below it: `call_1/call_7`.
   */
  readonly requests: Map<string, ApprovalRequestEvent>
  readonly decisions: Map<string, ApprovalEvent>
  /** It cannot proceed until a person decides. */
  waiting: boolean
  /** The events of the sub-agent it runs. */
  readonly relayed: RunEvent[]
  result?: ToolResultEvent
}

/** A model event as it appears in the log of a run. */
type ModelOutput = Extract<RunEvent, ModelEvent>

/** A call that ran, with its result. */
interface RecentResult {
  readonly name: string
  readonly input: JsonObject
  readonly output: readonly ToolResultPart[]
}

/** How many are kept, for the guard against a model that repeats the same call. */
const maxRecent = 100

/**
 * A run as a fold of its log. Nothing else decides what happens next, so a run that was suspended
 * or interrupted at any point can be continued from its events alone.
 */
export interface RunState {
  runId: string
  /** Its trace context, if it is traced. */
  trace: string | undefined
  /** The first run of a chain of resumed ones. */
  originId: string
  /** The conversation up to the current round. */
  readonly history: Message[]
  /** The messages that the model no longer reads, since a summary replaces them. */
  readonly forgotten: Message[]
  /** How many messages at the start of the transcript are not in memory. */
  dropped: number
  /** The index of each answer in the transcript, by run and round. */
  answers: Map<string, number>
  /**
   * How many messages at the front of the history replace `forgotten`: system messages and the
   * summary.
   */
  summaries: number
  /**
   * The front of the history and the number of messages it replaced before the first summary of
   * this run: for a rewind that does not know of the summary.
   */
  unsummarized: { readonly front: readonly Message[]; readonly count: number } | undefined
  /**
   * Inputs to the run itself since the current round started; the next round reads them. Inputs to
   * its thread wait there.
   */
  inputs: UserMessage[]
  /** What came with the last of its inputs, results or decisions that had something with it. */
  request: RunRequest | undefined
  /** The first round that reads `request`. A forced tool choice holds only there. */
  requestRound: number
  /** What came since the current round started. It replaces `request` in the next round. */
  nextRequest: RunRequest | undefined
  /** 0 before the first round. */
  round: number
  /** The model that generates the current round. */
  model: string
  /** `none` before the first round and after a retraction. */
  phase: 'none' | 'generating' | 'generated'
  draft: AssistantDraft
  /** How many characters of the draft's text were played; undefined if it was not interrupted. */
  playedChars: number | undefined
  /** Calls whose arguments are not complete yet. */
  readonly openInputs: Map<string, { name: string; raw: string }>
  /** The calls of the current round, in the order in which their arguments were completed. */
  readonly calls: Map<string, CallState>
  /** The latest results of calls that ran, over all rounds. */
  recent: RecentResult[]
  /** Where the provider can continue the current generation, and the events since then. */
  checkpoint: { readonly opaque: ProviderData; readonly since: ModelOutput[] } | undefined
  /** Every tool call id used in the conversation. */
  readonly callIds: Set<string>
  /** The rules that people allowed along with calls, for the rest of the conversation. */
  granted: string[]
  /** Rounds before this one that ran tools. */
  toolRounds: number
  /** How often the agent has asked for a better structured answer. */
  corrections: number
  /** The text of the last round. */
  text: string
  usage: Usage
  /** With sub-agents, summaries and failed requests. */
  spent: Spent
  /** A limit that a person is asked to raise before the next round, and the decision. */
  budgetRequest: ApprovalRequestEvent | undefined
  budgetDecision: ApprovalEvent | undefined
  /** The limits that people have raised for this run. */
  allowed: { [Key in `${BudgetScope}.${AmountKind}`]?: number }
  /** How full the context was after the last round. */
  context: ContextUse | undefined
  /**
   * The length of the conversation in tokens after the last round; undefined before the first and
   * after a summary.
   */
  contextTokens: number | undefined
  finish: RoundFinish | undefined
  outcome: Outcome | undefined
  /** The limit that ended it. */
  limit: ReachedLimit | undefined
}

export function emptyState(): RunState {
  return {
    runId: '',
    trace: undefined,
    originId: '',
    history: [],
    forgotten: [],
    dropped: 0,
    answers: new Map(),
    summaries: 0,
    unsummarized: undefined,
    inputs: [],
    request: undefined,
    requestRound: 1,
    nextRequest: undefined,
    round: 0,
    model: '',
    phase: 'none',
    draft: assistantDraft(),
    playedChars: undefined,
    openInputs: new Map(),
    calls: new Map(),
    recent: [],
    checkpoint: undefined,
    callIds: new Set(),
    granted: [],
    toolRounds: 0,
    corrections: 0,
    text: '',
    usage: noUsage,
    spent: nothingSpent(),
    budgetRequest: undefined,
    budgetDecision: undefined,
    allowed: {},
    context: undefined,
    contextTokens: undefined,
    finish: undefined,
    outcome: undefined,
    limit: undefined,
  }
}

export function foldLog(events: Iterable<RunEvent>): RunState {
  const state = emptyState()
  for (const event of events) applyEvent(state, event)
  return state
}

/** Applies the next event of the log. Deltas may be single or joined. */
export function applyEvent(state: RunState, event: RunEvent): void {
  switch (event.type) {
    case 'run-start': {
      state.runId = event.runId
      state.trace = event.trace
      state.outcome = undefined
      if (!event.resumes) state.originId = event.runId
      countSpend(state.spent, event)
      for (const message of event.input) addMessage(state, message)
      return
    }
    case 'round-start':
      countSpend(state.spent, event)
      return startRound(state, event)
    case 'text':
    case 'reasoning':
    case 'part-end':
    case 'provider-tool':
      state.checkpoint?.since.push(event)
      return state.draft.push(event)
    case 'checkpoint':
      state.checkpoint = event.opaque && { opaque: event.opaque, since: [] }
      return
    case 'tool-input-start':
      state.checkpoint?.since.push(event)
      state.callIds.add(event.callId)
      state.openInputs.set(event.callId, { name: event.name, raw: '' })
      return
    case 'tool-input': {
      state.checkpoint?.since.push(event)
      const input = state.openInputs.get(event.callId)
      if (input) input.raw += event.delta
      return
    }
    case 'tool-call':
      state.checkpoint?.since.push(event)
      state.openInputs.delete(event.callId)
      state.draft.push(event)
      state.callIds.add(event.callId)
      state.calls.set(event.callId, {
        call: event,
        attempts: 0,
        inFlight: false,
        requests: new Map(),
        decisions: new Map(),
        waiting: false,
        relayed: [],
      })
      return
    case 'round-retract':
      countSpend(state.spent, event)
      resetRound(state)
      // The same round is generated again, unless the log ends here.
      state.phase = 'none'
      return
    case 'round-retry':
      countSpend(state.spent, event)
      state.phase = 'generating'
      state.model = event.model
      return
    case 'round-end':
      state.phase = 'generated'
      state.checkpoint = undefined
      state.openInputs.clear()
      state.finish = event.finish
      state.text = state.draft.text
      countSpend(state.spent, event)
      if (event.context) state.context = event.context
      if (event.usage) countRound(state, event)
      return
    case 'tool-start':
      return updateCall(state, event.callId, (call) => {
        call.attempts = event.attempt
        call.inFlight = true
        call.waiting = false
        if (event.input) call.input = event.input
      })
    case 'tool-progress':
      if (event.name !== undefined) countSpend(state.spent, event)
      return updateCall(state, event.callId, (call) => {
        if (!event.event) return
        call.relayed.push(event.event)
        // The decision has reached the sub-agent, and is now in its own log.
        if (event.event.type !== 'approval') return
        const id = `${event.callId}/${event.event.callId}`
        call.requests.delete(id)
        call.decisions.delete(id)
      })
    case 'tool-result':
      countSpend(state.spent, event)
      return updateCall(state, event.callId, (call) => {
        call.result = event
        if (call.attempts > 0) keepRecent(state, call, event)
      })
    case 'approval-request':
      if (event.budget && !event.callId.includes('/')) return requestBudget(state, event)
      return updateCall(state, event.callId, (call) => {
        call.requests.set(event.callId, event)
        call.inFlight = false
        // It was approved, and a client has to run it now.
        if (event.wants) call.decisions.delete(event.callId)
        // A decision made while the sub-agent was running has not reached it yet.
        call.waiting = ![...call.decisions.keys()].some((id) => id.includes('/'))
      })
    case 'approval':
      if (event.callId === state.budgetRequest?.callId) return decideBudget(state, event)
      if (event.approved && event.remember) grant(state, event.remember.rules)
      return updateCall(state, event.callId, (call) => {
        call.waiting = false
        // The first decision counts.
        if (call.decisions.has(event.callId)) return
        call.decisions.set(event.callId, event)
        if (event.request) state.nextRequest = event.request
      })
    case 'input':
      state.inputs.push(event.message)
      if (event.mode === 'correct') state.corrections++
      return
    case 'summary':
      return replaceOldest(state, event)
    // It belongs to the thread.
    case 'metadata':
      return
    case 'run-end':
      countSpend(state.spent, event)
      state.outcome = event.outcome
      state.limit = event.limit
      return
    default:
      event satisfies never
  }
}

function requestBudget(state: RunState, event: ApprovalRequestEvent) {
  state.callIds.add(event.callId)
  state.budgetRequest = event
  state.budgetDecision = undefined
}

function decideBudget(state: RunState, event: ApprovalEvent) {
  // The first decision counts.
  if (state.budgetDecision || !state.budgetRequest?.budget) return
  state.budgetDecision = event
  if (event.request) state.nextRequest = event.request
  const { scope, kind, limit, spent } = state.budgetRequest.budget
  const more = (event.input ?? state.budgetRequest.input)[kind]
  if (event.approved) state.allowed[`${scope}.${kind}`] = Math.max(limit, spent) + Number(more)
}

function keepRecent(
  state: RunState,
  { call, input = call.input }: CallState,
  { name, output }: ToolResultEvent,
) {
  state.recent.push({ name, input, output })
  if (state.recent.length >= 2 * maxRecent) state.recent = state.recent.slice(-maxRecent)
}

function updateCall(state: RunState, callId: string, alter: (call: CallState) => void) {
  // `call_1/call_7` belongs to `call_1`, which runs a sub-agent.
  const [own = ''] = callId.split('/', 1)
  const call = state.calls.get(own)
  if (call) alter(call)
}

function grant(state: RunState, rules: readonly string[]) {
  for (const rule of rules) if (!state.granted.includes(rule)) state.granted.push(rule)
}

function startRound(state: RunState, { round, model }: RoundStartEvent) {
  if (state.phase === 'generated') {
    if (state.calls.size > 0) state.toolRounds++
    closeRound(state)
  }
  readInputs(state)
  state.budgetRequest = state.budgetDecision = undefined
  if (state.nextRequest) {
    state.request = state.nextRequest
    state.requestRound = round
    state.nextRequest = undefined
  }
  state.round = round
  state.model = model
  state.phase = 'generating'
}

function readInputs(state: RunState) {
  for (const message of state.inputs) state.history.push(message)
  state.inputs = []
}

function countRound(state: RunState, { usage = {}, contextTokens }: RoundEndEvent) {
  state.usage = addUsage(state.usage, usage)
  if (contextTokens !== undefined) state.contextTokens = contextTokens
  else if (usage.inputTokens !== undefined)
    state.contextTokens = usage.inputTokens + (usage.outputTokens ?? 0)
}

function replaceOldest(state: RunState, event: SummaryEvent) {
  const { replaces, message } = event
  const replaced = state.history.slice(0, replaces)
  const front = [...replaced.filter(({ role }) => role === 'system'), message]
  state.unsummarized ??= {
    front: replaced.slice(0, state.summaries),
    count: state.dropped + state.forgotten.length,
  }
  for (const one of replaced.slice(state.summaries)) state.forgotten.push(one)
  state.history.splice(0, replaces, ...front)
  state.summaries = front.length
  state.contextTokens = undefined
  countSummary(state, event)
}

/** The usage of a summary counts even if the summary itself is not applied. */
export function countSummary(state: RunState, event: SummaryEvent): void {
  countSpend(state.spent, event)
  if (event.usage) state.usage = addUsage(state.usage, event.usage)
}

function resetRound(state: RunState) {
  state.draft = assistantDraft()
  state.playedChars = undefined
  state.openInputs.clear()
  state.calls.clear()
  state.checkpoint = undefined
}

function addMessage(state: RunState, message: Message) {
  state.history.push(message)
  if (message.role !== 'assistant') return
  for (const part of message.content) if (part.type === 'tool-call') state.callIds.add(part.callId)
}

/**
 * What the current round adds to the conversation: the assistant's message, then the results so
 * far, in call order.
 */
function roundMessages(state: RunState): Message[] {
  const answer = state.draft.message()
  if (!answer) return []
  const message = state.playedChars === undefined ? answer : trimToPlayed(answer, state.playedChars)
  const results = [...state.calls.values()].flatMap(({ result }) => (result ? [toolMessage(result)] : []))
  return [message, ...results]
}

/** Moves the messages of the current round to the history. */
function closeRound(state: RunState) {
  const messages = roundMessages(state)
  const key = answerKey(state.originId, state.round)
  if (messages.length > 0) state.answers.set(key, transcriptLength(state))
  for (const message of messages) state.history.push(message)
  resetRound(state)
}

export const answerKey = (run: string, round: number) => `${run} ${round}`

/** How many messages the transcript has up to the current round, dropped ones included. */
export function transcriptLength({ dropped, forgotten, history, summaries }: RunState): number {
  return dropped + forgotten.length + history.length - summaries
}

/** Speech was interrupted, in this run or in an earlier one. */
export function applyPlayback(state: RunState, { run, round, chars }: PlaybackEvent): void {
  if (run === state.originId && round === state.round && state.phase !== 'none') {
    state.playedChars = chars
    return
  }
  const { dropped, forgotten, history, summaries } = state
  const at = (state.answers.get(answerKey(run, round)) ?? -1) - dropped
  if (at < 0) return
  const [messages, index] =
    at < forgotten.length ? [forgotten, at] : [history, at - forgotten.length + summaries]
  messages[index] = trimToPlayed(messages[index] as AssistantMessage, chars)
}

/**
 * Goes back to an earlier point of the conversation, after the run has ended. The summary goes too
 * if it covers what is replaced.
 */
export function rewindTo(state: RunState, { keep = 0, messages = [] }: RewindEvent): void {
  closeRun(state)
  const { forgotten, history, dropped, answers, unsummarized } = state
  if (keep < dropped + forgotten.length && unsummarized && keep >= unsummarized.count) {
    const since = forgotten.splice(unsummarized.count - dropped)
    history.splice(0, state.summaries, ...unsummarized.front, ...since)
    state.summaries = unsummarized.front.length
  }
  const summarized = dropped + forgotten.length
  if (keep < summarized) {
    history.splice(0, history.length, ...forgotten.slice(0, Math.max(0, keep - dropped)))
    forgotten.length = 0
    state.dropped = Math.min(dropped, keep)
    state.summaries = 0
  } else history.splice(state.summaries + keep - summarized)
  for (const [key, at] of answers) if (at >= keep) answers.delete(key)
  for (const message of messages) addMessage(state, message)
  state.contextTokens = undefined
}

/** Moves the last round and the inputs since then to the history. For a run that has ended. */
export function closeRun(state: RunState): void {
  closeRound(state)
  readInputs(state)
  state.phase = 'none'
}

/**
 * A new run that starts with the conversation of `before`. It takes over the messages: do not use
 * `before` again.
 */
export function stateAfter(before: RunState): RunState {
  closeRun(before)
  const { history, forgotten, dropped, answers, summaries, context, contextTokens, granted, callIds } = before
  return {
    ...emptyState(),
    history,
    forgotten,
    dropped,
    answers,
    summaries,
    context,
    contextTokens,
    granted,
    callIds,
  }
}

function toolMessage({ callId, name, output, shown, isError }: ToolResultEvent): ToolMessage {
  return { role: 'tool', callId, name, content: shown ?? output, ...(isError && { isError }) }
}

/**
 * The whole conversation, including messages replaced by a summary, but without those that were
 * dropped.
 */
export function transcriptOf(state: RunState): Message[] {
  return [...state.forgotten, ...messagesOf(state).slice(state.summaries)]
}

/**
 * The index where the current turn starts. A user message right after a tool result belongs to the
 * same turn.
 */
export function turnStart(messages: readonly Message[]): number {
  const startsTurn = ({ role }: Message, at: number) => {
    const before = messages[at - 1]?.role
    return role === 'user' && before !== 'user' && before !== 'tool'
  }
  return Math.max(0, messages.findLastIndex(startsTurn))
}

/** The conversation as the model reads it. */
export function messagesOf(state: RunState): Message[] {
  return [...state.history, ...roundMessages(state), ...state.inputs]
}

/** The requests that are not decided yet. */
export function openRequests(state: RunState): ApprovalRequestEvent[] {
  const open: ApprovalRequestEvent[] = []
  if (state.budgetRequest && !state.budgetDecision) open.push(state.budgetRequest)
  for (const { requests, decisions, result } of state.calls.values())
    if (!result)
      for (const request of requests.values()) if (!decisions.has(request.callId)) open.push(request)
  return open
}
