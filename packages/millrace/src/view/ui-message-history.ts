import { textOfResult } from '../protocol/index.ts'
import type { CallView, InputView, LogView, RoundView, RunView } from './types.ts'
import { descriptorOf, inputId, isDenied } from './ui-message-chunks.ts'
import { metadataOf, providerOutput, toolOutput, userParts } from './ui-message-parts.ts'
import type { UIMessage, UIMessagePart, UIToolState } from './ui-message-types.ts'

/**
 * The conversation as messages for `useChat`: those that its stream would have built, and the
 * user's. The answer to the last message may be in progress.
 */
export function uiMessages({ rows, waiting }: LogView): UIMessage[] {
  const messages: UIMessage[] = []
  let run: RunView | undefined
  let round: RoundView | undefined
  /** The parts of the current run's message. */
  let parts: UIMessagePart[] = []

  function addInput({ seq, message, run: reader }: InputView) {
    const input = { id: inputId(seq), parts: userParts(message) }
    // It steered the run, so it is a part of its answer.
    if (reader && reader === run) parts.push({ type: 'steering-message', ...input })
    else messages.push({ role: 'user', ...input })
  }

  for (const row of rows) {
    if (row.kind === 'input') addInput(row)
    if (!('round' in row)) continue
    if (row.round.run !== run) {
      run = row.round.run
      parts = []
      const metadata = run.outcome && { metadata: metadataOf(run.usage) }
      messages.push({ id: run.id, role: 'assistant', ...metadata, parts })
    }
    if (row.round !== round) parts.push({ type: 'step-start' })
    round = row.round
    if (row.kind === 'call') parts.push(...callParts(row))
    else {
      const { pieces, closed } = row.text
      parts.push({ type: row.kind, text: pieces.join(''), state: closed ? 'done' : 'streaming' })
    }
  }
  for (const input of waiting) addInput(input)
  return messages
}

function callParts(call: CallView): readonly UIMessagePart[] {
  const tool = {
    type: 'dynamic-tool',
    toolCallId: call.callId,
    toolName: call.name,
    ...(call.provider && { providerExecuted: true }),
  } as const
  const { state, more = [] } = call.provider ? providerState(call) : callState(call)
  return [{ ...tool, ...state }, ...more]
}

interface CallParts {
  readonly state: UIToolState
  /** Its files and sources. */
  readonly more?: readonly UIMessagePart[]
}

function providerState({ provider = {}, endedAt }: CallView): CallParts {
  const { isError } = provider
  const input = provider.input ?? {}
  if (isError) {
    const errorText = JSON.stringify(provider.output ?? null)
    return { state: { state: 'output-error', input, errorText } }
  }
  if (endedAt === undefined) return { state: { state: 'input-available', input } }
  const { output, parts } = providerOutput(provider.output)
  return { state: { state: 'output-available', input, output }, more: parts }
}

function callState(call: CallView): CallParts {
  const { callId, raw, input, problem, result, approvals } = call
  const rawInput = raw.pieces.join('')
  if (problem !== undefined) return { state: { state: 'output-error', input: rawInput, errorText: problem } }
  if (result && isDenied(call)) return { state: deniedState(call) }
  if (result?.isError)
    return { state: { state: 'output-error', input, errorText: textOfResult(result.output) } }
  if (result) {
    const { output, files } = toolOutput(callId, result.output)
    return { state: { state: 'output-available', input, output }, more: files }
  }
  const decision = call.budget && approvals[0]?.decision
  if (decision?.approved)
    return { state: { state: 'output-available', input, output: decision.input ?? input } }
  if (decision) return { state: deniedState(call) }
  const asked = approvals.find(({ request, decision }) => !decision && !request.wants)?.request
  if (asked)
    return {
      state: {
        state: 'approval-requested',
        input,
        approval: {
          id: asked.callId,
          ...(asked.reason !== undefined && { requestReason: asked.reason }),
          ...(asked.callId !== callId && { descriptor: descriptorOf(asked) }),
        },
      },
    }
  if (call.closedAt === undefined) return { state: { state: 'input-streaming', input: undefined, rawInput } }
  return { state: { state: 'input-available', input } }
}

function deniedState({ callId, input, approvals }: CallView): UIToolState {
  const reason = approvals.find(({ decision }) => decision?.approved === false)?.decision?.reason
  const approval = { id: callId, approved: false, ...(reason !== undefined && { reason }) } as const
  return { state: 'output-denied', input, approval }
}
