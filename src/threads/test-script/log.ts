import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  Entry,
  ErrorJson,
  JsonObject,
  Message,
  Outcome,
  RoundEndEvent,
  ToolCallEvent,
  ToolResultEvent,
  UserMessage,
} from '../../protocol/index.ts'
import type { CallView, RunView } from '../../view/index.ts'
import { createView, take } from '../../view/index.ts'

/** A call that was closed, and what became of it. */
export interface LoggedCall {
  readonly call: ToolCallEvent
  readonly request: ApprovalRequestEvent | undefined
  readonly decision: ApprovalEvent | undefined
  readonly started: boolean
  /** What it ran with, where that is not what the model wrote. */
  readonly ranWith: JsonObject | undefined
  /** A call inside its sub-agent waits for a person. */
  readonly waitsInside: boolean
  readonly result: ToolResultEvent | undefined
}

type LoggedPart =
  | { readonly type: 'text' | 'reasoning'; text: string }
  | { readonly type: 'call'; readonly call: LoggedCall }
  | {
      readonly type: 'provider-tool'
      readonly name: string
      readonly told: NonNullable<CallView['provider']>
    }

/** One request to a model: a round, or one more attempt at it. */
export interface LoggedRound {
  readonly parts: readonly LoggedPart[]
  /** Calls that were begun and not closed. */
  readonly open: readonly { readonly id: string; readonly name: string; readonly raw: string }[]
  /** What it was the first to hear. */
  readonly heard: readonly UserMessage[]
  /** The conversation was summed up before it. */
  readonly summed: boolean
  retracted: boolean
  /** It is another attempt of the round before it. */
  readonly isAgain: boolean
  /** Why the request was sent again. */
  failure?: ErrorJson
  end?: RoundEndEvent
}

/** A run with all its legs: those before and after a person decided, or a process was lost. */
export interface LoggedRun {
  readonly agent: string
  readonly messages: readonly Message[]
  readonly rounds: readonly LoggedRound[]
  /** Undefined if the log ends before the run does. */
  readonly outcome: Outcome | undefined
  readonly error: ErrorJson | undefined
}

export interface LoggedThread {
  readonly runs: readonly LoggedRun[]
  /** What was said and not answered yet. */
  readonly unheard: number
}

/** A round while its log is read: its calls are known in full only at the end. */
type OpenRound = Omit<LoggedRound, 'parts' | 'open'> & {
  readonly parts: ({ readonly type: 'text' | 'reasoning'; text: string } | CallView)[]
  readonly begun: CallView[]
}

/** The runs of a log, with everything that was said to them. */
export function readLog(entries: readonly Entry[]): LoggedThread {
  const view = createView()
  const runs: {
    readonly run: RunView
    readonly messages: readonly Message[]
    readonly rounds: OpenRound[]
  }[] = []
  let corrections: UserMessage[] = []
  let summed = false
  let open: OpenRound | undefined

  function beginRound(heard: readonly UserMessage[], isAgain: boolean) {
    open = { parts: [], begun: [], heard: [...heard, ...corrections], summed, retracted: false, isAgain }
    corrections = []
    summed = false
    runs.at(-1)?.rounds.push(open)
  }

  for (const entry of entries) {
    const { event } = entry
    const { run, round, retry, text, call, state, notice, read = [], delta } = take(view, entry)
    const heard = read.map(({ message }) => message)
    if (notice?.notice === 'summary') summed = true
    if (event.type === 'input' && event.mode === 'correct') corrections.push(event.message)
    if (event.type === 'run-start' && run?.legs.length === 1) {
      runs.push({ run, messages: [...event.input, ...heard], rounds: [] })
      open = undefined
    }
    if (retry) {
      // Where nothing was retracted, the same generation continued over another connection.
      if (open && !open.retracted && open.parts.length + open.begun.length > 0) continue
      if (open) open.failure = retry.error
      beginRound([], true)
    } else if (round && open && round.retracted) open.retracted = true
    else if (round && open && round.end) open.end = round.end
    else if (round) beginRound(heard, false)
    if (!open) continue
    const last = open.parts.at(-1)
    if (text && last && 'type' in last && last.type === text.kind) last.text += delta
    else if (text) open.parts.push({ type: text.kind, text: delta })
    if (call && state === 'writing') open.begun.push(call)
    const isClosed = call?.provider || (state === 'queued' && call?.approvals.length === 0)
    if (call && isClosed && !open.parts.includes(call)) open.parts.push(call)
  }
  return {
    runs: runs.map(({ run: { agent, outcome, error }, messages, rounds }) => {
      return { agent, outcome, error, messages, rounds: rounds.map(closedRound) }
    }),
    unheard: view.waiting.length,
  }
}

function closedRound({ parts, begun, ...round }: OpenRound): LoggedRound {
  const open = begun.filter(({ closedAt }) => closedAt === undefined)
  return {
    ...round,
    parts: parts.map((part) => {
      if (!('callId' in part)) return part
      const { name, provider } = part
      return provider
        ? { type: 'provider-tool', name, told: provider }
        : { type: 'call', call: loggedCall(part) }
    }),
    open: open.map(({ callId, name, raw }) => ({ id: callId, name, raw: raw.pieces.join('') })),
  }
}

function loggedCall(view: CallView): LoggedCall {
  const { callId, name, input = {}, problem, approvals, attempts, changed, result } = view
  const raw = view.raw.pieces.join('')
  const own = approvals.filter(({ request }) => request.callId === callId)
  return {
    call: { type: 'tool-call', callId, name, input, ...(problem !== undefined && { problem, raw }) },
    request: own.at(-1)?.request,
    decision: own.find(({ decision }) => decision)?.decision,
    started: attempts > 0,
    ranWith: changed,
    waitsInside: approvals.some(({ request, decision }) => request.callId !== callId && !decision),
    result,
  }
}
