import { invalidInput, isObject, toJson } from '../protocol/index.ts'
import type { Tool } from '../tools/index.ts'
import type { Decision } from './run.ts'
import type { RunState } from './state.ts'
import { openRequests } from './state.ts'

/** Holds decisions against the calls that wait for one. Throws `invalid_input`, before anything is run. */
export function checkDecisions(
  decisions: unknown,
  state: RunState,
  tools: readonly Tool[],
  op: string,
): Decision[] {
  const open = openRequests(state)
  const waiting = open.map(({ callId, name }) => `'${callId}' (${name})`).join(', ')
  const fail = (problem: string): never => {
    throw invalidInput(op, `${problem}; waiting for a decision: ${waiting || 'none'}`)
  }
  if (!Array.isArray(decisions)) return fail('decisions must be an array of { callId, approved }')
  if (decisions.length === 0 && state.outcome === 'suspended')
    fail('the run waits for a person: pass at least one decision')
  const decided = new Set<string>()
  return decisions.map((decision: unknown): Decision => {
    if (!isObject(decision) || typeof decision.callId !== 'string' || typeof decision.approved !== 'boolean')
      return fail('a decision must be { callId, approved: true | false, reason?, input? }')
    const { callId, approved, reason, input } = decision
    const request = open.find((request) => request.callId === callId)
    if (!request) return fail(`no call '${callId}' waits for a decision`)
    if (decided.has(callId)) fail(`the call '${callId}' is decided twice`)
    decided.add(callId)
    if (reason !== undefined && typeof reason !== 'string') fail('the reason of a decision must be text')
    if (input === undefined) return { callId, approved, ...(typeof reason === 'string' && { reason }) }
    if (!isObject(input)) return fail(`the changed input for '${callId}' must be an object`)
    // A call inside a sub-agent, or with a schema that checks asynchronously, is checked when it runs, and the model told.
    const own = state.calls.has(callId) ? tools.find((tool) => tool.name === request.name) : undefined
    const checked = own?.schema.check(input)
    if (checked && !(checked instanceof Promise) && checked.issues)
      fail(
        `the changed input for '${callId}' does not fit the schema of '${request.name}': ${checked.issues.join('; ')}`,
      )
    return {
      callId,
      approved,
      ...(typeof reason === 'string' && { reason }),
      input: toJson(input) as Decision['input'] & object,
    }
  })
}
