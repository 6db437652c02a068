import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  CallStatus,
  JsonObject,
  Permission,
  ToolCallEvent,
} from '../protocol/index.ts'
import { messageOf } from '../protocol/index.ts'
import { andThen, isThenable } from './and-then.ts'
import type { Guard } from './guard.ts'
import type { Resumed } from './nested-run.ts'
import type { Access, Ruling } from './policy.ts'
import type { BeforeCall, Prepared } from './prepare.ts'
import { checkInput, prepareCall } from './prepare.ts'
import type { RepeatGuard } from './repeats.ts'
import type { Tool } from './tool.ts'
import { asksPerson } from './tool.ts'

/** A call to deal with, and what the log already knows of it. */
export interface CallOrder {
  readonly call: ToolCallEvent
  /** The tools of the round in which the call was made. */
  readonly tools: ReadonlyMap<string, Tool>
  /** Which run of this call it would be; 1 if it has never started. */
  readonly attempt: number
  /** What a person was asked, and decided of it, if it needed that. */
  readonly asked?: ApprovalRequestEvent | undefined
  readonly decision?: ApprovalEvent | undefined
  /** The input that it ran with before, or that the person was shown, if that was not the model's. */
  readonly ranWith?: JsonObject | undefined
  /** Where the run inside it stood, if it has started one before. */
  readonly resumed?: Resumed | undefined
}

/** What the rules said of a call, and what it was found to touch. */
interface Judged {
  readonly ruling: Ruling
  readonly access: readonly Access[] | undefined
}

export interface Ready extends Extract<Prepared, { type: 'ready' }> {
  /** Undefined where there are no rules. */
  readonly judged?: Judged
}

/** It may run; or not, and why; or a person has to say. */
export type Admission =
  | Ready
  | {
      readonly type: 'refused'
      readonly reason: string
      readonly status: CallStatus
      readonly permission?: Permission
    }
  | { readonly type: 'ask'; readonly request: ApprovalRequestEvent }

export interface AdmitOptions<Context> {
  readonly runId: string
  readonly context: Context
  /** The agent's rules, and those of the agents above it. */
  readonly guard: Guard | undefined
  readonly repeats: RepeatGuard | undefined
  readonly beforeCall: BeforeCall<Context> | undefined
}

/**
 * Whether a call may run: it is one that can, the hook lets it, it goes in no circle, the rules allow it, and a person agrees
 * where one is to be asked. Never rejects, and is synchronous where all of that is.
 */
export function admitCall<Context>(
  order: CallOrder,
  options: AdmitOptions<Context>,
): Admission | Promise<Admission> {
  const { call, attempt, decision, tools } = order
  if (decision) return admitDecided(order, decision, options)
  // It was let through when it first started, and is repeated just as it was.
  if (attempt > 1)
    return admitDecided(order, { type: 'approval', callId: call.callId, approved: true }, options)
  return andThen(prepareCall(call, { ...options, tools }), (prepared) => {
    if (prepared.type === 'refused') return prepared
    const circle = prepared.tool.polling ? undefined : options.repeats?.refusal(call.name, prepared.input)
    if (circle) return refused(circle, 'blocked')
    return andThen(judge(prepared, options.guard), (judged) =>
      judged.type === 'ready' ? askPerson(call.callId, judged, options) : judged,
    )
  })
}

/** What a person agreed to runs, unless there is a rule against it. */
function admitDecided<Context>(
  order: CallOrder,
  { approved, reason, input, remember }: ApprovalEvent,
  options: AdmitOptions<Context>,
): Admission | Promise<Admission> {
  const { call, tools, ranWith = call.input } = order
  const { guard } = options
  if (!approved) return refused(`Not run: the call was declined${reason ? `: ${reason}` : '.'}`, 'declined')
  const tool = tools.get(call.name)
  if (!tool) return refused(`Not run: there is no tool named '${call.name}' any more.`, 'rejected')
  // What the hook let through is not asked again. What a person wrote since it has not seen, and may block, but not change:
  // what runs is what the person agreed to.
  const checked = input
    ? andThen(prepareCall({ ...call, input }, { ...options, tools }), (prepared) =>
        prepared.type === 'refused' ? prepared : checkInput(tool, input),
      )
    : checkInput(tool, ranWith)
  return andThen(checked, (prepared) => {
    if (prepared.type === 'refused') return prepared
    return andThen(judge(prepared, guard), (judged) => {
      if (judged.type !== 'ready') return judged
      const moved = input ? undefined : movedSince(order, judged.judged)
      if (moved) return refused(moved, 'blocked')
      if (remember?.for !== 'always' || !guard) return judged
      return safely(
        () => guard.keep(remember.rules).then(() => judged),
        (problem) => `it was approved, but could not be kept for good as it should be (${problem})`,
      )
    })
  })
}

/** The call with what the rules say of it; refused if they deny it. */
function judge(prepared: Ready, guard: Guard | undefined): Admission | Promise<Admission> {
  if (!guard) return prepared
  const { tool, input, value } = prepared
  const { name, fingerprint } = tool
  return safely(
    () =>
      andThen(tool.access?.(value as never), (access) =>
        andThen(guard.judge({ name, input, access, fingerprint }), (ruling): Admission => {
          if (ruling.decision !== 'deny') return { ...prepared, judged: { ruling, access } }
          return {
            ...refused(`Not run: ${ruling.reason}.`, 'blocked'),
            permission: permissionOf(ruling),
          }
        }),
      ),
    (problem) => `whether it is allowed could not be decided (${problem})`,
  )
}

/** The rules may ask a person, and the tool itself. */
function askPerson<Context>(
  callId: string,
  ready: Ready,
  { guard, context }: AdmitOptions<Context>,
): Admission | Promise<Admission> {
  const { tool, input, value, judged } = ready
  const ruling = judged?.ruling.decision === 'ask' ? judged.ruling : undefined
  return safely(
    () =>
      andThen(tool.approve(value, { callId, context }), (asks): Admission => {
        if (!ruling && !asksPerson(asks)) return ready
        const reasons = [typeof asks === 'string' && asks, ruling?.reason].filter(Boolean)
        const request: ApprovalRequestEvent = {
          type: 'approval-request',
          callId,
          name: tool.name,
          input,
          ...(reasons.length > 0 && { reason: reasons.join('; ') }),
          ...(ruling && { permission: permissionOf(ruling) }),
          // A tool that asks by itself asks each time.
          ...(ruling?.rules &&
            !asksPerson(asks) && {
              remember: { rules: ruling.rules, for: guard?.keeps ? ['thread', 'always'] : ['thread'] },
            }),
        }
        return { type: 'ask', request }
      }),
    (problem) => `whether it needs approval could not be decided (${problem})`,
  )
}

/** A person has agreed to what they were shown: where a link leads elsewhere by now, that is something else. */
function movedSince({ asked, decision, resumed }: CallOrder, judged: Judged | undefined): string | undefined {
  if (judged?.ruling.decision !== 'ask') return undefined
  // It ran without asking, and is repeated. What a sub-agent does is judged where it does it.
  if (!decision && !resumed)
    return `Not run again: what was allowed when it first ran needs a person now (${judged.ruling.reason}). Call it again to ask.`
  if (!asked?.permission) return undefined
  const before = asked.remember?.rules
  // Less than was asked is what somebody has allowed in the meantime.
  if (before && judged.ruling.rules?.every((rule) => before.includes(rule))) return undefined
  // Of what cannot be remembered there are only the words that they read.
  if (!before && asked.reason?.endsWith(judged.ruling.reason)) return undefined
  return `Not run: what it would touch has changed since it was approved (${judged.ruling.reason}). Call it again to ask anew.`
}

/** Fail closed: what breaks while it is decided whether a call may run must not let it through. */
function safely(
  decide: () => Admission | Promise<Admission>,
  why: (problem: string) => string,
): Admission | Promise<Admission> {
  const fail = (error: unknown) => refused(`Not run: ${why(messageOf(error))}.`, 'failed')
  try {
    const decided = decide()
    return isThenable(decided) ? decided.catch(fail) : decided
  } catch (error) {
    return fail(error)
  }
}

function refused(reason: string, status: CallStatus) {
  return { type: 'refused', reason, status } as const
}

export function permissionOf({ decision, rule }: Ruling): Permission {
  return { decision, rule }
}
