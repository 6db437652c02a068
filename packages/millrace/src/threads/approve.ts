import type { AgentInternals } from '../agent/index.ts'
import type { Log } from '../log/index.ts'
import { controlAt } from '../log/index.ts'
import type { Answer, ApprovalEvent, Entry, OptionTable, Remembered, ThreadState } from '../protocol/index.ts'
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

const answerTable: OptionTable<Answer> = {
  approved: yesOrNo,
  reason: anything,
  input: anything,
  remember: anything,
}

/** The decision that a caller asks for. Throws `invalid_input` if it is not one. */
export function readAnswer(callId: string, answer: Answer): ApprovalEvent {
  if (typeof callId !== 'string' || !callId) throw invalidInput(op, 'approve() takes the id of a call first')
  if (!isObject(answer as unknown) || typeof answer.approved !== 'boolean')
    throw invalidInput(
      op,
      `a decision must be { approved: true | false, reason?, input?, remember? }, not ${kindOf(answer)}`,
    )
  checkOptions(answer, answerTable, { op, what: 'the field' })
  const given = Object.entries(answer).filter(([, value]) => value !== undefined)
  return { callId, ...Object.fromEntries(given) } as ApprovalEvent
}

interface Deciding {
  readonly log: Log
  /** The thread as it is now. */
  readonly state: ThreadState
  readonly agent: AgentInternals
  /** Writes a decision, unless there is one about this call: then it gives that one. */
  readonly write: (event: ApprovalEvent) => Promise<Entry>
}

/** Writes a decision about a call that waits for one. Gives its number in the log. */
export async function decide(
  decision: ApprovalEvent,
  { log, state, agent, write }: Deciding,
): Promise<number> {
  const { callId } = decision
  const { head, run } = state
  const decidedAt = state.decisions.get(callId)
  if (run && decidedAt === undefined && isAsked(state, callId)) {
    const isStopped = cancelReason(state) !== undefined
    const entry = await write(await agent.readDecision(decision, run, op))
    // Nothing stands in the log between what was looked at and the decision.
    return !isStopped && entry.seq === head + 1 ? entry.seq : counted(entry, decision, log)
  }
  if (decidedAt === undefined) throw tooLate(state, callId)
  const [entry] = await log.store.read(log.threadId, { after: decidedAt - 1, limit: 1 })
  return counted(entry as Entry, decision, log)
}

/** The number of the decision that stands in the log, if it is this one, and if it came in time. */
async function counted(entry: Entry, decision: ApprovalEvent, log: Log) {
  // A stop may have come in between: what is first in the log counts.
  const before = await controlAt(log, entry.seq - 1)
  if (!isAsked(before, decision.callId) || cancelReason(before) !== undefined)
    throw tooLate(before, decision.callId, { isUsed: true })
  return sameDecision(entry as Decided, decision)
}

function isAsked(state: ThreadState, callId: string): boolean {
  return approvalsOf(state).some((request) => request.callId === callId)
}

interface Decided {
  readonly seq: number
  readonly event: ApprovalEvent
}

/** Repeating a decision is fine; a different one comes too late. */
function sameDecision(earlier: Decided, decision: ApprovalEvent): number {
  const { approved, input } = earlier.event
  const same =
    approved === decision.approved &&
    JSON.stringify(input) === JSON.stringify(decision.input) &&
    remembersTheSame(earlier.event.remember, decision.remember)
  if (same) return earlier.seq
  const message = `the call '${decision.callId}' was ${approved ? 'approved' : 'declined'} already`
  throw new MillraceError({ op, code: 'conflict', message })
}

/** An answer without rules means those of the request, which are in the log by now. */
function remembersTheSame(kept: Remembered | undefined, asked: unknown): boolean {
  const { for: howLong, rules = kept?.rules } = isObject(asked) ? asked : { for: asked }
  return kept?.for === howLong && JSON.stringify(kept?.rules) === JSON.stringify(rules)
}

function tooLate(
  state: ThreadState,
  callId: string,
  // `call_1/call_7` is a call of a sub-agent, which `call_1` runs.
  { isUsed = state.run?.callIds.has(callId.split('/', 1)[0] as string) ?? false } = {},
): MillraceError {
  if (!isUsed) {
    const waiting = approvalsOf(state).map(({ callId, name }) => `'${callId}' (${name})`)
    const message = `no call '${callId}' waits for a decision; waiting: ${waiting.join(', ') || 'none'}`
    return invalidInput(op, message)
  }
  const why = cancelReason(state) ?? state.error?.message ?? 'it is dealt with'
  const message = `nobody waits for a decision about the call '${callId}' any more: ${why}`
  return new MillraceError({ op, code: 'conflict', message })
}
