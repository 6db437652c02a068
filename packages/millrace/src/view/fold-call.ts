import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  JsonValue,
  ProviderToolEvent,
  ThreadEvent,
  ToolCallEvent,
  ToolInputEvent,
  ToolResultEvent,
  ToolStartEvent,
} from '../protocol/index.ts'
import { roundIn } from './fold-round.ts'
import { changed, closeText, grow, growing } from './parts.ts'
import type { CallState, CallView, Change, LogView } from './types.ts'

/** So many reports of a tool are kept; the log has all. */
const mostProgress = 20
const mostPrinted = 4000

/** An event about a call. */
type CallEvent = Extract<ThreadEvent, { readonly callId: string }>

/** Applies an event to the call that it is about; its first event makes it. Nothing is done for one of a retracted round. */
export function onCall<Event extends CallEvent>(
  view: LogView,
  change: Change,
  event: Event,
  apply: (call: CallView, change: Change, event: Event) => void,
): void {
  // `call_1/call_7` is the affair of `call_1`, which runs a sub-agent.
  const [own = ''] = event.callId.split('/', 1)
  const call = view.open.calls.get(own) ?? newCall(view, change, event)
  if (!call) return
  change.call = changed(call)
  if ('permission' in event && event.permission && event.callId === call.callId)
    call.rule = event.permission.rule
  apply(call, change, event)
}

function newCall(view: LogView, change: Change, event: CallEvent): CallView | undefined {
  const { open } = view
  const { seq, at } = change.entry
  // Where a log is read from the middle on, a call may have begun before.
  const begins =
    open.partial ||
    event.type === 'tool-input-start' ||
    event.type === 'tool-call' ||
    event.type === 'provider-tool'
  if (!begins || !('name' in event) || event.callId.includes('/')) return undefined
  const round = roundIn(view, change)
  if (!round) return undefined
  closeText(view, change)
  changed(round).firstAt ??= at
  const isProvided = event.type === 'provider-tool'
  const call: CallView = {
    kind: 'call',
    key: view.open.keys + seq,
    callId: event.callId,
    name: event.name,
    round,
    seq,
    state: isProvided ? 'running' : 'writing',
    begunAt: at,
    raw: growing(),
    attempts: 0,
    printed: '',
    progress: [],
    progressCount: 0,
    approvals: [],
    provider: isProvided ? {} : undefined,
    version: 0,
  }
  change.state = call.state
  open.calls.set(call.callId, call)
  round.parts.push(call)
  round.calls.push(call)
  round.run.calls.push(call)
  view.rows.push(call)
  return call
}

function enter(change: Change, call: CallView, state: CallState): void {
  if (call.state !== state) change.state = call.state = state
}

/** Where a call is that has no result. */
function pending({ approvals, startedAt }: CallView): CallState {
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
  // Where it came in one piece there was nothing to watch.
  if (call.raw.chars === 0) grow(call.raw, change, raw ?? JSON.stringify(input))
  call.raw.closed = true
  enter(change, call, pending(call))
}

export function startCall(call: CallView, change: Change, event: ToolStartEvent): void {
  const { at } = change.entry
  call.startedAt = at
  call.attempts = event.attempt
  call.changed = event.input
  enter(change, call, pending(call))
}

export function addProgress(call: CallView, change: Change, data: JsonValue): void {
  change.progress = data
  call.progress.push(data)
  call.progressCount++
  const { output } = (data ?? {}) as { output?: unknown }
  if (typeof output === 'string') call.printed = (call.printed + output).slice(-mostPrinted)
  if (call.progress.length > mostProgress) call.progress.shift()
}

export function endCall(call: CallView, change: Change, event: ToolResultEvent): void {
  const { at } = change.entry
  call.result = event
  call.endedAt = at
  change.state = call.state = event.status
}

export function askAbout(call: CallView, change: Change, request: ApprovalRequestEvent): void {
  const { at } = change.entry
  // A sub-agent that is resumed asks again what it still waits for.
  if (call.approvals.some((one) => one.request.callId === request.callId && !one.decision)) return
  call.approvals.push({ request, at })
  // Also where it waits for another decision already.
  change.state = call.state = 'asking'
}

export function decide(call: CallView, change: Change, event: ApprovalEvent): void {
  const { at } = change.entry
  // The first one counts.
  const asked = call.approvals.find(({ request, decision }) => request.callId === event.callId && !decision)
  if (!asked) return
  asked.decision = event
  asked.decidedAt = at
  if (!call.result) enter(change, call, pending(call))
}

export function runByProvider(call: CallView, change: Change, event: ProviderToolEvent): void {
  const { type, callId, name, opaque, ...told } = event
  call.provider = { ...call.provider, ...told }
  if (told.output !== undefined) call.endedAt = change.entry.at
  if (call.provider.isError) enter(change, call, 'failed')
  else if (call.endedAt !== undefined) enter(change, call, 'ok')
}
