import type { JsonObject } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import type { ScriptRound, ScriptStep } from '../script.ts'
import { checkRequest } from './check-request.ts'
import type { Reply } from './delivery.ts'
import { type Failure, failureBody, scriptFailure, usualFailure } from './failures.ts'
import { faultOnFrames } from './fault-frames.ts'
import { faultOnRendered } from './fault-rendered.ts'
import { faultOnScenario } from './fault-scenario.ts'
import { faultOnScript } from './fault-script.ts'
import type { Fault, RetryAfter } from './faults.ts'
import type { Ledger } from './ledger.ts'
import { modelList } from './model-list.ts'
import { renderAnthropic } from './render-anthropic.ts'
import { renderChat } from './render-chat.ts'
import { renderResponses } from './render-responses.ts'
import { type Round, stepsOf } from './rounds.ts'
import type { Route } from './routes.ts'
import { type Act, type Scenario, scenarioOf } from './scenario.ts'
import type { Beat, Rendered, RenderInput, Wire } from './wire.ts'

export interface Question {
  readonly route: Route
  /** Undefined if it was no JSON. */
  readonly body: JsonObject | undefined
  /** The body as it was sent; undefined if it was no UTF-8. */
  readonly text: string | undefined
  readonly keys: { readonly bearer?: string; readonly apiKey?: string }
  readonly headers: Readonly<Record<string, string>>
  readonly faults: readonly Fault[]
  readonly nextRound: (body: JsonObject) => Round | Failure
  readonly apiKey?: string
  readonly checks: boolean
  readonly known: Ledger
  readonly nextId: (prefix: string) => string
  readonly sizes: readonly number[]
}

export interface Answer {
  readonly reply: Reply
  /** The faults that are in the reply already. */
  readonly faults: readonly Fault[]
  /** The round that was used, by a request that was in order. */
  readonly round?: { readonly index: number; readonly body: JsonObject }
}

const render: Record<Wire, (input: RenderInput) => Rendered> = {
  'openai-chat': renderChat,
  'openai-responses': renderResponses,
  anthropic: renderAnthropic,
}

/** The beginning of the year 2026, so that two runs of a script say the same. */
const firstSecond = 1_767_225_600

/** What a provider says to a request; how it reaches the client is another matter. */
export function answerTo(question: Question): Answer {
  const { route, body, faults, checks, known, nextId } = question
  const { wire } = route
  const refuse = (failure: Failure): Answer => ({ reply: failureReply(wire, failure, nextId), faults: [] })

  if (route.kind === 'nowhere') return refuse(route.failure)
  for (const fault of faults) {
    if (fault.kind === 'html') return { reply: page, faults: [fault] }
    if (fault.kind !== 'status') continue
    const headers = fault.retryAfter && retryHeaders(fault.retryAfter)
    const failure = usualFailure(wire, fault.status, headers && { headers })
    return { reply: failureReply(wire, failure, nextId), faults: [fault] }
  }
  if (route.kind === 'models') return { reply: jsonReply(wire, modelList(wire), nextId), faults: [] }
  const flaw = checks ? checkRequest({ ...question, wire, known }) : undefined
  if (flaw) return refuse(flaw)
  if (!isObject(body)) return refuse({ status: 400, message: 'the body must be a JSON object' })

  const round = question.nextRound(body)
  if ('status' in round) return refuse(round)
  const used = { index: round.index, body }

  const applied: Fault[] = []
  const fold = <Value>(from: Value, step: (value: Value, fault: Fault) => Value | undefined) =>
    faults.reduce((value, fault) => {
      const changed = step(value, fault)
      if (changed !== undefined) applied.push(fault)
      return changed ?? value
    }, from)

  const promptChars = JSON.stringify([
    body.messages,
    body.input,
    body.system,
    body.instructions,
    body.tools,
  ]).length
  const scenarioFor = (steps: readonly ScriptStep[]) => {
    const scenario = scenarioOf(fold(steps, faultOnScript), { sizes: question.sizes, promptChars })
    return fold(scenario, (value, fault) => faultOnScenario(value, fault, wire))
  }
  const streamed = body.stream === true
  const answer = (scenario: Scenario) => {
    const whole = render[wire]({ body, scenario, nextId, created: firstSecond + used.index })
    const rendered = streamed
      ? fold(whole, (value, fault) => faultOnRendered(value, fault, { wire, nextId }))
      : whole
    known.add(rendered.handedOut)
    return rendered
  }
  const answerAgain = (again: ScriptRound = round.steps.map(withoutId)) =>
    answer(scenarioFor(stepsOf(again))).beats

  const scenario = scenarioFor(round.steps)
  const failure = httpFailure(wire, scenario.acts, streamed)
  const pauses = scenario.acts.flatMap((act) => (act.act === 'pause' ? [{ pauseMs: act.ms }] : []))
  if (failure) return { reply: failureReply(wire, failure, nextId, pauses), round: used, faults: applied }

  const rendered = answer(scenario)
  if (streamed) {
    const beats = fold(rendered.beats, (value, fault) => faultOnFrames(value, fault, { wire, answerAgain }))
    const headers = { ...baseHeaders(wire, nextId), 'content-type': 'text/event-stream; charset=utf-8' }
    return { reply: { status: 200, headers, content: { beats } }, faults: applied, round: used }
  }
  const before = rendered.beats.filter((beat) => !('frame' in beat))
  return { reply: jsonReply(wire, rendered.whole, nextId, before), faults: applied, round: used }
}

/** The same step as a second generation writes it: a call has another id. */
function withoutId(step: ScriptStep): ScriptStep {
  if (!('call' in step)) return step
  const { id: _, ...rest } = step
  return rest
}

/** A failure comes with a status of its own if nothing was said before it, or nothing is streamed. */
function httpFailure(wire: Wire, acts: readonly Act[], streamed: boolean): Failure | undefined {
  const first = acts.find(({ act }) => act !== 'pause')
  const failing = streamed ? first : acts.at(-1)
  return failing?.act === 'fail' ? scriptFailure(wire, failing.error) : undefined
}

function failureReply(
  wire: Wire,
  failure: Failure,
  nextId: Question['nextId'],
  before: readonly Beat[] = [],
): Reply {
  const requestId = nextId('req_')
  const body = JSON.stringify(failureBody(wire, failure, requestId))
  const headers = {
    ...baseHeaders(wire, () => requestId),
    'content-type': 'application/json',
    ...failure.headers,
  }
  return { status: failure.status, headers, content: { body, before } }
}

function jsonReply(
  wire: Wire,
  value: JsonObject,
  nextId: Question['nextId'],
  before: readonly Beat[] = [],
): Reply {
  const headers = { ...baseHeaders(wire, nextId), 'content-type': 'application/json' }
  return { status: 200, headers, content: { body: JSON.stringify(value), before } }
}

function baseHeaders(wire: Wire, nextId: Question['nextId']): Record<string, string> {
  const id = wire === 'anthropic' ? { 'request-id': nextId('req_') } : { 'x-request-id': nextId('req_') }
  return { ...id, connection: 'close' }
}

const page: Reply = {
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8', connection: 'close' },
  content: {
    body: '<!DOCTYPE html>\n<html><head><title>Just a moment...</title></head><body><h1>Please sign in</h1></body></html>\n',
  },
}

function retryHeaders(after: RetryAfter): Record<string, string> {
  if ('ms' in after) return { 'retry-after-ms': String(after.ms) }
  if ('seconds' in after) return { 'retry-after': String(after.seconds) }
  return { 'retry-after': new Date(Date.now() + after.date * 1000).toUTCString() }
}
