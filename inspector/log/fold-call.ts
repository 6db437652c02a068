import type { Entry } from 'millrace/client'
import { changed, closeText, growing, keyOf } from './parts.ts'
import type { Call, Log } from './types.ts'

type Event = Entry['event']
type CallEvent = Extract<
  Event,
  {
    readonly type:
      | 'tool-input-start'
      | 'tool-input'
      | 'tool-call'
      | 'tool-start'
      | 'tool-progress'
      | 'tool-result'
      | 'provider-tool'
      | 'approval-request'
      | 'approval'
  }
>

/** So many reports of a tool are kept to be shown; the raw events have all. */
const mostProgress = 20
const mostPrinted = 4000

export function isCallEvent(event: Event): event is CallEvent {
  return event.type.startsWith('tool-') || event.type.startsWith('approval') || event.type === 'provider-tool'
}

/** `inner` makes and grows the logs of sub-agents. */
export function foldCall(
  log: Log,
  entry: Entry,
  event: CallEvent,
  inner: { make(): Log; take(log: Log, entry: Entry): void },
): void {
  const { seq, at } = entry
  const call = callOf(log, entry, event)
  if (!call) return
  changed(call)
  if ('permission' in event && event.permission && event.callId === call.callId)
    call.rule = event.permission.rule
  switch (event.type) {
    case 'tool-input':
      call.raw.pieces.push(event.delta)
      call.raw.chars += event.delta.length
      return
    case 'tool-call': {
      call.closedAt = at
      call.input = event.input
      call.problem = event.problem
      // Where it came in one piece there was nothing to watch.
      const written = event.raw ?? JSON.stringify(event.input)
      if (call.raw.chars === 0) {
        call.raw.pieces.push(written)
        call.raw.chars = written.length
      }
      call.raw.closed = true
      return
    }
    case 'tool-start':
      call.startedAt = at
      call.attempts = event.attempt
      call.changed = event.input
      return
    case 'tool-progress':
      if (event.event) {
        call.inner ??= inner.make()
        inner.take(call.inner, { seq, at, event: event.event })
      } else {
        call.progress.push(event.data)
        call.progressCount++
        const { output } = (event.data ?? {}) as { output?: unknown }
        if (typeof output === 'string') call.printed = (call.printed + output).slice(-mostPrinted)
        if (call.progress.length > mostProgress) call.progress.shift()
      }
      return
    case 'tool-result':
      call.result = event
      call.endedAt = at
      return
    case 'approval-request':
      // Whoever goes on with a sub-agent asks again what it still waits for.
      if (call.approvals.some(({ request, decision }) => request.callId === event.callId && !decision)) return
      call.approvals.push({ request: event, at, decision: undefined, decidedAt: undefined })
      return
    case 'approval': {
      // The first one counts.
      const asked = call.approvals.find(
        ({ request, decision }) => request.callId === event.callId && !decision,
      )
      if (!asked) return
      asked.decision = event
      asked.decidedAt = at
      return
    }
    case 'provider-tool':
      call.provider = {
        ...call.provider,
        ...(event.input !== undefined && { input: event.input }),
        ...(event.output !== undefined && { output: event.output }),
        ...(event.isError !== undefined && { isError: event.isError }),
      }
      if (event.output !== undefined) call.endedAt = at
  }
}

/** The call that an event is about; one that begins it makes it. */
function callOf(log: Log, { seq, at }: Entry, event: CallEvent): Call | undefined {
  const { open } = log
  // `call_1/call_7` is the affair of `call_1`, which runs a sub-agent.
  const [own = ''] = event.callId.split('/', 1)
  const known = open.calls.get(own)
  const begins =
    event.type === 'tool-input-start' || event.type === 'tool-call' || event.type === 'provider-tool'
  const { round } = open
  if (known || !begins || !round) return known
  closeText(log)
  round.firstAt ??= at
  changed(round)
  const call: Call = {
    callId: event.callId,
    name: event.name,
    round,
    seq,
    begunAt: at,
    closedAt: undefined,
    startedAt: undefined,
    endedAt: undefined,
    raw: growing(),
    input: undefined,
    changed: undefined,
    problem: undefined,
    attempts: 0,
    rule: undefined,
    printed: '',
    progress: [],
    progressCount: 0,
    approvals: [],
    inner: undefined,
    result: undefined,
    provider: event.type === 'provider-tool' ? {} : undefined,
    version: 0,
  }
  open.calls.set(call.callId, call)
  round.calls.push(call)
  round.run.calls.push(call)
  log.rows.push({
    kind: 'call',
    key: keyOf(log, seq),
    call,
    get version() {
      return call.version
    },
  })
  return call
}
