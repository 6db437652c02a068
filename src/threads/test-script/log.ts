import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  Entry,
  ErrorJson,
  JsonObject,
  Message,
  Outcome,
  ProviderToolEvent,
  RoundEndEvent,
  RoundStartEvent,
  RunStartEvent,
  ThreadEvent,
  ToolCallEvent,
  ToolResultEvent,
  UserMessage,
} from '../../protocol/index.ts'

/** A call that was closed, and what became of it. */
export interface LoggedCall {
  readonly call: ToolCallEvent
  request?: ApprovalRequestEvent
  decision?: ApprovalEvent
  started: boolean
  /** What it ran with, where that is not what the model wrote. */
  ranWith?: JsonObject
  /** Calls inside its sub-agent that wait for a person. */
  readonly waitsInside: Set<string>
  result?: ToolResultEvent
}

type LoggedPart =
  | { readonly type: 'text' | 'reasoning'; text: string }
  | { readonly type: 'call'; readonly call: LoggedCall }
  | { readonly type: 'provider-tool'; event: ProviderToolEvent }

/** One request to a model: a round, or one more attempt at it. */
export interface LoggedRound {
  readonly parts: LoggedPart[]
  /** Calls that were begun and not closed. */
  readonly open: Map<string, { readonly name: string; raw: string }>
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
  readonly rounds: LoggedRound[]
  /** Undefined if the log ends before the run does. */
  outcome: Outcome | undefined
  error: ErrorJson | undefined
}

export interface LoggedThread {
  readonly runs: readonly LoggedRun[]
  /** What was said and not answered yet. */
  readonly unheard: number
}

/** The runs of a log, with everything that was said to them. */
export function readLog(entries: readonly Entry[]): LoggedThread {
  const runs: LoggedRun[] = []
  const said = new Map<number, UserMessage>()
  const calls = new Map<string, LoggedCall>()
  let corrections: UserMessage[] = []
  let summed = false
  let round: LoggedRound | undefined

  function hear(numbers: readonly number[] = []): UserMessage[] {
    return numbers.flatMap((number) => {
      const message = said.get(number)
      said.delete(number)
      return message ?? []
    })
  }

  function beginRun({ agent, input, heard, resumes }: RunStartEvent) {
    const before = resumes === undefined ? undefined : runs.at(-1)
    if (before) before.outcome = undefined
    else {
      const messages = [...input, ...hear(heard)]
      runs.push({ agent, messages, rounds: [], outcome: undefined, error: undefined })
      round = undefined
    }
  }

  function beginRound({ heard }: Partial<RoundStartEvent> = {}, isAgain = false) {
    round = {
      parts: [],
      open: new Map(),
      heard: [...hear(heard), ...corrections],
      summed,
      retracted: false,
      isAgain,
    }
    corrections = []
    summed = false
    runs.at(-1)?.rounds.push(round)
  }

  function addWords(type: 'text' | 'reasoning', text: string) {
    const last = round?.parts.at(-1)
    if (last?.type === type) last.text += text
    else round?.parts.push({ type, text })
  }

  function addProviderTool(event: ProviderToolEvent) {
    const begun = round?.parts.find(
      (part) => part.type === 'provider-tool' && part.event.callId === event.callId,
    )
    if (begun?.type === 'provider-tool') begun.event = { ...begun.event, ...event }
    else round?.parts.push({ type: 'provider-tool', event })
  }

  function addCall(call: ToolCallEvent) {
    const logged: LoggedCall = { call, started: false, waitsInside: new Set() }
    calls.set(call.callId, logged)
    round?.open.delete(call.callId)
    round?.parts.push({ type: 'call', call: logged })
  }

  function take(event: ThreadEvent, seq: number) {
    switch (event.type) {
      case 'input':
        if (event.mode === 'correct') corrections.push(event.message)
        else said.set(seq, event.message)
        return
      case 'run-start':
        return beginRun(event)
      case 'round-start':
        return beginRound(event)
      case 'summary':
        summed = true
        return
      case 'round-retract':
        if (round) round.retracted = true
        return
      case 'round-retry':
        // Nothing was retracted: the same generation continued over another connection.
        if (round && !round.retracted && (round.parts.length > 0 || round.open.size > 0)) return
        if (round) round.failure = event.error
        return beginRound({}, true)
      case 'text':
      case 'reasoning':
        return addWords(event.type, event.text)
      case 'tool-input-start':
        round?.open.set(event.callId, { name: event.name, raw: '' })
        return
      case 'tool-input': {
        const open = round?.open.get(event.callId)
        if (open) open.raw += event.delta
        return
      }
      case 'tool-call':
        return addCall(event)
      case 'provider-tool':
        return addProviderTool(event)
      case 'round-end':
        if (round) round.end = event
        return
      case 'run-end': {
        const run = runs.at(-1)
        if (run) [run.outcome, run.error] = [event.outcome, event.error]
        return
      }
      default:
        return takeOfCall(event)
    }
  }

  function takeOfCall(event: ThreadEvent) {
    if (!('callId' in event)) return
    // `call_1/call_7` is the affair of `call_1`, which runs a sub-agent.
    const [own = '', inner] = event.callId.split('/', 2)
    const call = calls.get(own)
    if (!call) return
    if (inner !== undefined) {
      if (event.type === 'approval-request') call.waitsInside.add(inner)
      else call.waitsInside.delete(inner)
    } else if (event.type === 'approval-request') call.request = event
    else if (event.type === 'approval') call.decision ??= event
    else if (event.type === 'tool-start') {
      call.started = true
      if (event.input) call.ranWith = event.input
    } else if (event.type === 'tool-result') call.result = event
  }

  for (const { seq, event } of entries) take(event, seq)
  return { runs, unheard: said.size }
}
