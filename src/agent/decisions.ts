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
    const tool = state.calls.has(callId) ? tools.find(({ name }) => name === request.name) : undefined
    const checked = tool?.schema.check(structuredClone(input))
    if (checked && !isThenable(checked) && checked.issues)
      fail(
        `the changed input for '${callId}' does not fit the schema of '${request.name}': ${checked.issues.join('; ')}`,
      )
    return { ...approval, input: toJson(input) as JsonObject }
  })
}
