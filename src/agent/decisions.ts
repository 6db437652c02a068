import type { ApprovalEvent, JsonObject, RunState } from '../protocol/index.ts'
import { invalidInput, isObject, openRequests, toJson } from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import { isThenable } from '../tools/index.ts'

/** Makes decisions into events, held against the calls that wait for one. Throws `invalid_input`, before anything is run. */
export function readDecisions(
  decisions: unknown,
  state: RunState,
  tools: readonly Tool[],
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
      return fail('a decision must be { callId, approved: true | false, reason?, input? }')
    const { callId, approved, reason, input } = decision
    const request = open.find((request) => request.callId === callId)
    if (!request) return fail(`no call '${callId}' waits for a decision`)
    if (decided.has(callId)) fail(`the call '${callId}' is decided twice`)
    decided.add(callId)
    if (reason !== undefined && typeof reason !== 'string')
      return fail('the reason of a decision must be text')
    if (input !== undefined && !isObject(input))
      return fail(`the changed input for '${callId}' must be an object`)
    const approval = { type: 'approval', callId, approved, ...(reason !== undefined && { reason }) } as const
    if (!input) return approval
    // A call inside a sub-agent, or with a schema that checks asynchronously, is checked when it runs, and the model told.
    const checked = checkAgainstTool(callId, input, state, tools)
    if (checked && !isThenable(checked) && checked.issues) fail(misfit(request, checked.issues))
    return { ...approval, input: toJson(input) as JsonObject }
  })
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
