import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  JsonObject,
  Remembered,
  RunState,
} from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, openRequests, toJson } from '../protocol/index.ts'
import type { Policy, Tool } from '../tools/index.ts'
import { isThenable, toParts } from '../tools/index.ts'

interface DecisionContext {
  readonly tools: readonly Tool[]
  /** The agent's permission rules, if any. */
  readonly policy: Policy | undefined
}

/**
 * Converts decisions to events, checked against the calls that wait for one. Throws `invalid_input`
 * before anything runs.
 */
export function readDecisions(
  decisions: unknown,
  state: RunState,
  { tools, policy }: DecisionContext,
  op: string,
): ApprovalEvent[] {
  const open = openRequests(state)
  const waiting = open.map(({ callId, name }) => `'${callId}' (${name})`).join(', ')
  const fail = (problem: string): never => {
    throw invalidInput(op, `${problem}; calls waiting for a decision: ${waiting || 'none'}`)
  }
  if (!Array.isArray(decisions)) return fail('decisions must be an array of { callId, approved }')
  if (decisions.length === 0 && state.outcome === 'suspended')
    fail('the run is waiting for approval: pass at least one decision')

  const decided = new Set<string>()
  return decisions.map((decision: unknown): ApprovalEvent => {
    if (!isObject(decision) || typeof decision.callId !== 'string' || typeof decision.approved !== 'boolean')
      return fail('a decision must be { callId, approved: true | false, reason?, input?, remember? }')
    const { callId, approved, reason, input, remember, output, isError } = decision
    const request = open.find((request) => request.callId === callId)
    if (!request) return fail(`no call '${callId}' is waiting for a decision`)
    if (decided.has(callId)) fail(`there are two decisions for the call '${callId}'`)
    decided.add(callId)
    if (reason !== undefined && typeof reason !== 'string')
      return fail('the reason of a decision must be a string')
    if (input !== undefined && !isObject(input))
      return fail(`the changed input for '${callId}' must be an object`)
    if (request.wants ? approved && output === undefined : output !== undefined)
      return fail(
        request.wants
          ? `the call '${callId}' waits for its result: respond with an output, or deny it`
          : `the call '${callId}' waits for a decision, not for a result`,
      )
    const remembered =
      remember === undefined ? undefined : readRemember(remember, request, { approved, policy })
    if (typeof remembered === 'string') return fail(remembered)
    const approval = {
      type: 'approval',
      callId,
      approved,
      ...(reason !== undefined && { reason }),
      ...(remembered && { remember: remembered }),
      ...(output !== undefined && { output: toParts(output) }),
      ...(isError === true && { isError }),
    } as const
    if (!input) return approval
    if (request.budget && !isAmount(input[request.budget.kind]))
      fail(`the changed input for '${callId}' must be { ${request.budget.kind} } with a number above 0`)
    // Calls inside a sub-agent, and calls with an async schema, are checked when they run.
    const checked = checkAgainstTool(callId, input, state, tools)
    if (checked && !isThenable(checked) && checked.issues) fail(schemaMismatch(request, checked.issues))
    return { ...approval, input: toJson(input) as JsonObject }
  })
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

const maxRules = 100

/** The rules to remember, or what is wrong with them. */
function readRemember(
  remember: unknown,
  { callId, permission, remember: offered }: ApprovalRequestEvent,
  { approved, policy }: { readonly approved: boolean; readonly policy: Policy | undefined },
): Remembered | string {
  const asked = isObject(remember) ? remember : { for: remember }
  const { for: scope, rules = offered?.rules } = asked
  if (scope !== 'thread' && scope !== 'always')
    return "remember must be 'thread', 'always' or { for: 'thread' | 'always', rules }"
  if (!approved) return 'only an approval can be remembered'
  if (!offered)
    return permission
      ? `the approval of '${callId}' cannot be remembered, since this call must be reviewed each time: decide without remember`
      : `the approval of '${callId}' cannot be remembered: it was not requested by one of the agent's rules`
  if (!offered.for.includes(scope))
    return `approvals cannot be remembered permanently: the agent's permission({ … }) has no memory; use 'thread'`
  if (!Array.isArray(rules) || rules.length === 0)
    return 'the rules to remember must be a non-empty list of strings'
  // Each rule is checked for every later call.
  if (rules.length > Math.max(maxRules, offered.rules.length))
    return `at most ${maxRules} rules can be remembered at once, not ${rules.length}`
  const problem = rules.map((rule) => policy?.ruleProblem?.(rule) ?? textProblem(rule)).find(Boolean)
  return problem ? `the rules cannot be remembered: ${problem}` : { for: scope, rules: rules.map(String) }
}

/** A sub-agent's rules are parsed by its own policy; an invalid one allows nothing. */
function textProblem(rule: unknown): string | undefined {
  return typeof rule === 'string' && rule ? undefined : `a rule must be a string, not ${kindOf(rule)}`
}

/**
 * Checks a changed input against its tool's schema, which may be async. Rejects with
 * `invalid_input`.
 */
export async function checkChangedInput(
  { callId, input }: ApprovalEvent,
  state: RunState,
  tools: readonly Tool[],
  op: string,
): Promise<void> {
  const checked = input && (await checkAgainstTool(callId, input, state, tools))
  const name = state.calls.get(callId)?.call.name ?? ''
  if (checked?.issues) throw invalidInput(op, schemaMismatch({ callId, name }, checked.issues))
}

/** Undefined for a call inside a sub-agent, whose tools are not known here. */
function checkAgainstTool(callId: string, input: object, state: RunState, tools: readonly Tool[]) {
  const name = state.calls.get(callId)?.call.name
  return tools.find((tool) => tool.name === name)?.schema.check(structuredClone(input))
}

function schemaMismatch(
  { callId, name }: { callId: string; name: string },
  issues: readonly string[],
): string {
  return `the changed input for '${callId}' does not fit the schema of '${name}': ${issues.join('; ')}`
}
