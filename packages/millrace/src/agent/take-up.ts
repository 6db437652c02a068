import type { LiveLog } from '../log/index.ts'
import type { ApprovalEvent, CallState, RunState, ToolCallEvent } from '../protocol/index.ts'
import type { CallOrder, Tool, ToolRuntime } from '../tools/index.ts'
import { overTheLimit, refusalOf } from './call-limits.ts'
import { inTurns } from './in-turns.ts'
import type { LoopOptions } from './options.ts'

/** What the model reads of a call that was running when its process died. */
export const unknownFate =
  'This call was interrupted while it ran: whether it took effect is unknown, and it is not run again.'

export function unansweredCalls(state: RunState): ToolCallEvent[] {
  return [...state.calls.values()].flatMap(({ call, result }) => (result ? [] : [call]))
}

/** The calls that nobody is dealing with yet: those of a log that was taken over, or newly decided. */
export function untakenCalls(state: RunState, runtime: ToolRuntime): CallState[] {
  return [...state.calls.values()].filter((known) => isUntaken(known, runtime))
}

function isUntaken({ call, result, waiting }: CallState, runtime: ToolRuntime): boolean {
  return !result && !waiting && !runtime.knows(call.callId)
}

/** Runs them, or answers why they are not. */
export function takeUp<Context>(
  calls: readonly CallState[],
  {
    log,
    runtime,
    tools,
    options,
    isOver,
  }: {
    readonly log: LiveLog
    readonly runtime: ToolRuntime
    readonly tools: ReadonlyMap<string, Tool>
    readonly options: LoopOptions<Context>
    readonly isOver: () => boolean
  },
): Promise<void> {
  const places = new Map(Array.from(log.run.calls.keys(), (callId, place) => [callId, place]))
  return inTurns(calls, { clock: options.clock, isOver }, (known) => {
    const { call, inFlight } = known
    const state = log.run
    // Meanwhile the round may have been retracted, or a decision had the same calls taken up.
    if (state.calls.get(call.callId) !== known || !isUntaken(known, runtime)) return
    const place = places.get(call.callId) ?? 0
    const reason = refusalOf(state, options) ?? overTheLimit(place, options.maxCallsPerRound)
    if (inFlight && tools.get(call.name)?.repeat !== 'safe') runtime.refuse(call, unknownFate, 'unknown')
    else if (reason) runtime.refuse(call, reason, 'blocked')
    else runtime.submit(orderFor(known, tools))
  })
}

/** What is to be done for a call that the log knows of already. */
function orderFor(
  { call, attempts, input, requests, decisions, relayed }: CallState,
  tools: ReadonlyMap<string, Tool>,
): CallOrder {
  return {
    call,
    tools,
    attempt: attempts + 1,
    decision: decisions.get(call.callId),
    asked: requests.get(call.callId),
    ranWith: input ?? requests.get(call.callId)?.input,
    ...(relayed.length > 0 && {
      resumed: { events: [...relayed], decisions: inside(call.callId, decisions) },
    }),
  }
}

/** Decisions for a sub-agent, under the ids that it knows. */
function inside(callId: string, decisions: ReadonlyMap<string, ApprovalEvent>): ApprovalEvent[] {
  const below = [...decisions.values()].filter((decision) => decision.callId.startsWith(`${callId}/`))
  return below.map((decision) => ({ ...decision, callId: decision.callId.slice(callId.length + 1) }))
}
