import type { JsonObject, ToolResultPart } from '../../protocol/index.ts'
import { textOfResult } from '../../protocol/index.ts'
import type { CallView } from '../../view/index.ts'
import type { Code } from './code.ts'
import { call as callCode, fields, literal } from './code.ts'
import type { LoggedRun } from './log.ts'
import { closedCalls } from './log.ts'

interface Stub {
  readonly variable: string
  readonly isClients: boolean
  readonly answers: Code[]
  readonly calls: Code[]
}

/** Stand-ins for the tools. */
export interface Stubs {
  /**
   * By tool name: its variable, whether a client runs it, its answers, and the inputs it is expected
   * to run with.
   */
  readonly tools: Map<string, Stub>
  /** What a hook does with a call: block it, with a reason, or change its input. */
  readonly overrides: Map<string, { readonly block: string } | { readonly input: JsonObject }>
  /** Whether a tool returns more than a plain value. */
  hasContent: boolean
}

export function stubsFor(runs: readonly LoggedRun[]): Stubs {
  const tools: Stubs['tools'] = new Map()
  // Reserved for the import.
  const variables = new Set(['recordedTool', 'tool'])
  const calls = runs.flatMap(({ attempts }) => attempts.flatMap(closedCalls))
  for (const call of calls) {
    const { name } = call
    // A call that never ran and was never asked about may not be a tool at all.
    const isTool = (isStarted(call) || requestOf(call)) && /^[\w-]{1,64}$/.test(name)
    if (!isTool || tools.has(name)) continue
    const base = variableFor(name)
    let variable = base
    for (let count = 2; variables.has(variable); count++) variable = `${base}${count}`
    variables.add(variable)
    const isClients = calls.some((one) => one.name === name && requestOf(one)?.wants)
    tools.set(name, { variable, isClients, answers: [], calls: [] })
  }
  return { tools, overrides: new Map(), hasContent: false }
}

/** `lookUpTool` for `look_up`. */
function variableFor(tool: string): string {
  const camel = tool.replace(/[^a-zA-Z0-9]+(.?)/g, (_, next: string) => next.toUpperCase())
  return /^[a-zA-Z]/.test(camel) ? `${camel[0]?.toLowerCase()}${camel.slice(1)}Tool` : `tool${camel}`
}

function isStarted({ attempts }: CallView): boolean {
  return attempts > 0
}

/** Whether it was run here, and not by a client. */
export function isRunHere(call: CallView): boolean {
  return isStarted(call) && !requestOf(call)?.wants
}

/** The approval request for the call itself, not for one inside its sub-agent. */
export function requestOf({ approvals, callId }: CallView) {
  return approvals.findLast(({ request }) => request.callId === callId)?.request
}

export function decisionOf({ approvals, callId }: CallView) {
  const own = approvals.filter(({ request }) => request.callId === callId)
  // It may have been approved before it waited for its result.
  const wanted = own.findLast(({ request }) => request.wants)
  return wanted ? wanted.decision : own.find(({ decision }) => decision)?.decision
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
  if (stub.isClients) return 2
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
  if (tools.get(call.name)?.isClients) return 1
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
  return { output: outputCode(output, stubs) }
}

function outputCode(output: readonly ToolResultPart[], stubs: Stubs): Code {
  const [part] = output
  if (output.length === 1 && part?.type === 'text') return literal(part.text)
  if (output.length === 1 && part?.type === 'json' && typeof part.value !== 'string')
    return literal(part.value)
  stubs.hasContent = true
  return callCode('toolContent', literal(output))
}

/** The decision about a call, or the result from a client. */
export function decisionCode(call: CallView, stubs: Stubs): Code {
  const { approved, reason, input, output, isError } = decisionOf(call) ?? {}
  return fields({
    callId: literal(call.callId),
    approved: literal(approved),
    reason: reason === undefined ? undefined : literal(reason),
    input: input && literal(input),
    output: output && outputCode(output, stubs),
    isError: isError ? 'true' : undefined,
  })
}
