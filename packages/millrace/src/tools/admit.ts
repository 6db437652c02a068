import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  CallStatus,
  JsonObject,
  Permission,
  ToolCallEvent,
} from '../protocol/index.ts'
import { messageOf } from '../protocol/index.ts'
import { displayOf } from './display.ts'
import { isThenable, mapMaybeAsync } from './map-maybe-async.ts'
import type { Resumed } from './nested-run.ts'
import type { Access, PolicyDecision } from './policy.ts'
import type { PolicyChain } from './policy-chain.ts'
import type { BeforeCall, Prepared } from './prepare.ts'
import { checkInput, prepareCall } from './prepare.ts'
import type { RepeatDetector } from './repeats.ts'
import type { Tool } from './tool.ts'
import { needsApproval } from './tool.ts'

/** A tool call to run, with its state from the log. */
export interface CallRequest {
  readonly call: ToolCallEvent
  /** The tools of the round in which the call was made. */
  readonly tools: ReadonlyMap<string, Tool>
  /** 1 if the call has never started. */
  readonly attempt: number
  /** The approval request and its decision, if the call needed one. */
  readonly approvalRequest?: ApprovalRequestEvent | undefined
  readonly decision?: ApprovalEvent | undefined
  /**
   * The input that it ran with before or that was shown for approval, if it was not the model's.
   */
  readonly effectiveInput?: JsonObject | undefined
  /** The state of its nested run, if it has started one before. */
  readonly resumed?: Resumed | undefined
}

/** The decision of the rules on a call, and what the call would touch. */
interface PolicyCheck {
  readonly result: PolicyDecision
  readonly access: readonly Access[] | undefined
}

export interface Ready extends Extract<Prepared, { type: 'ready' }> {
  /** Undefined if there are no rules. */
  readonly policyCheck?: PolicyCheck
}

/** The call may run, is rejected with a reason, or needs approval. */
export type Admission =
  | Ready
  | {
      readonly type: 'rejected'
      readonly reason: string
      readonly status: CallStatus
      readonly permission?: Permission
    }
  | { readonly type: 'ask'; readonly request: ApprovalRequestEvent }

export interface AdmitOptions<Context> {
  readonly runId: string
  readonly context: Context
  /** The rules of the agent and of its parent agents. */
  readonly policies: PolicyChain | undefined
  readonly repeats: RepeatDetector | undefined
  readonly beforeCall: BeforeCall<Context> | undefined
}

/**
 * Decides whether a call may run: it must be valid, pass the `beforeCall` hook, not repeat itself
 * too often, be allowed by the rules, and be approved if it needs approval. Never rejects, and is
 * synchronous if all checks are.
 */
export function admitCall<Context>(
  request: CallRequest,
  options: AdmitOptions<Context>,
): Admission | Promise<Admission> {
  const { call, attempt, decision, tools } = request
  if (decision) return admitDecided(request, decision, options)
  // It was admitted when it first started, and is repeated with the same input.
  if (attempt > 1)
    return admitDecided(request, { type: 'approval', callId: call.callId, approved: true }, options)
  return mapMaybeAsync(prepareCall(call, { ...options, tools }), (prepared) => {
    if (prepared.type === 'rejected') return prepared
    const repeated = prepared.tool.polling
      ? undefined
      : options.repeats?.blockReason(call.name, prepared.input)
    if (repeated) return rejected(repeated, 'blocked')
    return mapMaybeAsync(checkPolicy(prepared, options.policies), (admission) =>
      admission.type === 'ready' ? checkApproval(call.callId, admission, options) : admission,
    )
  })
}

/** An approved call runs, unless a rule denies it. */
function admitDecided<Context>(
  request: CallRequest,
  { approved, reason, input, remember }: ApprovalEvent,
  options: AdmitOptions<Context>,
): Admission | Promise<Admission> {
  const { call, tools, effectiveInput = call.input } = request
  const { policies } = options
  if (!approved) return rejected(`Not run: the call was denied${reason ? `: ${reason}` : '.'}`, 'denied')
  const tool = tools.get(call.name)
  if (!tool) return rejected(`Not run: the tool '${call.name}' no longer exists.`, 'rejected')
  // The hook is not called again for input it has let through. It has not seen input that a person
  // changed. It may block that input but not replace it, since the person approved exactly that
  // input.
  const checked = input
    ? mapMaybeAsync(prepareCall({ ...call, input }, { ...options, tools }), (prepared) =>
        prepared.type === 'rejected' ? prepared : checkInput(tool, input),
      )
    : checkInput(tool, effectiveInput)
  return mapMaybeAsync(checked, (prepared) => {
    if (prepared.type === 'rejected') return prepared
    return mapMaybeAsync(checkPolicy(prepared, policies), (admission) => {
      if (admission.type !== 'ready') return admission
      const changed = input ? undefined : changedSinceApproval(request, admission.policyCheck)
      if (changed) return rejected(changed, 'blocked')
      if (remember?.for !== 'always' || !policies) return admission
      return failClosed(
        () => policies.remember(remember.rules).then(() => admission),
        (problem) => `it was approved, but the approval could not be saved permanently (${problem})`,
      )
    })
  })
}

/** Adds the decision of the rules to the call; rejects the call if they deny it. */
function checkPolicy(prepared: Ready, guard: PolicyChain | undefined): Admission | Promise<Admission> {
  if (!guard) return prepared
  const { tool, input, value } = prepared
  const { name, fingerprint } = tool
  return failClosed(
    () =>
      mapMaybeAsync(tool.access?.(value as never), (access) =>
        mapMaybeAsync(guard.decide({ name, input, access, fingerprint }), (result): Admission => {
          if (result.decision !== 'deny') return { ...prepared, policyCheck: { result, access } }
          return {
            ...rejected(`Not run: ${result.reason}.`, 'blocked'),
            permission: permissionOf(result),
          }
        }),
      ),
    (problem) => `the permission check failed (${problem})`,
  )
}

/** Approval may be required by the rules and by the tool itself. */
function checkApproval<Context>(
  callId: string,
  ready: Ready,
  { policies, context }: AdmitOptions<Context>,
): Admission | Promise<Admission> {
  const { tool, input, value, policyCheck } = ready
  const askDecision = policyCheck?.result.decision === 'ask' ? policyCheck.result : undefined
  return failClosed(
    () =>
      mapMaybeAsync(tool.approve(value, { callId, context }), (toolResult): Admission => {
        if (!askDecision && !needsApproval(toolResult)) return ready
        const reasons = [typeof toolResult === 'string' && toolResult, askDecision?.reason].filter(Boolean)
        const request: ApprovalRequestEvent = {
          type: 'approval-request',
          callId,
          name: tool.name,
          input,
          ...(reasons.length > 0 && { reason: reasons.join('; ') }),
          ...(askDecision && { permission: permissionOf(askDecision) }),
          ...displayOf(ready),
          // A tool that requires approval itself requires it each time.
          ...(askDecision?.rules &&
            !needsApproval(toolResult) && {
              remember: {
                rules: askDecision.rules,
                for: policies?.canRemember ? ['thread', 'always'] : ['thread'],
              },
            }),
        }
        return { type: 'ask', request }
      }),
    (problem) => `the approval check failed (${problem})`,
  )
}

/**
 * Why an approval no longer applies: the call would touch something else now, such as the new
 * target of a link.
 */
function changedSinceApproval(
  { approvalRequest, decision, resumed }: CallRequest,
  policyCheck: PolicyCheck | undefined,
): string | undefined {
  if (policyCheck?.result.decision !== 'ask') return undefined
  // It first ran without approval. A sub-agent's accesses are checked in its own run instead.
  if (!decision && !resumed)
    return `Not run again: it was allowed when it first ran, but needs approval now (${policyCheck.result.reason}). Call it again to request approval.`
  if (!approvalRequest?.permission) return undefined
  const approvedRules = approvalRequest.remember?.rules
  // Fewer rules than before: the others were allowed in the meantime.
  if (approvedRules && policyCheck.result.rules?.every((rule) => approvedRules.includes(rule)))
    return undefined
  // A request that cannot be remembered has no rules to compare, only its reason.
  if (!approvedRules && approvalRequest.reason?.endsWith(policyCheck.result.reason)) return undefined
  return `Not run: what it would touch has changed since it was approved (${policyCheck.result.reason}). Call it again to request approval.`
}

/** Fails closed: an error during a check must not let the call run. */
function failClosed(
  decide: () => Admission | Promise<Admission>,
  why: (problem: string) => string,
): Admission | Promise<Admission> {
  const fail = (error: unknown) => rejected(`Not run: ${why(messageOf(error))}.`, 'failed')
  try {
    const decided = decide()
    return isThenable(decided) ? decided.catch(fail) : decided
  } catch (error) {
    return fail(error)
  }
}

function rejected(reason: string, status: CallStatus) {
  return { type: 'rejected', reason, status } as const
}

export function permissionOf({ decision, rule }: PolicyDecision): Permission {
  return { decision, rule }
}
