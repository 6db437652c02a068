import type { ApprovalEvent, ApprovalRequestEvent, Entry, ToolResultPart } from '../protocol/index.ts'
import { eventStreamHeaders, textOfResult } from '../protocol/index.ts'
import { applyEntry, createView } from './fold.ts'
import { roundText } from './result.ts'
import type { CallView, Change, InputView, LogView, RoundView, RunView } from './types.ts'
import { metadataOf, providerOutput, toolOutput, userParts } from './ui-message-parts.ts'
import type { UIFile, UIFinishReason, UIMessageChunk, UISource } from './ui-message-types.ts'

export interface UIMessageChunksOptions {
  /**
   * The number of the input or `rewind` whose answer is sent. Without it, the first run that starts.
   */
  readonly answers?: number | undefined
  /**
   * The length of the log when the stream was opened. A run that had been suspended before was
   * resumed since, and its answer continues.
   */
  readonly head?: number
  /**
   * For a client that has the first part of the message, up to where the run was suspended after
   * the entry with this number: only what follows is sent.
   */
  readonly continueAfter?: number | undefined
}

/** One message of the AI SDK's UI message stream, folded from the log of its thread. */
export interface UIMessageChunks {
  /** Applies the next entry. Returns the chunks to send, if it is part of the answer. */
  applyEntry(entry: Entry): readonly UIMessageChunk[]
  /** Whether the message is complete, as far as the run has come. */
  readonly isDone: boolean
  /** The chunks to send when the message is complete, or no more entries come. */
  end(): readonly UIMessageChunk[]
}

/** What the client has of a call. */
interface SentCall {
  state: 'writing' | 'waiting' | 'done'
  /** The approval that it shows. A call can show one at a time. */
  asked?: string | undefined
  /** The length of a sub-agent's text, and how much of it was sent. */
  innerChars: number
  innerSent: number
}

/**
 * A run and all runs that resume it are one message, whose id is that of the first run. A round is a
 * step.
 */
export function uiMessageChunks(options: UIMessageChunksOptions = {}): UIMessageChunks {
  const { answers, head = 0, continueAfter } = options
  const view = createView({ keep: 'round' })
  const calls = new Map<string, SentCall>()
  const sources = new Set<string>()
  let run: RunView | undefined
  let chunks: UIMessageChunk[] = []
  /** `reset`: everything in it was retracted, and the next round uses it again. */
  let step: 'none' | 'open' | 'reset' = 'none'
  let isMuted = continueAfter !== undefined
  let isDone = false

  function send(chunk: UIMessageChunk) {
    if (!isMuted) chunks.push(chunk)
  }

  function start({ id }: RunView) {
    send({ type: 'start', messageId: id })
  }

  /** Finds the run that is sent. */
  function findRun({ entry: { event }, run: started }: Change) {
    if (event.type === 'run-start' && event.resumes === undefined) {
      if (!started || (answers !== undefined && !event.inputs?.includes(answers))) return
      run = started
      start(run)
    } else if (event.type === 'round-start' && answers !== undefined && event.inputs?.includes(answers))
      // It steers a run whose answer is another message.
      isDone = true
  }

  function fold(change: Change) {
    const { closed, text, round, call, delta, entry } = change
    if (closed) send({ type: `${closed.kind}-end`, id: closed.key })
    if (round) foldRound(round, change.read)
    if (text) {
      if (text.text.pieces.length === 1) send({ type: `${text.kind}-start`, id: text.key })
      send({ type: `${text.kind}-delta`, id: text.key, delta })
    }
    if (call) foldCall(call, change)
    if (entry.event.type === 'run-end') foldEnd(entry.seq)
  }

  function foldRound(round: RoundView, read: readonly InputView[] = []) {
    if (round.retracted) {
      send({ type: 'reset-step' })
      step = 'reset'
      sources.clear()
      return calls.clear()
    }
    if (round.end) return closeCalls(round)
    calls.clear()
    if (step === 'open') send({ type: 'finish-step' })
    for (const { seq, message } of read)
      send({ type: 'steering-message', id: inputId(seq), parts: userParts(message) })
    if (step !== 'reset') send({ type: 'start-step' })
    step = 'open'
  }

  /** Calls that the model began and never finished, and provider tools without an output. */
  function closeCalls(round: RoundView) {
    for (const call of round.calls) {
      const sent = sentCall(call)
      if (call.provider && sent.state !== 'done') sendProviderTool(call, sent, { ends: true })
      else if (sent.state === 'writing')
        sendInputError(call, sent, call.problem ?? 'The model never finished the arguments.')
    }
  }

  function foldEnd(seq: number) {
    const round = run?.rounds.at(-1)
    const isSuspended = run?.outcome === 'suspended'
    if (round && !isSuspended && !round.retracted) closeCalls(round)
    if (run && isMuted && seq > (continueAfter ?? 0)) {
      isMuted = false
      start(run)
    }
    isDone = !isSuspended || seq >= head
  }

  function sentCall({ callId }: CallView): SentCall {
    const known = calls.get(callId) ?? { state: 'writing', innerChars: 0, innerSent: 0 }
    calls.set(callId, known)
    return known
  }

  function foldCall(call: CallView, change: Change) {
    const sent = sentCall(call)
    const { event } = change.entry
    if (change.inner || change.progress !== undefined) return sendProgress(call, sent, change)
    switch (event.type) {
      case 'tool-input-start':
        return send({ type: 'tool-input-start', ...toolOf(call) })
      case 'tool-input':
        return send({ type: 'tool-input-delta', toolCallId: call.callId, inputTextDelta: event.delta })
      case 'tool-call':
        if (event.problem !== undefined) return sendInputError(call, sent, event.problem)
        sent.state = 'waiting'
        return send({ type: 'tool-input-available', ...toolOf(call), input: event.input })
      case 'approval-request':
        // A request that is repeated changes nothing.
        if (change.state !== 'asking') return
        if (call.budget) {
          sent.state = 'waiting'
          send({ type: 'tool-input-available', ...toolOf(call), input: event.input })
        }
        return sendRequest(call, sent, event)
      case 'approval':
        if (event.output && event.callId !== call.callId)
          return sendOutput(event.callId, event.output, event.isError)
        if (sent.asked !== event.callId) return
        sent.asked = undefined
        send({
          type: 'tool-approval-response',
          approvalId: event.callId,
          approved: event.approved,
          ...(event.reason !== undefined && { reason: event.reason }),
        })
        if (call.budget) return endBudget(call, sent, event)
        return askNext(call, sent)
      case 'tool-result':
        if (sent.state === 'done') return
        sent.state = 'done'
        if (event.status === 'denied' && isDenied(call))
          return send({ type: 'tool-output-denied', toolCallId: call.callId })
        return sendOutput(call.callId, event.output, event.isError)
      case 'provider-tool':
        return sendProviderTool(call, sent, {
          ends: event.output !== undefined || event.isError === true,
        })
    }
  }

  /** There is no tool whose result would follow. */
  function endBudget({ callId, input }: CallView, sent: SentCall, decision: ApprovalEvent) {
    sent.state = 'done'
    if (!decision.approved) return send({ type: 'tool-output-denied', toolCallId: callId })
    send({
      type: 'tool-output-available',
      toolCallId: callId,
      output: decision.input ?? input,
      dynamic: true,
    })
  }

  function sendInputError(call: CallView, sent: SentCall, errorText: string) {
    sent.state = 'done'
    const input = call.raw.pieces.join('')
    send({ type: 'tool-input-error', ...toolOf(call), input, errorText })
  }

  /**
   * Replaced by the next one and by the result. The text of a sub-agent is sent again whenever it
   * has grown by a quarter, so that the cost stays proportional to its length.
   */
  function sendProgress({ callId, inner, printed }: CallView, sent: SentCall, change: Change) {
    // It would hide what the user is asked.
    if (sent.asked !== undefined) return
    let output: unknown = printed || change.progress
    if (change.inner) {
      if (change.inner.text?.kind === 'text') sent.innerChars += change.inner.delta.length
      if (!inner || sent.innerChars <= sent.innerSent * 1.25 + 32) return
      sent.innerSent = sent.innerChars
      output = textOfAgent(inner)
    }
    send({ type: 'tool-output-available', toolCallId: callId, output, dynamic: true, preliminary: true })
  }

  function sendRequest(call: CallView, sent: SentCall, { wants, callId, name, input }: ApprovalRequestEvent) {
    if (!wants) return askNext(call, sent)
    // The client runs the tool when its input is available, which it has been since the call closed
    // unless a person had to approve it. A call of a sub-agent is shown as a call of its own.
    if (callId === call.callId && call.approvals.length === 1) return
    send({ type: 'tool-input-available', toolCallId: callId, toolName: name, dynamic: true, input })
  }

  function askNext(call: CallView, sent: SentCall) {
    const next = call.approvals.find(({ request, decision }) => !request.wants && !decision)?.request
    if (!next || sent.asked !== undefined) return
    sent.asked = next.callId
    const { callId: approvalId, reason } = next
    send({
      type: 'tool-approval-request',
      approvalId,
      toolCallId: call.callId,
      ...(reason !== undefined && { reason }),
      ...(approvalId !== call.callId && { approvalDescriptor: descriptorOf(next) }),
    })
  }

  function sendOutput(toolCallId: string, parts: readonly ToolResultPart[], isError = false) {
    if (isError)
      return send({ type: 'tool-output-error', toolCallId, errorText: textOfResult(parts), dynamic: true })
    const { output, files } = toolOutput(toolCallId, parts)
    send({ type: 'tool-output-available', toolCallId, output, dynamic: true })
    sendParts(files)
  }

  function sendProviderTool(call: CallView, sent: SentCall, { ends }: { readonly ends: boolean }) {
    const { input, output, isError } = call.provider ?? {}
    const tool = toolOf(call)
    if (sent.state === 'writing') {
      if (input === undefined && !ends) return send({ type: 'tool-input-start', ...tool })
      send({ type: 'tool-input-available', ...tool, input: input ?? {} })
      sent.state = 'waiting'
    }
    if (!ends) return
    sent.state = 'done'
    const { toolName, ...outputOf } = tool
    if (isError)
      return send({ type: 'tool-output-error', ...outputOf, errorText: JSON.stringify(output ?? null) })
    const { parts, ...known } = providerOutput(output)
    send({ type: 'tool-output-available', ...outputOf, ...known })
    sendParts(parts)
  }

  function sendParts(parts: readonly (UIFile | UISource)[]) {
    for (const part of parts) {
      if (part.type === 'source-url' && sources.has(part.url)) continue
      if (part.type === 'source-url') sources.add(part.url)
      send(part)
    }
  }

  return {
    applyEntry(entry) {
      chunks = []
      if (isDone) return chunks
      const change = applyEntry(view, entry)
      if (!run) findRun(change)
      else if (view.runs.at(-1) === run) fold(change)
      return chunks
    },
    get isDone() {
      return isDone
    },
    end() {
      chunks = []
      if (isMuted && run) start(run)
      isMuted = false
      if (run?.error && run.outcome === 'failed') {
        send({ type: 'error', errorText: run.error.message })
        return chunks
      }
      if (step === 'open') send({ type: 'finish-step' })
      if (run?.outcome === 'canceled')
        send({ type: 'abort', ...(run.error && { reason: run.error.message }) })
      send({
        type: 'finish',
        finishReason: finishReasonOf(run),
        ...(run && { messageMetadata: metadataOf(run.usage) }),
      })
      return chunks
    },
  }
}

/** The id of a user's message in the messages of a client that did not send it. */
export function inputId(seq: number): string {
  return `input-${seq}`
}

/** The text of all rounds of a sub-agent. */
function textOfAgent({ runs }: LogView): string {
  const rounds = runs.flatMap((run) => run.rounds.filter(({ retracted }) => !retracted).map(roundText))
  return rounds.filter(Boolean).join('\n\n')
}

/** What is asked about a call of a sub-agent, since the client only knows the outer call. */
export function descriptorOf({ name, input }: ApprovalRequestEvent) {
  return { toolName: name, input }
}

/** Whether the client was asked about this call, and denied it. */
export function isDenied({ callId, approvals }: CallView): boolean {
  return approvals.some(
    ({ request, decision }) => request.callId === callId && !request.wants && decision?.approved === false,
  )
}

function toolOf({ callId, name, provider }: CallView) {
  return {
    toolCallId: callId,
    toolName: name,
    dynamic: true,
    ...(provider && { providerExecuted: true }),
  } as const
}

/** A client that resubmits finished messages by itself does not do so after `interrupted`. */
function finishReasonOf(run: RunView | undefined): UIFinishReason {
  switch (run?.outcome) {
    case 'completed':
      return run.finish === 'refusal' ? 'content-filter' : (run.finish ?? 'stop')
    case 'suspended':
      return 'tool-calls'
    case 'truncated':
      return 'length'
    case 'max-rounds':
    case 'budget':
      return 'other'
    default:
      return 'interrupted'
  }
}

export const uiMessageHeaders = { ...eventStreamHeaders, 'x-vercel-ai-ui-message-stream': 'v1' }

/** Chunks as server-sent events. JSON has no line breaks, so one `data:` line is enough. */
export function sseOfChunks(chunks: readonly UIMessageChunk[]): string {
  let text = ''
  for (const chunk of chunks) text += `data: ${JSON.stringify(chunk)}\n\n`
  return text
}

/** The last event of a stream. */
export const sseEnd = 'data: [DONE]\n\n'
