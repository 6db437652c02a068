import type { LiveLog } from '../log/index.ts'
import type { ApprovalEvent, CallState, RunState, ToolCallEvent } from '../protocol/index.ts'
import type { CallRequest, Tool, ToolRuntime } from '../tools/index.ts'
import type { RunBudget } from './budget.ts'
import { callBlockReason, roundBlockReason } from './call-limits.ts'
import { forEachInSlices } from './for-each-in-slices.ts'
import type { LoopOptions } from './options.ts'

/** The result that the model reads for a call that was running when its process died. */
export const unknownOutcome =
  'This call was interrupted while it was running. Whether it took effect is unknown, and it is not run again.'

export function unansweredCalls(state: RunState): ToolCallEvent[] {
  return [...state.calls.values()].flatMap(({ call, result }) => (result ? [] : [call]))
}

/** The calls that have not been submitted yet: from a log of another process, or newly decided. */
export function unstartedCalls(state: RunState, runtime: ToolRuntime): CallState[] {
  return [...state.calls.values()].filter((callState) => isUnstarted(callState, runtime))
}

function isUnstarted({ call, result, waiting }: CallState, runtime: ToolRuntime): boolean {
  return !result && !waiting && !runtime.has(call.callId)
}

/** Runs the calls, or emits a result that says why not. */
export function resumeCalls<Context>(
  calls: readonly CallState[],
  {
    log,
    runtime,
    tools,
    options,
    budget,
    isStopped,
  }: {
    readonly log: LiveLog
    readonly runtime: ToolRuntime
    readonly tools: ReadonlyMap<string, Tool>
    readonly options: LoopOptions<Context>
    readonly budget: RunBudget | undefined
    readonly isStopped: () => boolean
  },
): Promise<void> {
  const indexes = new Map(Array.from(log.run.calls.keys(), (callId, index) => [callId, index]))
  return forEachInSlices(calls, { clock: options.clock, isStopped }, (callState) => {
    const { call, inFlight } = callState
    const state = log.run
    // In the meantime the round may have been retracted, or a decision may have resumed the same
    // calls.
    if (state.calls.get(call.callId) !== callState || !isUnstarted(callState, runtime)) return
    const index = indexes.get(call.callId) ?? 0
    const reason =
      roundBlockReason(state, options) ?? callBlockReason(index, options.maxCallsPerRound, budget)
    if (inFlight && tools.get(call.name)?.repeat !== 'safe') runtime.reject(call, unknownOutcome, 'unknown')
    else if (reason) runtime.reject(call, reason, 'blocked')
    else runtime.submit(callRequestFor(callState, tools))
  })
}

function callRequestFor(
  { call, attempts, input, requests, decisions, relayed }: CallState,
  tools: ReadonlyMap<string, Tool>,
): CallRequest {
  return {
    call,
    tools,
    attempt: attempts + 1,
    decision: decisions.get(call.callId),
    approvalRequest: requests.get(call.callId),
    effectiveInput: input ?? requests.get(call.callId)?.input,
    ...(relayed.length > 0 && {
      resumed: { events: [...relayed], decisions: nestedDecisions(call.callId, decisions) },
    }),
  }
}

/** The decisions for a sub-agent, under its own call ids. */
function nestedDecisions(callId: string, decisions: ReadonlyMap<string, ApprovalEvent>): ApprovalEvent[] {
  const nested = [...decisions.values()].filter((decision) => decision.callId.startsWith(`${callId}/`))
  return nested.map((decision) => ({ ...decision, callId: decision.callId.slice(callId.length + 1) }))
}
