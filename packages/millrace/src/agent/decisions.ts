import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  JsonObject,
  Remembered,
  RunState,
} from '../protocol/index.ts'
import { invalidInput, isObject, kindOf, openRequests, toJson } from '../protocol/index.ts'
import type { Policy, Tool } from '../tools/index.ts'
import { isThenable } from '../tools/index.ts'

interface Judges {
  readonly tools: readonly Tool[]
  /** What the agent's tools may do, if there are rules. */
  readonly policy: Policy | undefined
}

/** Makes decisions into events, held against the calls that wait for one. Throws `invalid_input`, before anything is run. */
export function readDecisions(
  decisions: unknown,
  state: RunState,
  { tools, policy }: Judges,
  op: string,
): ApprovalEvent[] {
  const open = openRequests(state)
  const waiting = open.map(({ callId, name }) => `'${callId}' (${name})`).join(', ')
  const fail = (problem: string): never => {
    throw invalidInput(op, `${problem}; waiting for a decision: ${waiting || 'none'}`)
  }
  if (!Array.isArray(decisions)) return fail('decisions must be an array of { callId, approved }')
  if (decisions.length === 0 && state.outcome === 'suspended')
    fail('the run waits for a person: pass at least one decision')

  const decided = new Set<string>()
  return decisions.map((decision: unknown): ApprovalEvent => {
    if (!isObject(decision) || typeof decision.callId !== 'string' || typeof decision.approved !== 'boolean')
      return fail('a decision must be { callId, approved: true | false, reason?, input?, remember? }')
    const { callId, approved, reason, input, remember } = decision
    const request = open.find((request) => request.callId === callId)
    if (!request) return fail(`no call '${callId}' waits for a decision`)
    if (decided.has(callId)) fail(`the call '${callId}' is decided twice`)
    decided.add(callId)
    if (reason !== undefined && typeof reason !== 'string')
      return fail('the reason of a decision must be text')
    if (input !== undefined && !isObject(input))
      return fail(`the changed input for '${callId}' must be an object`)
    const kept = remember === undefined ? undefined : readRemember(remember, request, { approved, policy })
    if (typeof kept === 'string') return fail(kept)
    const approval = {
      type: 'approval',
      callId,
      approved,
      ...(reason !== undefined && { reason }),
      ...(kept && { remember: kept }),
    } as const
    if (!input) return approval
    // A call inside a sub-agent, or with a schema that checks asynchronously, is checked when it runs, and the model told.
    const checked = checkAgainstTool(callId, input, state, tools)
    if (checked && !isThenable(checked) && checked.issues) fail(misfit(request, checked.issues))
    return { ...approval, input: toJson(input) as JsonObject }
  })
}

const mostRules = 100

/** What is to be allowed from now on, or what is wrong with that. */
function readRemember(
  remember: unknown,
  { callId, permission, remember: offered }: ApprovalRequestEvent,
  { approved, policy }: { readonly approved: boolean; readonly policy: Policy | undefined },
): Remembered | string {
  const asked = isObject(remember) ? remember : { for: remember }
  const { for: howLong, rules = offered?.rules } = asked
  if (howLong !== 'thread' && howLong !== 'always')
    return "remember must be 'thread', 'always' or { for: 'thread' | 'always', rules }"
  if (!approved) return 'only what is approved can be remembered'
  if (!offered)
    return permission
      ? `nothing can be remembered of '${callId}', since it has to be looked at each time: decide without remember`
      : `nothing can be remembered of '${callId}': it is not one of the agent's rules that asks`
  if (!offered.for.includes(howLong))
    return `nothing can be remembered for good here: the agent's permission({ … }) has no memory; say 'thread'`
  if (!Array.isArray(rules) || rules.length === 0) return 'the rules to be remembered must be a list of texts'
  // Each is looked at with every call from now on.
  if (rules.length > Math.max(mostRules, offered.rules.length))
    return `at most ${mostRules} rules can be remembered at once, not ${rules.length}`
  const problem = rules.map((rule) => policy?.ruleProblem?.(rule) ?? textProblem(rule)).find(Boolean)
  return problem ? `it cannot be remembered: ${problem}` : { for: howLong, rules: rules.map(String) }
}

/** The rules of a sub-agent are its own to read: what is no rule there allows nothing. */
function textProblem(rule: unknown): string | undefined {
  return typeof rule === 'string' && rule ? undefined : `a rule must be a text, not ${kindOf(rule)}`
}

/** The same for a schema that takes its time, where there is time. Rejects with `invalid_input`. */
export async function checkChangedInput(
  { callId, input }: ApprovalEvent,
  state: RunState,
  tools: readonly Tool[],
  op: string,
): Promise<void> {
  const checked = input && (await checkAgainstTool(callId, input, state, tools))
  const name = state.calls.get(callId)?.call.name ?? ''
  if (checked?.issues) throw invalidInput(op, misfit({ callId, name }, checked.issues))
}

/** Nothing for a call inside a sub-agent, whose tools are its own. */
function checkAgainstTool(callId: string, input: object, state: RunState, tools: readonly Tool[]) {
  const name = state.calls.get(callId)?.call.name
  return tools.find((tool) => tool.name === name)?.schema.check(structuredClone(input))
}

function misfit({ callId, name }: { callId: string; name: string }, issues: readonly string[]): string {
  return `the changed input for '${callId}' does not fit the schema of '${name}': ${issues.join('; ')}`
}
