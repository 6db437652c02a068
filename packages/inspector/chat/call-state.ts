import type { ApprovalView, CallState, CallView } from 'millrace/view'
import { stateLabels, wantsResultLabel } from './strings.ts'

/** The color of a call state. */
export function stateTone(state: CallState): 'live' | 'ask' | 'good' | 'bad' | 'quiet' {
  if (state === 'writing' || state === 'queued' || state === 'running') return 'live'
  if (state === 'asking') return 'ask'
  if (state === 'ok') return 'good'
  return state === 'denied' || state === 'canceled' ? 'quiet' : 'bad'
}

/** What the call waits for: a decision, or a result from a client. */
export function openRequest({ state, approvals }: CallView): ApprovalView | undefined {
  return state === 'asking' ? approvals.findLast(({ decision }) => !decision) : undefined
}

export function stateLabel(call: CallView): string {
  return openRequest(call)?.request.wants === 'result' ? wantsResultLabel : stateLabels[call.state]
}

/** Whether nothing can change in the call any more. */
export function isFinal({ endedAt, round: { run } }: CallView): boolean {
  return endedAt !== undefined || (run.outcome !== undefined && run.outcome !== 'suspended')
}

/** The arguments it runs with, as far as they are known. */
export function inputOf({ changedInput, provider, input }: CallView): unknown {
  return changedInput ?? (provider ? provider.input : input)
}

/** How long a call has run so far; undefined if it never ran. */
export function elapsedMs(call: CallView, now: number): number | undefined {
  const { result, startedAt, createdAt, endedAt, provider } = call
  if (result) return result.ms > 0 ? result.ms : undefined
  const from = provider ? createdAt : startedAt
  // The clock of the server may be ahead of the clock here.
  return from === undefined ? undefined : Math.max(0, (endedAt ?? now) - from)
}

/** How long finished calls took. Time in which several ran counts once. */
export function busyMs(calls: readonly CallView[]): number {
  const spans = calls
    .map((call) => [(call.endedAt ?? 0) - (elapsedMs(call, 0) ?? 0), call.endedAt ?? 0] as const)
    .sort(([one], [other]) => one - other)
  let ms = 0
  let until = -Infinity
  for (const [from, to] of spans) {
    ms += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return ms
}

/** The user who denied the call, and why. */
export function denialOf({ callId, state, approvals }: CallView): ApprovalView['decision'] {
  if (state !== 'denied') return undefined
  return approvals.find(({ request, decision }) => request.callId === callId && decision?.approved === false)
    ?.decision
}

/** Arguments as text, to compare them: they may be large, and are compared for every frame. */
const inputTexts = new WeakMap<object, string>()

function inputText({ input = {} }: CallView): string {
  const text = inputTexts.get(input) ?? JSON.stringify(input)
  inputTexts.set(input, text)
  return text
}

/** A denied call and the later calls of the run that repeat it in vain, if a user denied it. */
export function repeatsOf(call: CallView): readonly CallView[] {
  const { calls } = call.round.run
  const isSame = (other: CallView) => other.name === call.name && inputText(other) === inputText(call)
  const first = calls.findIndex((other) => denialOf(other) && isSame(other))
  if (first < 0) return [call]
  const repeats = calls
    .slice(first)
    .filter((other) => (other.state === 'denied' || other.state === 'blocked') && isSame(other))
  return repeats.includes(call) ? repeats : [call]
}

/** More does not fit in a line. */
const maxFailure = 300

/** Why a call has no usable result, in one line. */
export function failureText({ problem, result, provider }: CallView): string {
  const output = result?.output.find((part) => part.type === 'text')?.text ?? provider?.output
  const text = problem ?? (typeof output === 'string' ? output : '')
  return text
    .slice(0, maxFailure)
    .replace(/^(?:The tool failed|Not run): /, '')
    .replace(/\s+/g, ' ')
    .trim()
}
