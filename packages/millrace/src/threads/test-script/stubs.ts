import type { JsonObject } from '../../protocol/index.ts'
import { textOfResult } from '../../protocol/index.ts'
import type { CallView } from '../../view/index.ts'
import type { Code } from './code.ts'
import { call as callCode, fields, literal } from './code.ts'
import type { LoggedRun } from './log.ts'
import { closedCalls } from './log.ts'

/** Stand-ins for the tools. */
export interface Stubs {
  /** By tool name: its variable, its answers, and the inputs it is expected to run with. */
  readonly tools: Map<string, { readonly variable: string; readonly answers: Code[]; readonly calls: Code[] }>
  /** What a hook does with a call: block it, with a reason, or change its input. */
  readonly overrides: Map<string, { readonly block: string } | { readonly input: JsonObject }>
  /** Whether a tool returns more than a plain value. */
  hasContent: boolean
}

export function stubsFor(runs: readonly LoggedRun[]): Stubs {
  const tools: Stubs['tools'] = new Map()
  // Reserved for the import.
  const variables = new Set(['recordedTool'])
  for (const call of runs.flatMap(({ attempts }) => attempts.flatMap(closedCalls))) {
    const { name } = call
    // A call that never ran and was never asked about may not be a tool at all.
    const isTool = (isStarted(call) || requestOf(call)) && /^[\w-]{1,64}$/.test(name)
    if (!isTool || tools.has(name)) continue
    const base = variableFor(name)
    let variable = base
    for (let count = 2; variables.has(variable); count++) variable = `${base}${count}`
    variables.add(variable)
    tools.set(name, { variable, answers: [], calls: [] })
  }
  return { tools, overrides: new Map(), hasContent: false }
}

/** `lookUpTool` for `look_up`. */
function variableFor(tool: string): string {
  const camel = tool.replace(/[^a-zA-Z0-9]+(.?)/g, (_, next: string) => next.toUpperCase())
  return /^[a-zA-Z]/.test(camel) ? `${camel[0]?.toLowerCase()}${camel.slice(1)}Tool` : `tool${camel}`
}

export function isStarted({ attempts }: CallView): boolean {
  return attempts > 0
}

/** The approval request for the call itself, not for one inside its sub-agent. */
export function requestOf({ approvals, callId }: CallView) {
  return approvals.findLast(({ request }) => request.callId === callId)?.request
}

export function decisionOf({ approvals, callId }: CallView) {
  return approvals.find(({ request, decision }) => request.callId === callId && decision)?.decision
}

/** Whether a call inside its sub-agent waits for a decision. */
export function waitsInside({ approvals, callId }: CallView): boolean {
  return approvals.some(({ request, decision }) => request.callId !== callId && !decision)
}

/**
 * How a call is replayed: whether approval is asked before it runs, whether it runs until the run
 * is canceled, and whether it must not run at all.
 */
interface Replay {
  readonly asks: boolean
  readonly hangs: boolean
  readonly isBlocked: boolean
}

/** Adds a call to the stubs. Returns how many events it emits: itself, its start and its result. */
export function addCall(stubs: Stubs, call: CallView, { asks, hangs, isBlocked }: Replay): number {
  const { callId, name, problem, result } = call
  const stub = problem === undefined ? stubs.tools.get(name) : undefined
  if (!stub || !(asks || isStarted(call))) {
    const reason = textOfResult(result?.output ?? []).replace(/^Not run: /, '') || 'it had not started'
    if (stub && !isBlocked) stubs.overrides.set(callId, { block: reason })
    return 2
  }
  const input = inputOf(call)
  if (JSON.stringify(input) !== JSON.stringify(call.input)) stubs.overrides.set(callId, { input })
  const why = asks ? literal(requestOf(call)?.reason ?? true) : undefined
  const answer = hangs ? { hangs: 'true' } : answerOf(call, stubs)
  stub.answers.push(fields({ input: literal(input), asks: why, ...answer }))
  if (asks) return 1
  stub.calls.push(literal(input))
  return hangs ? 2 : 3
}

/** The same for a call that a person has decided. */
export function addDecided({ tools }: Stubs, call: CallView, hangs: boolean): number {
  const { approved, input = inputOf(call) } = decisionOf(call) ?? {}
  if (approved) tools.get(call.name)?.calls.push(literal(input))
  return (approved ? 1 : 0) + (hangs ? 0 : 1)
}

/** The input it ran with, or would have: as the model wrote it, or as a hook changed it. */
function inputOf(call: CallView): JsonObject {
  return requestOf(call)?.input ?? call.changedInput ?? call.input ?? {}
}

function answerOf(call: CallView, stubs: Stubs): Readonly<Record<string, Code>> {
  const { status, output = [] } = call.result ?? {}
  const isUnfinished = !status && isStarted(call) && !waitsInside(call)
  if (isUnfinished) return { error: literal('it did not finish') }
  if (!status || status === 'denied') return {}
  if (status !== 'ok') return { error: literal(textOfResult(output).replace(/^The tool failed: /, '')) }
  const [part] = output
  if (output.length === 1 && part?.type === 'text') return { output: literal(part.text) }
  if (output.length === 1 && part?.type === 'json' && typeof part.value !== 'string')
    return { output: literal(part.value) }
  stubs.hasContent = true
  return { output: callCode('toolContent', literal(output)) }
}
