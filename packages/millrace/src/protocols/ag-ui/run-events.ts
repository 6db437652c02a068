import type {
  ApprovalRequestEvent,
  Entry,
  JsonValue,
  Outcome,
  ThreadEvent,
  Usage,
} from '../../protocol/index.ts'
import { addUsage, isJsonObject, isObject, mergePatch, noUsage } from '../../protocol/index.ts'
import type { CallView, Change, InputView, RoundView, Row, RunView, TextView } from '../../view/index.ts'
import { applyEntry, createView, textOf } from '../../view/index.ts'
import { inputId } from '../answers.ts'
import type { AgUiMessage, MessageNames, Scope } from './messages.ts'
import {
  callMessageId,
  isProviderDone,
  messagesOf,
  outermost,
  partId,
  resultId,
  resultOf,
} from './messages.ts'
import { interruptFor, outcomeOf, usageOf } from './run-end.ts'
import { jsonPatchOf } from './state.ts'

export interface AgUiEvent {
  readonly type: string
  readonly [field: string]: unknown
}

export interface RunEventsOptions {
  /** As the client named them. */
  readonly threadId: string
  readonly runId: string
  /** Whether the client speaks version 1.0 or later. */
  readonly isCurrent: boolean
  /** The messages that the client has. */
  readonly posted: readonly AgUiMessage[]
  /** The number of the input or `rewind` whose answer is sent. Without it, the first run that starts. */
  readonly answers?: number | undefined
  /** Only what follows this entry is sent. */
  readonly continueAfter?: number | undefined
  /**
   * Sends the whole conversation up to `head`, and then everything that follows. The log must be
   * read from its start.
   */
  readonly isAttached?: boolean | undefined
  /** The length of the log when the stream was opened, and the state at that point. */
  readonly head: number
  readonly state: JsonValue | undefined
}

/** One run of AG-UI, folded from the log of its thread. */
export interface RunEvents {
  /** The first events, before any entry. */
  start(): readonly AgUiEvent[]
  /** Applies the next entry. Returns the events to send, if it is part of the run. */
  applyEntry(entry: Entry): readonly AgUiEvent[]
  /** Whether the run is complete. */
  readonly isDone: boolean
  /** The events to send when the run is complete, or no more entries come. */
  end(): readonly AgUiEvent[]
}

interface Subagent {
  readonly id: string
  readonly prefix: string
  state: 'unsent' | 'active' | 'ended'
}

/** What is stored with a message, to recognize the request and the message when they are sent again. */
export function sentWith(event: ThreadEvent): { readonly runId?: unknown; readonly messageId?: unknown } {
  const { agUi } = ('request' in event && event.request?.metadata) || {}
  return isObject(agUi) ? agUi : {}
}

export function runEvents(options: RunEventsOptions): RunEvents {
  const { threadId, runId, isCurrent, posted, answers, head } = options
  const { continueAfter = 0, isAttached = false } = options
  const view = createView()
  /** What is open at the client, with the events that close it. */
  const open = new Map<string, readonly AgUiEvent[]>()
  /** The calls that were started in this stream. */
  const calls = new Map<string, { readonly call: CallView; readonly scope: Scope; isEnded: boolean }>()
  /** What the client has posted: its messages, and the results of calls. */
  const postedIds = new Set(posted.map(({ id }) => id))
  const answered = new Set(posted.map(({ toolCallId }) => toolCallId))
  /** The messages that it has by now, and the calls whose results it has. */
  const known = new Set(postedIds)
  const done = new Set(answered)
  const reasoning = new Set<string>()
  const subagents = new Map<RunView, Subagent>()
  const inputIds = new Map<number, string>()
  const usage = new Map<string, Usage>()
  let state = options.state
  let run: RunView | undefined
  let events: AgUiEvent[] = []
  let isLive = !isAttached
  let isSteering = false
  let isDone = false

  const names: MessageNames = {
    inputId: (seq) => inputIds.get(seq) ?? inputId(seq),
    subagentId: (of, prefix) => subagentOf(of, prefix).id,
    hasParts: isCurrent,
  }

  function send(type: string, fields: object) {
    events.push({ type, ...fields })
  }

  function close(key: string) {
    events.push(...(open.get(key) ?? []))
    open.delete(key)
  }

  function closeAll() {
    for (const key of [...open.keys()]) close(key)
  }

  /** Replaces all messages of the client. Its own stay as it has posted them. */
  function sendSnapshot() {
    closeAll()
    const isShown = (row: Row) =>
      'round' in row ? row.round.run === run : row.kind === 'input' && row.run === run
    const isNew = ({ id, toolCallId }: AgUiMessage) =>
      !postedIds.has(id) && (toolCallId === undefined || !answered.has(toolCallId))
    const messages = isAttached
      ? messagesOf([...view.rows, ...view.waiting], names)
      : [...posted, ...messagesOf(view.rows.filter(isShown), names).filter(isNew)]
    // A client keeps all of its reasoning if a snapshot has none.
    if (!messages.some(({ role }) => role === 'reasoning'))
      messages.push(...[...reasoning].map((id) => ({ id, role: 'reasoning', content: '' })))
    known.clear()
    done.clear()
    for (const { id, role, toolCallId } of messages) {
      known.add(id)
      if (role === 'reasoning') reasoning.add(id)
      done.add(toolCallId)
    }
    send('MESSAGES_SNAPSHOT', { messages })
  }

  /** A run that a rewind has canceled may still write. */
  const isHidden = () => view.open.rows !== view.rows

  function goLive() {
    isLive = true
    sendSnapshot()
  }

  function noteInput(seq: number, event: ThreadEvent) {
    const { messageId } = sentWith(event)
    if (typeof messageId === 'string') inputIds.set(seq, messageId)
  }

  /** Finds the run that is sent. */
  function findRun({ entry: { event }, run: started, read }: Change) {
    if (event.type === 'run-start' && event.resumes === undefined) {
      if (!started || (answers !== undefined && !event.inputs?.includes(answers))) return
      run = started
      if (started.seq > continueAfter) sendInputs(read)
    } else if (event.type === 'round-start' && answers !== undefined && event.inputs?.includes(answers))
      // It steers a run whose answer is sent to another request.
      isDone = isSteering = true
  }

  function foldState(change: JsonValue | undefined) {
    if (change === undefined) return
    const before = state
    state = mergePatch(before === undefined ? {} : { state: before }, { state: change }).state
    if (!isJsonObject(change) || !isJsonObject(before))
      return send('STATE_SNAPSHOT', { snapshot: state ?? {} })
    const delta = jsonPatchOf(before, change)
    if (delta.length > 0) send('STATE_DELTA', { delta })
  }

  function sendInputs(read: readonly InputView[] = []) {
    for (const { seq, message } of read) {
      const messageId = names.inputId(seq)
      if (known.has(messageId)) continue
      known.add(messageId)
      const delta = textOf(message)
      send('TEXT_MESSAGE_START', { messageId, role: 'user' })
      if (delta) send('TEXT_MESSAGE_CONTENT', { messageId, delta })
      send('TEXT_MESSAGE_END', { messageId })
    }
  }

  function fold(change: Change, scope: Scope) {
    const { closed, text, call, round, delta, entry } = change
    countUsage(entry.event)
    if (closed) close(partId(closed))
    if (round?.retracted) retract(round, scope)
    if (round?.end) for (const call of round.calls) closeCall(call, scope)
    if (scope === outermost) sendInputs(change.read)
    if (text) sendText(text, delta, scope)
    if (call && !call.budget) foldCall(call, change, scope)
  }

  function countUsage(event: ThreadEvent) {
    const paid = event.type === 'round-end' || event.type === 'summary' ? [event] : []
    const failed = 'failed' in event && event.failed ? [event.failed] : []
    for (const { model = '', usage: used } of [...paid, ...failed])
      if (used) usage.set(model, addUsage(usage.get(model) ?? noUsage, used))
  }

  function retract(round: RoundView, { prefix }: Scope) {
    for (const { callId } of round.calls)
      for (const id of [...calls.keys()]) if (`${id}/`.startsWith(`${prefix}${callId}/`)) calls.delete(id)
    sendSnapshot()
  }

  function sendText(text: TextView, delta: string, { tag }: Scope) {
    const messageId = partId(text)
    const isReasoning = text.kind === 'reasoning'
    const type = isReasoning ? 'REASONING_MESSAGE' : 'TEXT_MESSAGE'
    if (!open.has(messageId)) {
      if (isReasoning) {
        reasoning.add(messageId)
        send('REASONING_START', { messageId, ...tag })
      }
      send(`${type}_START`, { messageId, role: isReasoning ? 'reasoning' : 'assistant', ...tag })
      const ends = isReasoning ? [`${type}_END`, 'REASONING_END'] : [`${type}_END`]
      open.set(
        messageId,
        ends.map((type) => ({ type, messageId, ...tag })),
      )
    }
    send(`${type}_CONTENT`, { messageId, delta, ...tag })
  }

  function foldCall(call: CallView, change: Change, scope: Scope) {
    const id = scope.prefix + call.callId
    const { event } = change.entry
    if (change.inner) return foldSubagent(call, change.inner, scope)
    if (change.progress !== undefined)
      return send('CUSTOM', {
        name: 'tool-progress',
        value: { toolCallId: id, progress: change.progress },
        ...scope.tag,
      })
    switch (event.type) {
      case 'tool-input-start':
        return startCall(call, scope)
      case 'tool-input':
        return sendArguments(call, event.delta, scope)
      case 'tool-call':
        startCall(call, scope)
        if (change.delta) sendArguments(call, change.delta, scope)
        return endCall(call, scope)
      case 'provider-tool':
        if (change.state === undefined) return
        return isProviderDone(call) ? endProviderTool(call, scope) : startCall(call, scope)
      case 'tool-result':
        for (const agent of [...subagents.values()].reverse())
          if (agent.prefix.startsWith(`${id}/`)) endSubagent(agent, 'the call has ended')
        endCall(call, scope)
        return sendResult(call, scope, resultOf(call, isCurrent)?.content)
    }
  }

  function startCall(call: CallView, scope: Scope) {
    const toolCallId = scope.prefix + call.callId
    if (open.has(`call ${toolCallId}`) || calls.get(toolCallId)?.isEnded) return
    calls.set(toolCallId, { call, scope, isEnded: false })
    const { tag } = scope
    send('TOOL_CALL_START', {
      toolCallId,
      toolCallName: call.name,
      parentMessageId: callMessageId(call),
      ...tag,
    })
    open.set(`call ${toolCallId}`, [{ type: 'TOOL_CALL_END', toolCallId, ...tag }])
  }

  function sendArguments(call: CallView, delta: string, scope: Scope) {
    startCall(call, scope)
    const toolCallId = scope.prefix + call.callId
    if (open.has(`call ${toolCallId}`)) send('TOOL_CALL_ARGS', { toolCallId, delta, ...scope.tag })
  }

  function endCall({ callId }: CallView, { prefix }: Scope) {
    close(`call ${prefix}${callId}`)
    const sent = calls.get(prefix + callId)
    if (sent) sent.isEnded = true
  }

  function sendResult(call: CallView, { prefix, tag }: Scope, content: unknown = '') {
    const toolCallId = prefix + call.callId
    if (done.has(toolCallId)) return
    done.add(toolCallId)
    send('TOOL_CALL_RESULT', { messageId: resultId(call), toolCallId, content, role: 'tool', ...tag })
  }

  function endProviderTool(call: CallView, scope: Scope) {
    if (done.has(scope.prefix + call.callId)) return
    sendArguments(call, JSON.stringify(call.provider?.input ?? {}), scope)
    endCall(call, scope)
    sendResult(call, scope, resultOf(call, isCurrent)?.content)
  }

  /** The model never finished its arguments, or the provider has no output for it. */
  function closeCall(call: CallView, scope: Scope) {
    if (isProviderDone(call)) endProviderTool(call, scope)
    else endCall(call, scope)
  }

  function subagentOf(of: RunView, prefix: string): Subagent {
    const known = subagents.get(of)
    if (known) return known
    const ids = [...subagents.values()].map(({ id }) => id)
    let id = of.id || prefix
    while (ids.includes(id)) id += '~'
    const agent: Subagent = { id, prefix, state: 'unsent' }
    subagents.set(of, agent)
    return agent
  }

  function foldSubagent(call: CallView, change: Change, scope: Scope) {
    const inner = call.inner?.runs.at(-1)
    if (!inner) return
    const parentToolCallId = scope.prefix + call.callId
    const agent = subagentOf(inner, `${parentToolCallId}/`)
    const tag = { subagentRunId: agent.id }
    if (agent.state === 'unsent') {
      agent.state = 'active'
      const { subagentRunId: parentSubagentRunId } = scope.tag
      const parent = parentSubagentRunId !== undefined && { parentSubagentRunId }
      send('SUBAGENT_STARTED', { ...tag, name: inner.agent || call.name, parentToolCallId, ...parent })
    }
    fold(change, { prefix: agent.prefix, tag })
    const { outcome, error } = change.run ?? {}
    if (outcome === undefined || outcome === 'suspended') return
    const isFailed = outcome === 'failed' || outcome === 'canceled'
    endSubagent(agent, isFailed ? (error?.message ?? 'the run was canceled') : undefined, error?.code)
  }

  function endSubagent(agent: Subagent, message?: string, code = 'canceled') {
    if (agent.state !== 'active') return
    agent.state = 'ended'
    const { id: subagentRunId } = agent
    for (const [key, [end]] of [...open]) if (end?.subagentRunId === subagentRunId) close(key)
    if (message !== undefined) send('SUBAGENT_ERROR', { subagentRunId, message, code })
    else send('SUBAGENT_FINISHED', { subagentRunId, outcome: { type: 'success' } })
  }

  function interruptOf(request: ApprovalRequestEvent) {
    const prefix = request.callId.slice(0, request.callId.lastIndexOf('/') + 1)
    const owner = [...subagents.values()].findLast((agent) => prefix && agent.prefix === prefix)
    return interruptFor(request, owner?.id)
  }

  function finish(outcome: Outcome, of: RunView | undefined) {
    const requests = (outcome === 'suspended' && of ? of.calls : []).flatMap(({ approvals }) =>
      approvals.flatMap(({ request, decision }) => (decision ? [] : [request])),
    )
    const interrupts = requests.filter(({ wants }) => !wants).map(interruptOf)
    for (const agent of [...subagents.values()].reverse()) {
      const interruptIds = interrupts.flatMap(({ id }) => (id.startsWith(agent.prefix) ? [id] : []))
      if (outcome !== 'suspended') endSubagent(agent, 'the run has ended')
      else if (agent.state === 'active')
        send('SUBAGENT_FINISHED', { subagentRunId: agent.id, outcome: { type: 'suspended', interruptIds } })
    }
    // A client would wait for their results, or run them.
    if (outcome !== 'suspended')
      for (const { call, scope } of calls.values()) sendResult(call, scope, 'The call never ran.')
    const error = of?.error ?? { message: 'the run was canceled', code: 'canceled' }
    const used = usageOf(usage)
    if (outcome === 'failed' || (outcome === 'canceled' && !isCurrent))
      return send('RUN_ERROR', {
        message: error.message,
        code: outcome === 'failed' ? error.code : 'canceled',
        ...used,
      })
    const isCut = outcome === 'max-rounds' || outcome === 'budget' || outcome === 'truncated'
    send('RUN_FINISHED', {
      threadId,
      runId,
      ...outcomeOf(outcome, interrupts),
      ...used,
      ...(isCut && { metadata: { outcome } }),
    })
  }

  return {
    start() {
      events = []
      send('RUN_STARTED', { threadId, runId, ...(isCurrent && { protocolVersion: '1.0' }) })
      if (state !== undefined) send('STATE_SNAPSHOT', { snapshot: state })
      return events
    },
    applyEntry(entry) {
      events = []
      if (isDone) return events
      const { seq, event } = entry
      if (event.type === 'input') noteInput(seq, event)
      const change = applyEntry(view, entry)
      if (change.metadata && seq > head) foldState(change.metadata.state)
      if (!isLive) {
        if (seq >= head) goLive()
      } else if (isAttached) {
        if (change.input) sendInputs([change.input])
        // What a hidden run does until it ends may concern something that is shown.
        if (change.rewound || (isHidden() && event.type === 'run-end')) sendSnapshot()
        else if (!isHidden()) fold(change, outermost)
      } else if (!run) findRun(change)
      else if (seq > continueAfter && view.runs.at(-1) === run) {
        fold(change, outermost)
        if (event.type === 'run-end') isDone = run.outcome !== 'suspended' || seq >= head
      }
      return events
    },
    get isDone() {
      return isDone
    },
    end() {
      events = []
      isDone = true
      if (!isLive) goLive()
      closeAll()
      const last = isAttached ? view.runs.at(-1) : run
      const isEmpty = isSteering || (isAttached && (!last || isHidden()))
      finish(isEmpty ? 'completed' : (last?.outcome ?? 'canceled'), last)
      return events
    },
  }
}

export function sseOf(events: readonly AgUiEvent[]): string {
  let text = ''
  for (const event of events) text += `data: ${JSON.stringify(event)}\n\n`
  return text
}
