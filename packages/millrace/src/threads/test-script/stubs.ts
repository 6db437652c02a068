import type { JsonObject } from '../../protocol/index.ts'
import { wordsOfResult } from '../../protocol/index.ts'
import type { CallView } from '../../view/index.ts'
import type { Code } from './code.ts'
import { call as callCode, fields, literal } from './code.ts'
import type { LoggedRun } from './log.ts'
import { closedCalls } from './log.ts'

/** What stands in for the tools. */
export interface Stubs {
  /** By the name of the tool: its variable, what it answers, and what it will have been run with. */
  readonly tools: Map<string, { readonly variable: string; readonly answers: Code[]; readonly calls: Code[] }>
  /** What a hook makes of a call: it is not run, and why; or it is run with something else. */
  readonly verdicts: Map<string, { readonly block: string } | { readonly input: JsonObject }>
  /** A tool answers with more than a value. */
  hasContent: boolean
}

export function stubsFor(runs: readonly LoggedRun[]): Stubs {
  const tools: Stubs['tools'] = new Map()
  // What is imported keeps its name.
  const variables = new Set(['recordedTool'])
  for (const call of runs.flatMap(({ attempts }) => attempts.flatMap(closedCalls))) {
    const { name } = call
    // What was never run nor asked about may not have been a tool at all.
    const isTool = (isStarted(call) || requestOf(call)) && /^[\w-]{1,64}$/.test(name)
    if (!isTool || tools.has(name)) continue
    const base = variableFor(name)
    let variable = base
    for (let count = 2; variables.has(variable); count++) variable = `${base}${count}`
    variables.add(variable)
    tools.set(name, { variable, answers: [], calls: [] })
  }
  return { tools, verdicts: new Map(), hasContent: false }
}

/** `lookUpTool` for `look_up`. */
function variableFor(tool: string): string {
  const camel = tool.replace(/[^a-zA-Z0-9]+(.?)/g, (_, next: string) => next.toUpperCase())
  return /^[a-zA-Z]/.test(camel) ? `${camel[0]?.toLowerCase()}${camel.slice(1)}Tool` : `tool${camel}`
}

export function isStarted({ attempts }: CallView): boolean {
  return attempts > 0
}

/** What a person was asked about the call itself, and not about one inside its sub-agent. */
export function requestOf({ approvals, callId }: CallView) {
  return approvals.findLast(({ request }) => request.callId === callId)?.request
}

export function decisionOf({ approvals, callId }: CallView) {
  return approvals.find(({ request, decision }) => request.callId === callId && decision)?.decision
}

/** A call inside its sub-agent waits for a person. */
export function waitsInside({ approvals, callId }: CallView): boolean {
  return approvals.some(({ request, decision }) => request.callId !== callId && !decision)
}

/** How a call is played: a person is asked before it runs; it runs until the run is cancelled; it may not run at all. */
interface Playing {
  readonly asks: boolean
  readonly hangs: boolean
  readonly isRefused: boolean
}

/** Prepares for a call. Gives how many events it makes: itself, its start and its result. */
export function addCall(stubs: Stubs, call: CallView, { asks, hangs, isRefused }: Playing): number {
  const { callId, name, problem, result } = call
  const stub = problem === undefined ? stubs.tools.get(name) : undefined
  if (!stub || !(asks || isStarted(call))) {
    const reason = wordsOfResult(result?.output ?? []).replace(/^Not run: /, '') || 'it had not begun'
    if (stub && !isRefused) stubs.verdicts.set(callId, { block: reason })
    return 2
  }
  const input = inputOf(call)
  if (JSON.stringify(input) !== JSON.stringify(call.input)) stubs.verdicts.set(callId, { input })
  const why = asks ? literal(requestOf(call)?.reason ?? true) : undefined
  const answer = hangs ? { hangs: 'true' } : answerOf(call, stubs)
  stub.answers.push(fields({ input: literal(input), asks: why, ...answer }))
  if (asks) return 1
  stub.calls.push(literal(input))
  return hangs ? 2 : 3
}

/** The same for one that a person has decided. */
export function addDecided({ tools }: Stubs, call: CallView, hangs: boolean): number {
  const { approved, input = inputOf(call) } = decisionOf(call) ?? {}
  if (approved) tools.get(call.name)?.calls.push(literal(input))
  return (approved ? 1 : 0) + (hangs ? 0 : 1)
}

/** What it ran with, or was to: as the model wrote it, or as a hook changed it. */
function inputOf(call: CallView): JsonObject {
  return requestOf(call)?.input ?? call.changed ?? call.input ?? {}
}

function answerOf(call: CallView, stubs: Stubs): Readonly<Record<string, Code>> {
  const { status, output = [] } = call.result ?? {}
  const isUnfinished = !status && isStarted(call) && !waitsInside(call)
  if (isUnfinished) return { error: literal('it did not come to an end') }
  if (!status || status === 'declined') return {}
  if (status !== 'ok') return { error: literal(wordsOfResult(output).replace(/^The tool failed: /, '')) }
  const [part] = output
  if (output.length === 1 && part?.type === 'text') return { output: literal(part.text) }
  if (output.length === 1 && part?.type === 'json' && typeof part.value !== 'string')
    return { output: literal(part.value) }
  stubs.hasContent = true
  return { output: callCode('toolContent', literal(output)) }
}
