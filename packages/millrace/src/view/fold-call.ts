import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  CallDisplay,
  JsonValue,
  ProviderToolEvent,
  ThreadEvent,
  ToolCallEvent,
  ToolInputEvent,
  ToolResultEvent,
  ToolStartEvent,
} from '../protocol/index.ts'
import { roundIn, roundOfQuestion } from './fold-round.ts'
import { closeText, emptyText, grow, markChanged } from './parts.ts'
import type { CallState, CallView, Change, LogView } from './types.ts'

/** How many progress reports of a call are kept; the log has all of them. */
const maxProgress = 20
const maxPrinted = 4000

/** An event about a tool call. */
type CallEvent = Extract<ThreadEvent, { readonly callId: string }>

/**
 * Applies an event to its call, which the first event creates. Ignores calls of a retracted round.
 */
export function updateCall<Event extends CallEvent>(
  view: LogView,
  change: Change,
  event: Event,
  apply: (call: CallView, change: Change, event: Event) => void,
): void {
  // `call_1/call_7` belongs to `call_1`, which runs a sub-agent.
  const [own = ''] = event.callId.split('/', 1)
  const call = view.open.calls.get(own) ?? newCall(view, change, event)
  if (!call) return
  change.call = markChanged(call)
  if ('permission' in event && event.permission && event.callId === call.callId)
    call.rule = event.permission.rule
  apply(call, change, event)
}

function newCall(view: LogView, change: Change, event: CallEvent): CallView | undefined {
  const { open } = view
  const { seq, at } = change.entry
  // If the log is read from the middle, a call may have started before.
  const question = event.type === 'approval-request' && event.budget ? event : undefined
  const isFirstEvent =
    open.isPartial ||
    question !== undefined ||
    event.type === 'tool-input-start' ||
    event.type === 'tool-call' ||
    event.type === 'provider-tool'
  if (!isFirstEvent || !('name' in event) || event.callId.includes('/')) return undefined
  const round = question ? roundOfQuestion(view, change) : roundIn(view, change)
  if (!round) return undefined
  closeText(view, change)
  if (!question) markChanged(round).firstAt ??= at
  const isProviderTool = event.type === 'provider-tool'
  const call: CallView = {
    kind: 'call',
    key: view.open.keyPrefix + seq,
    callId: event.callId,
    name: event.name,
    wants: 'wants' in event ? event.wants : undefined,
    ...(question && { budget: question.budget, input: question.input, closedAt: at }),
    round,
    seq,
    state: isProviderTool ? 'running' : 'writing',
    createdAt: at,
    raw: emptyText(),
    attempts: 0,
    printed: '',
    progress: [],
    progressCount: 0,
    approvals: [],
    provider: isProviderTool ? {} : undefined,
    version: 0,
  }
  change.state = call.state
  open.calls.set(call.callId, call)
  if (!question) {
    round.parts.push(call)
    round.calls.push(call)
  }
  round.run.calls.push(call)
  open.rows.push(call)
  return call
}

function setState(change: Change, call: CallView, state: CallState): void {
  if (call.state !== state) change.state = call.state = state
}

/** The state of a call without a result. */
function pendingState({ approvals, startedAt }: CallView): CallState {
  if (approvals.some(({ decision }) => !decision)) return 'asking'
  return startedAt === undefined ? 'queued' : 'running'
}

export function addArguments(call: CallView, change: Change, event: ToolInputEvent): void {
  grow(call.raw, change, event.delta)
}

export function closeCall(call: CallView, change: Change, event: ToolCallEvent): void {
  const { input, problem, raw } = event
  call.closedAt = change.entry.at
  call.input = input
  call.problem = problem
  // Arguments that arrived in one piece have no deltas.
  if (call.raw.chars === 0) grow(call.raw, change, raw ?? JSON.stringify(input))
  call.raw.closed = true
  setState(change, call, pendingState(call))
}

export function startCall(call: CallView, change: Change, event: ToolStartEvent): void {
  const { at } = change.entry
  call.startedAt = at
  call.attempts = event.attempt
  call.changedInput = event.input
  showAs(call, change, event.display)
  setState(change, call, pendingState(call))
}

export function addProgress(call: CallView, change: Change, data: JsonValue): void {
  const { output, display } = (data ?? {}) as { output?: unknown; display?: CallDisplay }
  if (showAs(call, change, display)) return
  change.progress = data
  call.progress.push(data)
  call.progressCount++
  if (typeof output === 'string') call.printed = (call.printed + output).slice(-maxPrinted)
  if (call.progress.length > maxProgress) call.progress.shift()
}

function showAs(call: CallView, change: Change, display: CallDisplay | undefined): boolean {
  if (typeof display !== 'object' || !display) return false
  change.display = call.display = { ...call.display, ...display }
  return true
}

export function endCall(call: CallView, change: Change, event: ToolResultEvent): void {
  const { at } = change.entry
  call.result = event
  call.endedAt = at
  change.state = call.state = event.status
}

export function requestApproval(call: CallView, change: Change, request: ApprovalRequestEvent): void {
  const { at } = change.entry
  // A resumed sub-agent repeats the requests that are still open.
  if (call.approvals.some((one) => one.request.callId === request.callId && !one.decision)) return
  call.approvals.push({ request, at })
  if (request.callId === call.callId) showAs(call, change, request.display)
  // Also set if it already waits for another decision.
  change.state = call.state = 'asking'
}

export function recordDecision(call: CallView, change: Change, event: ApprovalEvent): void {
  const { at } = change.entry
  // The first decision counts.
  const asked = call.approvals.find(({ request, decision }) => request.callId === event.callId && !decision)
  if (!asked) return
  asked.decision = event
  asked.decidedAt = at
  if (call.budget) {
    call.endedAt = at
    setState(change, call, event.approved ? 'ok' : 'denied')
  } else if (!call.result) setState(change, call, pendingState(call))
}

export function updateProviderTool(call: CallView, change: Change, event: ProviderToolEvent): void {
  const { type, callId, name, opaque, ...update } = event
  call.provider = { ...call.provider, ...update }
  if (update.output !== undefined) call.endedAt = change.entry.at
  if (call.provider.isError) setState(change, call, 'failed')
  else if (call.endedAt !== undefined) setState(change, call, 'ok')
}
