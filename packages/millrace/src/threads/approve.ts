import type { AgentInternals } from '../agent/index.ts'
import type { Log } from '../log/index.ts'
import { controlAt } from '../log/index.ts'
import type {
  ApprovalAnswer,
  ApprovalEvent,
  ApprovalRequestEvent,
  Entry,
  OptionTable,
  Remembered,
  ThreadState,
} from '../protocol/index.ts'
import {
  anything,
  approvalsOf,
  cancelReason,
  checkOptions,
  invalidInput,
  isObject,
  kindOf,
  MillraceError,
  yesOrNo,
} from '../protocol/index.ts'

const op = 'thread.approve'

const answerTable: OptionTable<ApprovalAnswer> = {
  approved: yesOrNo,
  reason: anything,
  input: anything,
  remember: anything,
  request: anything,
}

/** Reads a decision from the caller's answer. Throws `invalid_input` if it is malformed. */
export function readAnswer(callId: string, answer: ApprovalAnswer): ApprovalEvent {
  if (typeof callId !== 'string' || !callId)
    throw invalidInput(op, 'the first argument of approve() must be the id of a tool call')
  if (!isObject(answer as unknown) || typeof answer.approved !== 'boolean')
    throw invalidInput(
      op,
      `a decision must be { approved: true | false, reason?, input?, remember?, request? }, not ${kindOf(answer)}`,
    )
  checkOptions(answer, answerTable, { op, what: 'the field' })
  const given = Object.entries(answer).filter(([, value]) => value !== undefined)
  return { callId, ...Object.fromEntries(given) } as ApprovalEvent
}

interface DecideOptions {
  readonly log: Log
  /** The thread as it is now. */
  readonly state: ThreadState
  readonly agent: AgentInternals
  /** Writes a decision. If this call already has one, returns that one instead. */
  readonly write: (event: ApprovalEvent) => Promise<Entry>
}

/**
 * Writes a decision about a call that waits for one. Returns its number in the log, also if the
 * call was already decided in the same way, whatever came with it.
 */
export async function decide(
  decision: ApprovalEvent,
  { log, state, agent, write }: DecideOptions,
): Promise<number> {
  const { callId } = decision
  const { head, run } = state
  const decidedAt = state.decisions.get(callId)
  if (run && decidedAt === undefined && openRequest(state, callId)) {
    const isStopped = cancelReason(state) !== undefined
    const entry = await write(await agent.readDecision(decision, run, op))
    // Nothing was written between the state that was checked and the decision.
    return !isStopped && entry.seq === head + 1 ? entry.seq : confirmDecision(entry, decision, log)
  }
  if (decidedAt === undefined) throw tooLate(state, callId)
  const [entry] = await log.store.read(log.threadId, { after: decidedAt - 1, limit: 1 })
  return confirmDecision(entry as Entry, decision, log)
}

/** Returns the number of the decision in the log, if it is this one and came in time. */
async function confirmDecision(entry: Entry, decision: ApprovalEvent, log: Log) {
  // A stop may have been written in between; the first one in the log counts.
  const before = await controlAt(log, entry.seq - 1)
  if (!openRequest(before, decision.callId) || cancelReason(before) !== undefined)
    throw tooLate(before, decision.callId, { isUsed: true })
  return sameDecision(entry as Decided, decision)
}

/** The request of a call that waits for a decision or a result. */
export function openRequest(state: ThreadState, callId: string): ApprovalRequestEvent | undefined {
  return approvalsOf(state).find((request) => request.callId === callId)
}

interface Decided {
  readonly seq: number
  readonly event: ApprovalEvent
}

/** Repeating a decision is fine; a different one is too late. */
function sameDecision(earlier: Decided, decision: ApprovalEvent): number {
  const { approved, input } = earlier.event
  const same =
    approved === decision.approved &&
    JSON.stringify(input) === JSON.stringify(decision.input) &&
    sameRemember(earlier.event.remember, decision.remember)
  if (same) return earlier.seq
  const message = `call '${decision.callId}' was already ${approved ? 'approved' : 'denied'}`
  throw new MillraceError({ op, code: 'conflict', message })
}

/** An answer without rules means the rules of the request, which are in the log. */
function sameRemember(stored: Remembered | undefined, requested: unknown): boolean {
  const { for: howLong, rules = stored?.rules } = isObject(requested) ? requested : { for: requested }
  return stored?.for === howLong && JSON.stringify(stored?.rules) === JSON.stringify(rules)
}

/** Whether the conversation has this call. `call_1/call_7` is one of a sub-agent, which `call_1` runs. */
export function isKnownCall({ run }: ThreadState, callId: string): boolean {
  return run?.callIds.has(String(callId).split('/', 1)[0] as string) ?? false
}

function tooLate(
  state: ThreadState,
  callId: string,
  { isUsed = isKnownCall(state, callId) } = {},
): MillraceError {
  if (!isUsed) {
    const waiting = approvalsOf(state).map(({ callId, name }) => `'${callId}' (${name})`)
    const message = `call '${callId}' is not waiting for a decision. Waiting calls: ${waiting.join(', ') || 'none'}`
    return invalidInput(op, message)
  }
  const why = cancelReason(state) ?? state.error?.message ?? 'it has already been handled'
  const message = `call '${callId}' is no longer waiting for a decision: ${why}`
  return new MillraceError({ op, code: 'conflict', message })
}
