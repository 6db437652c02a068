import type { AssistantDraft } from './draft.ts'
import { assistantDraft } from './draft.ts'
import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  HeardEvent,
  ModelEvent,
  Outcome,
  RoundEndEvent,
  RoundFinish,
  RoundStartEvent,
  RunEvent,
  SummaryEvent,
  ToolCallEvent,
  ToolResultEvent,
} from './events.ts'
import { trimToHeard } from './heard.ts'
import type { JsonObject } from './json.ts'
import type {
  AssistantMessage,
  Message,
  ProviderData,
  ToolMessage,
  ToolResultPart,
  UserMessage,
} from './messages.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

/** What the log says of one call of the current round. */
export interface CallState {
  readonly call: ToolCallEvent
  /** How often it has begun to run. */
  attempts: number
  /** It has begun to run and neither ended nor stopped to ask a person. */
  inFlight: boolean
  /** What it ran with, if not what the model wrote. */
  input?: JsonObject
  /**
   * What it asks of a person, and what was decided since. By the call's own id; or, where the call runs a sub-agent that
   * asks, by an id below it: `call_1/call_7`.
   */
  readonly requests: Map<string, ApprovalRequestEvent>
  readonly decisions: Map<string, ApprovalEvent>
  /** Nothing can be done for it before a person has decided. */
  waiting: boolean
  /** The events of the sub-agent that it runs. */
  readonly relayed: RunEvent[]
  result?: ToolResultEvent
}

/** What a model says in a round. */
type Said = Extract<RunEvent, ModelEvent>

/** A call that ran, and what came of it. */
interface RecentResult {
  readonly name: string
  readonly input: JsonObject
  readonly output: readonly ToolResultPart[]
}

/** So many of them are kept, for the guard against a model that repeats itself. */
const mostRecent = 100

/**
 * A run as a fold of its log. Nothing else decides what happens next, so a run that was suspended or cut off anywhere goes on
 * from its events alone.
 */
export interface RunState {
  runId: string
  /** Its trace context, if it is traced. */
  trace: string | undefined
  /** The first run of a chain of resumed ones. */
  originId: string
  /** The conversation up to the current round. */
  readonly history: Message[]
  /** The messages that the model does not read any more, since a summary stands for them. */
  readonly forgotten: Message[]
  /** How many messages at the beginning of the transcript are not kept here. */
  dropped: number
  /** Where the answers stand in the transcript, by run and round. */
  answers: Map<string, number>
  /** How many messages at the front of the history stand for those: the summary, behind what the system says. */
  summaries: number
  /** What was said to the run itself since the current round began; the next one reads it. What was said to its thread waits there. */
  inputs: UserMessage[]
  /** 0 before the first. */
  round: number
  /** The model that tells the current round. */
  model: string
  /** `none` before the first round and after a retraction. */
  phase: 'none' | 'telling' | 'told'
  draft: AssistantDraft
  /** How much of the draft's words was heard; undefined if nobody was interrupted. */
  heardChars: number | undefined
  /** Calls the model has begun to write and not closed. */
  readonly openInputs: Map<string, { name: string; raw: string }>
  /** The calls of the current round, in the order in which they closed. */
  readonly calls: Map<string, CallState>
  /** The latest results of calls that ran, over all rounds. */
  recent: RecentResult[]
  /** Where the provider can continue the current generation, and what the model said since. */
  checkpoint: { readonly opaque: ProviderData; readonly since: Said[] } | undefined
  /** Every call id the conversation has used. */
  readonly callIds: Set<string>
  /** The rules that people have allowed along with calls, for as long as the conversation goes on. */
  granted: string[]
  /** Rounds before this one that ran tools. */
  toolRounds: number
  /** How often the agent has asked for a better structured answer. */
  corrections: number
  /** The words of the last round. */
  text: string
  usage: Usage
  /** How long the conversation was for the model at the end of its last round; unknown before that, and after a summary. */
  contextTokens: number | undefined
  finish: RoundFinish | undefined
  outcome: Outcome | undefined
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
    inputs: [],
    round: 0,
    model: '',
    phase: 'none',
    draft: assistantDraft(),
    heardChars: undefined,
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
    contextTokens: undefined,
    finish: undefined,
    outcome: undefined,
  }
}

export function foldLog(events: Iterable<RunEvent>): RunState {
  const state = emptyState()
  for (const event of events) applyEvent(state, event)
  return state
}

/** Takes one more event of the log. Deltas may come one by one or joined. */
export function applyEvent(state: RunState, event: RunEvent): void {
  switch (event.type) {
    case 'run-start': {
      state.runId = event.runId
      state.trace = event.trace
      state.outcome = undefined
      if (!event.resumes) state.originId = event.runId
      for (const message of event.input) remember(state, message)
      return
    }
    case 'round-start':
      return beginRound(state, event)
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
      forgetRound(state)
      // The same round goes on to be told again, unless the log ends here.
      state.phase = 'none'
      return
    case 'round-retry':
      state.phase = 'telling'
      state.model = event.model
      return
    case 'round-end':
      state.phase = 'told'
      state.checkpoint = undefined
      state.openInputs.clear()
      state.finish = event.finish
      state.text = state.draft.text
      if (event.usage) countRound(state, event)
      return
    case 'tool-start':
      return change(state, event.callId, (call) => {
        call.attempts = event.attempt
        call.inFlight = true
        call.waiting = false
        if (event.input) call.input = event.input
      })
    case 'tool-progress':
      return change(state, event.callId, (call) => {
        if (!event.event) return
        call.relayed.push(event.event)
        // What was decided has reached the sub-agent, and stands in its own log now.
        if (event.event.type !== 'approval') return
        const id = `${event.callId}/${event.event.callId}`
        call.requests.delete(id)
        call.decisions.delete(id)
      })
    case 'tool-result':
      return change(state, event.callId, (call) => {
        call.result = event
        if (call.attempts > 0) keepRecent(state, call, event)
      })
    case 'approval-request':
      return change(state, event.callId, (call) => {
        call.requests.set(event.callId, event)
        call.inFlight = false
        // What was decided while the sub-agent was at work has yet to reach it.
        call.waiting = ![...call.decisions.keys()].some((id) => id.includes('/'))
      })
    case 'approval':
      if (event.approved && event.remember) grant(state, event.remember.rules)
      return change(state, event.callId, (call) => {
        // The first one counts.
        if (!call.decisions.has(event.callId)) call.decisions.set(event.callId, event)
        call.waiting = false
      })
    case 'input':
      state.inputs.push(event.message)
      if (event.mode === 'correct') state.corrections++
      return
    case 'summary':
      return replaceOldest(state, event)
    case 'run-end':
      state.outcome = event.outcome
      return
    default:
      event satisfies never
  }
}

function keepRecent(
  state: RunState,
  { call, input = call.input }: CallState,
  { name, output }: ToolResultEvent,
) {
  state.recent.push({ name, input, output })
  if (state.recent.length >= 2 * mostRecent) state.recent = state.recent.slice(-mostRecent)
}

function change(state: RunState, callId: string, alter: (call: CallState) => void) {
  // `call_1/call_7` is the affair of `call_1`, which runs a sub-agent.
  const [own = ''] = callId.split('/', 1)
  const call = state.calls.get(own)
  if (call) alter(call)
}

function grant(state: RunState, rules: readonly string[]) {
  for (const rule of rules) if (!state.granted.includes(rule)) state.granted.push(rule)
}

function beginRound(state: RunState, { round, model }: RoundStartEvent) {
  if (state.phase === 'told') {
    if (state.calls.size > 0) state.toolRounds++
    closeRound(state)
  }
  readInputs(state)
  state.round = round
  state.model = model
  state.phase = 'telling'
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
  for (const one of replaced.slice(state.summaries)) state.forgotten.push(one)
  state.history.splice(0, replaces, ...front)
  state.summaries = front.length
  state.contextTokens = undefined
  countSummary(state, event)
}

/** The summary of a conversation costs tokens also for a reader that does not read it. */
export function countSummary(state: RunState, { usage }: SummaryEvent): void {
  if (usage) state.usage = addUsage(state.usage, usage)
}

function forgetRound(state: RunState) {
  state.draft = assistantDraft()
  state.heardChars = undefined
  state.openInputs.clear()
  state.calls.clear()
  state.checkpoint = undefined
}

function remember(state: RunState, message: Message) {
  state.history.push(message)
  if (message.role !== 'assistant') return
  for (const part of message.content) if (part.type === 'tool-call') state.callIds.add(part.callId)
}

/** What the current round adds to the conversation: the assistant's message, then the results there are, in call order. */
function roundMessages(state: RunState): Message[] {
  const told = state.draft.message()
  if (!told) return []
  const message = state.heardChars === undefined ? told : trimToHeard(told, state.heardChars)
  const results = [...state.calls.values()].flatMap(({ result }) => (result ? [toolMessage(result)] : []))
  return [message, ...results]
}

/** From now on the messages of the current round stand in the history. */
function closeRound(state: RunState) {
  const messages = roundMessages(state)
  const key = answerKey(state.originId, state.round)
  if (messages.length > 0) state.answers.set(key, transcriptLength(state))
  for (const message of messages) state.history.push(message)
  forgetRound(state)
}

export const answerKey = (run: string, round: number) => `${run} ${round}`

/** How many messages the transcript has up to the current round, dropped ones included. */
export function transcriptLength({ dropped, forgotten, history, summaries }: RunState): number {
  return dropped + forgotten.length + history.length - summaries
}

/** Somebody was interrupted, in this run or while an earlier one was being spoken. */
export function applyHeard(state: RunState, { run, round, chars }: HeardEvent): void {
  if (run === state.originId && round === state.round && state.phase !== 'none') {
    state.heardChars = chars
    return
  }
  const { dropped, forgotten, history, summaries } = state
  const at = (state.answers.get(answerKey(run, round)) ?? -1) - dropped
  if (at < 0) return
  const [messages, index] =
    at < forgotten.length ? [forgotten, at] : [history, at - forgotten.length + summaries]
  messages[index] = trimToHeard(messages[index] as AssistantMessage, chars)
}

/** The last round and what was said since become part of the history. For a run that is over. */
export function closeRun(state: RunState): void {
  closeRound(state)
  readInputs(state)
  state.phase = 'none'
}

/** A new run that begins with the conversation as this one has left it. It takes the messages over: the old one is not used again. */
export function stateAfter(before: RunState): RunState {
  closeRun(before)
  const { history, forgotten, dropped, answers, summaries, contextTokens, granted, callIds } = before
  return {
    ...emptyState(),
    history,
    forgotten,
    dropped,
    answers,
    summaries,
    contextTokens,
    granted,
    callIds,
  }
}

function toolMessage({ callId, name, output, shown, isError }: ToolResultEvent): ToolMessage {
  return { role: 'tool', callId, name, content: shown ?? output, ...(isError && { isError }) }
}

/** The whole conversation as it was, also what the model reads only a summary of, but for what was dropped. */
export function transcriptOf(state: RunState): Message[] {
  return [...state.forgotten, ...messagesOf(state).slice(state.summaries)]
}

/** Where the turn begins that is under way. Words between a tool's result and what is made of it belong to the same turn. */
export function turnStart(messages: readonly Message[]): number {
  const begins = ({ role }: Message, at: number) => {
    const before = messages[at - 1]?.role
    return role === 'user' && before !== 'user' && before !== 'tool'
  }
  return Math.max(0, messages.findLastIndex(begins))
}

/** The conversation as the model reads it. */
export function messagesOf(state: RunState): Message[] {
  return [...state.history, ...roundMessages(state), ...state.inputs]
}

/** The requests nobody has decided yet. */
export function openRequests(state: RunState): ApprovalRequestEvent[] {
  const open: ApprovalRequestEvent[] = []
  for (const { requests, decisions, result } of state.calls.values())
    if (!result)
      for (const request of requests.values()) if (!decisions.has(request.callId)) open.push(request)
  return open
}
