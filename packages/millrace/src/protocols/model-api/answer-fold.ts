import type { ApprovalRequestEvent, Entry, ErrorJson, ToolResultPart, Usage } from '../../protocol/index.ts'
import { addUsage, noUsage } from '../../protocol/index.ts'
import type { CallView, Change, RoundView, RunView } from '../../view/index.ts'
import { applyEntry, createView } from '../../view/index.ts'
import type { AnswerCall, AnswerEnd, AnswerWriter } from './answer-writer.ts'

export interface AnswerFold {
  /** Applies the next entry. Returns the frames to send, or `''`. */
  entry(entry: Entry): string
  /** Whether the response is complete. */
  readonly isDone: boolean
  /** Whether there is something to show. */
  readonly hasOutput: boolean
  /** Why the run failed, if it did. */
  readonly error: ErrorJson | undefined
  /** The frames to send if the log ends before the response does: it was stopped before it started. */
  end(): string
}

/** What the client has of a call in this response. */
interface SentCall extends AnswerCall {
  state: 'open' | 'complete' | 'done'
}

/**
 * Folds the log of a thread into one response, which consists of what follows the entry `start`. A
 * run that was suspended before is folded from its start, and nothing of that is written.
 */
export function answerFold({ start }: { readonly start: number }, writer: AnswerWriter): AnswerFold {
  const view = createView({ keep: 'round' })
  const calls = new Map<string, SentCall>()
  let run: RunView | undefined
  let open: 'text' | 'reasoning' | undefined
  let usage: Usage = noUsage
  let hasOutput = false
  let isDone = false
  let error: ErrorJson | undefined
  let seq = 0
  let at: number | undefined
  /** The client has sent results that nothing waits for, so there is nothing to say. */
  let isEmpty = false

  /** Finds the run that answers the input. A message can also join a run that is in progress. */
  function findRun({ entry: { event }, run: started, round }: Change) {
    if (event.type !== 'run-start' && event.type !== 'round-start') return
    if (event.inputs?.includes(start)) run = started ?? round?.run
  }

  function fold(change: Change): string {
    const { closed, round, text, call, entry } = change
    let frames = ''
    if (round?.retracted) frames += retract()
    else if (closed) frames += closePart()
    if (round) frames += foldRound(round)
    if (text) {
      open = text.kind
      hasOutput = true
      frames += writer.delta(open, change.delta, seq)
    }
    if (call) frames += foldCall(call, change)
    if (entry.event.type === 'run-end') frames += foldEnd()
    return frames
  }

  function closePart(): string {
    const kind = open
    open = undefined
    return kind ? writer.closePart(kind, seq) : ''
  }

  function retract(): string {
    open = undefined
    calls.clear()
    return writer.retract(seq)
  }

  function foldRound(round: RoundView): string {
    if (round.retracted) return ''
    if (!round.end) {
      calls.clear()
      return writer.roundStart(seq)
    }
    usage = addUsage(usage, round.end.usage ?? {})
    let frames = ''
    for (const call of round.calls) {
      const sent = calls.get(call.callId)
      if (call.provider && sent?.state !== 'done') frames += endProviderTool(call, sent ?? add(call))
      else if (sent?.state === 'open') frames += voidCall(sent)
    }
    return frames
  }

  function add({ callId, name, wants, provider }: Pick<CallView, 'callId' | 'name' | 'wants' | 'provider'>) {
    const sent: SentCall = {
      callId,
      name,
      isClient: wants === 'result' && !provider,
      seq,
      arguments: '',
      state: 'open',
    }
    calls.set(callId, sent)
    hasOutput = true
    return sent
  }

  function startCall(call: CallView): string {
    return writer.callStart(add(call), seq)
  }

  function addArguments(sent: SentCall, delta: string): string {
    sent.arguments += delta
    return writer.callDelta(sent, delta, seq)
  }

  function complete(sent: SentCall): string {
    sent.state = 'complete'
    return writer.callComplete(sent, seq)
  }

  /** A call of an earlier response, or one that was not streamed. */
  function sendWhole(sent: SentCall, input: unknown): string {
    return writer.callStart(sent, seq) + addArguments(sent, JSON.stringify(input ?? {})) + complete(sent)
  }

  function voidCall(sent: SentCall): string {
    sent.state = 'done'
    return writer.callVoid(sent, seq)
  }

  function foldCall(call: CallView, change: Change): string {
    const { event } = change.entry
    const sent = calls.get(call.callId)
    if (change.inner || change.progress !== undefined) return ''
    switch (event.type) {
      case 'tool-input-start':
        return startCall(call)
      case 'tool-input':
        return sent ? addArguments(sent, event.delta) : ''
      case 'tool-call': {
        const started = sent ? '' : startCall(call)
        const known = sent ?? (calls.get(call.callId) as SentCall)
        // Arguments that arrived in one piece, or before the response starts, have no deltas.
        const delta = sent ? change.delta : (event.raw ?? JSON.stringify(event.input))
        const added = delta ? addArguments(known, delta) : ''
        return started + added + (event.problem === undefined ? complete(known) : voidCall(known))
      }
      case 'provider-tool':
        if (event.output === undefined && event.isError !== true) return sent ? '' : startCall(call)
        return endProviderTool(call, sent ?? add(call))
      case 'tool-result':
        return foldResult(call, sent, event)
    }
    if (event.type === 'approval-request' && change.state === 'asking') return ask(event, sent)
    // It was approved after an earlier response had ended.
    if (event.type === 'tool-start' && !sent && call.wants !== 'result')
      return sendWhole(add(call), call.changedInput ?? call.input)
    return ''
  }

  function foldResult(
    call: CallView,
    sent: SentCall | undefined,
    { output, isError }: { readonly output: readonly ToolResultPart[]; readonly isError: boolean },
  ): string {
    const isClient = sent ? sent.isClient : call.wants === 'result'
    if (isClient) return sent?.state === 'open' || sent?.state === 'complete' ? voidCall(sent) : ''
    if (sent?.state === 'done') return ''
    const announced = sent ? '' : sendWhole(add(call), call.changedInput ?? call.input)
    const known = sent ?? (calls.get(call.callId) as SentCall)
    return announced + endCall(known, resultOf(output, isError))
  }

  function endCall(sent: SentCall, result: NonNullable<AnswerCall['result']>): string {
    sent.state = 'done'
    sent.result = result
    return writer.callResult(sent, seq)
  }

  function endProviderTool({ provider }: CallView, sent: SentCall): string {
    const { input, output, isError = false } = provider ?? {}
    const started = sent.seq === seq && sent.arguments === '' ? writer.callStart(sent, seq) : ''
    const text = output === undefined ? '' : typeof output === 'string' ? output : JSON.stringify(output)
    return (
      started +
      addArguments(sent, JSON.stringify(input ?? {})) +
      complete(sent) +
      endCall(sent, { text, value: output, isError })
    )
  }

  /** A person has to decide, or the client has to run the tool. */
  function ask(request: ApprovalRequestEvent, sent: SentCall | undefined): string {
    const { callId, name, input, wants } = request
    if (wants && calls.get(callId)?.isClient) return ''
    const isOwn = sent?.callId === callId
    const voided = sent && isOwn && sent.state !== 'done' ? voidCall(sent) : ''
    if (!wants) {
      hasOutput = true
      return voided + writer.approvalRequest(request, seq)
    }
    // A call of a sub-agent is a call of its own for the client.
    return voided + sendWhole(add({ callId, name, wants, provider: undefined }), input)
  }

  function foldEnd(): string {
    error = run?.error
    const requests = (run?.outcome === 'suspended' ? run.calls : []).flatMap(({ approvals }) =>
      approvals.flatMap(({ request, decision }) => (decision ? [] : [request])),
    )
    const waiting = requests.filter(({ wants }) => wants)
    const end: AnswerEnd = {
      outcome: run?.outcome ?? 'canceled',
      finish: run?.finish,
      error,
      usage,
      waiting,
      approvals: requests.filter(({ wants }) => !wants),
    }
    // Calls of an earlier response that the client does not know, or has not answered yet.
    const unknown = waiting.filter(({ callId }) => !calls.has(callId))
    let frames = closePart()
    for (const { callId, name, input, wants } of unknown)
      frames += sendWhole(add({ callId, name, wants, provider: undefined }), input)
    return frames + finish(end)
  }

  function finish(end: AnswerEnd): string {
    isDone = true
    let frames = closePart()
    for (const sent of calls.values())
      if (sent.state === 'open' || (sent.state === 'complete' && !sent.isClient)) frames += voidCall(sent)
    return frames + writer.end(end, seq, at)
  }

  return {
    entry(entry) {
      const { event } = entry
      seq = entry.seq
      // Once for each token: no object is made for it.
      if (open !== undefined && event.type === open) return writer.delta(open, event.text, seq)
      if (isDone) return ''
      at = entry.at
      const change = applyEntry(view, entry)
      if (seq < start) return ''
      if (seq === start) {
        // A message starts a run. Anything else is a part of the run that continues.
        isEmpty = event.type === 'run-end'
        if (!isEmpty && event.type !== 'input' && event.type !== 'rewind') run = view.runs.at(-1)
        return writer.start(seq, entry.at)
      }
      if (!run) findRun(change)
      return run && view.runs.at(-1) === run ? fold(change) : ''
    },
    get isDone() {
      return isDone
    },
    get hasOutput() {
      return hasOutput
    },
    get error() {
      return error
    },
    end() {
      if (isDone) return ''
      const outcome = isEmpty ? 'completed' : 'canceled'
      return finish({
        outcome,
        finish: isEmpty ? 'stop' : undefined,
        error,
        usage,
        waiting: [],
        approvals: [],
      })
    },
  }
}

/** A result as text for formats that only have text, and as a value if it is one. */
function resultOf(parts: readonly ToolResultPart[], isError: boolean): NonNullable<AnswerCall['result']> {
  const [first] = parts
  const value = parts.length === 1 && first?.type === 'json' ? first.value : undefined
  return { text: resultText(parts), value, isError }
}

/** A result as text, with values as JSON. */
export function resultText(parts: readonly ToolResultPart[]): string {
  return parts
    .map((part) =>
      part.type === 'text' ? part.text : part.type === 'json' ? JSON.stringify(part.value) : `[${part.type}]`,
    )
    .join('\n')
}
