import type { ToolResultEvent } from '../../protocol/index.ts'
import { budgetQuestion, lastChars } from '../../protocol/index.ts'
import type { CallState, CallView, GrowingText } from '../../view/index.ts'
import { cleanLine } from './clean.ts'
import { asText, progressText } from './progress-text.ts'

/** How a tool call is shown in its line. */
export type CallPhase =
  | 'arriving'
  | 'waiting'
  | 'asking'
  | 'running'
  | 'done'
  | 'failed'
  | 'denied'
  | 'stopped'

const phases: Readonly<Record<CallState, CallPhase>> = {
  writing: 'arriving',
  queued: 'waiting',
  asking: 'asking',
  running: 'running',
  ok: 'done',
  failed: 'failed',
  timeout: 'failed',
  rejected: 'failed',
  blocked: 'failed',
  unknown: 'failed',
  denied: 'denied',
  canceled: 'stopped',
}

export function phaseOf({ state, provider, result }: CallView): CallPhase {
  if (provider && state === 'running') return 'waiting'
  // A call whose arguments were incomplete when its round ended has no result.
  return state === 'rejected' && !result ? 'stopped' : phases[state]
}

/** Whether it waits for its result from a client, and not for a decision. */
export function wantsResult({ state, approvals }: CallView): boolean {
  return state === 'asking' && approvals.findLast(({ decision }) => !decision)?.request.wants === 'result'
}

/** Longer arguments are cut. */
const maxInputChars = 1000

/** Arguments as JSON, cached since they are drawn ten times a second. */
const jsonCache = new WeakMap<object, string>()

/** The arguments so far; the start of long ones. For a budget, the question about it. */
export function inputOf(call: CallView): string {
  const { provider, changedInput, problem, raw, budget } = call
  if (budget) return budgetQuestion(budget, call.approvals[0]?.decision?.input ?? call.input ?? {})
  if (provider) return asText(provider.input ?? '').slice(0, maxInputChars)
  const asked = call.approvals.find(({ request }) => request.callId === call.callId)
  const input = changedInput ?? asked?.request.input ?? (problem === undefined ? call.input : undefined)
  if (!input) return startOf(raw)
  const known = jsonCache.get(input) ?? JSON.stringify(input).slice(0, maxInputChars)
  jsonCache.set(input, known)
  return known
}

function startOf({ pieces }: GrowingText): string {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length >= maxInputChars) return text.slice(0, maxInputChars)
  }
  return text
}

/** The latest progress, or the error. */
export function callNote({ result, inner, progress }: CallView): string {
  if (result) return result.isError ? reasonOf(result) : ''
  // For a sub-agent: the end of its text, or its current tool.
  const part = inner?.open.round?.parts.findLast(({ kind }) => kind !== 'reasoning')
  if (part?.kind === 'call') return `${part.name} …`
  if (part) return lastChars(part.text.pieces, Math.min(200, part.text.chars))
  return progress.length > 0 ? progressText(progress.at(-1)) : ''
}

function reasonOf({ output }: ToolResultEvent): string {
  const text = output.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
  return text.replace(/^The tool failed: /, '').slice(0, maxInputChars)
}

/** The status of a tool call in a few words. `now` is in milliseconds since 1970. */
export function statusOf(call: CallView, now: number): string {
  const ms = call.result?.ms ?? 0
  const note = callNote(call)
  const because = note && ` · ${cleanLine(note)}`
  switch (phaseOf(call)) {
    case 'arriving':
    case 'waiting':
      return ''
    case 'asking':
      return wantsResult(call) ? 'waiting for a result from a client' : 'waiting for approval'
    case 'running':
      return `running ${secondsOf(Math.max(0, now - (call.startedAt ?? now)))}${because}`
    case 'done':
      if (call.budget) return 'allowed'
      return ms > 0 ? `done in ${secondsOf(ms)}` : 'done'
    case 'failed':
      return `${ms > 0 ? `failed after ${secondsOf(ms)}` : 'failed'}${because}`
    case 'denied':
      return 'denied'
    case 'stopped':
      return ms > 0 ? `stopped after ${secondsOf(ms)}` : 'stopped'
  }
}

function secondsOf(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.floor(ms / 1000) % 60} s`
}
