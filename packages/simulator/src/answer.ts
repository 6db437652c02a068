import type { JsonObject } from 'millrace'
import { isObject } from 'millrace/internal'
import type { ScriptRound, ScriptStep } from 'millrace/testing'
import type { StoredResponses } from './background.ts'
import { checkRequest, keyFlaw } from './check-request.ts'
import type { Reply } from './delivery.ts'
import { type Failure, failureBody, scriptFailure, usualFailure } from './failures.ts'
import { type AnswerAgain, faultOnFrames } from './fault-frames.ts'
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
import { type Act, isOver, type Scenario, scenarioOf } from './scenario.ts'
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
  readonly responses: StoredResponses
  readonly nextId: (prefix: string) => string
  readonly sizes: readonly number[]
}

export interface Answer {
  readonly reply: Reply
  /** The faults that are in the reply already. */
  readonly faults: readonly Fault[]
  /** The round that was used, by a request that was in order. */
  readonly round?: { readonly index: number; readonly body: JsonObject }
  /** The response that can be fetched by its id afterwards, if it arrives. */
  readonly stored?: JsonObject
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
  if (route.kind === 'stored') {
    const found = (checks && keyFlaw({ ...question, wire })) || question.responses.answer(route)
    if ('status' in found) return refuse(found)
    if ('json' in found) return { reply: jsonReply(wire, found.json, nextId), faults: [] }
    const faulty = applying(faults)
    return { reply: streamReply(question, found, faulty), faults: faulty.applied }
  }
  const flaw = checks ? checkRequest({ ...question, wire, known }) : undefined
  if (flaw) return refuse(flaw)
  if (!isObject(body)) return refuse({ status: 400, message: 'the body must be a JSON object' })

  const round = question.nextRound(body)
  return 'status' in round ? refuse(round) : generationTo(question, body, round)
}

/** The answer to a request that is in order. */
function generationTo(question: Question, body: JsonObject, round: Round): Answer {
  const { faults, known, responses, nextId } = question
  const { wire } = question.route
  const faulty = applying(faults)
  const { applied, fold } = faulty
  const used = { index: round.index, body }

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
  const inBackground = wire === 'openai-responses' && body.background === true
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
  const failure = httpFailure(wire, scenario.acts, streamed || inBackground)
  const pauses = scenario.acts.flatMap((act) => (act.act === 'pause' ? [{ pauseMs: act.ms }] : []))
  if (failure) return { reply: failureReply(wire, failure, nextId, pauses), round: used, faults: applied }

  const rendered = answer(scenario)
  if (inBackground) {
    const expiry = faults.filter(({ kind }) => kind === 'expired')
    applied.push(...expiry)
    const expired = expiry.length > 0
    const generation = responses.start(rendered.beats, { streamed, answerAgain, expired })
    const reply = streamed
      ? streamReply(question, { beats: generation.follow(-1), answerAgain }, faulty)
      : jsonReply(wire, generation.queued, nextId)
    return { reply, faults: applied, round: used }
  }
  const before = rendered.beats.filter((beat) => !('frame' in beat))
  const reply = streamed
    ? streamReply(question, { beats: rendered.beats, answerAgain }, faulty)
    : jsonReply(wire, rendered.whole, nextId, before)
  const isKept = wire === 'openai-responses' && body.store !== false && !isOver(scenario.acts)
  return { reply, faults: applied, round: used, ...(isKept && { stored: rendered.whole }) }
}

/** Faults in their order, each upon what those before it have left; `applied` are those that changed something. */
interface Faulty {
  readonly applied: Fault[]
  fold<Value>(from: Value, step: (value: Value, fault: Fault) => Value | undefined): Value
}

function applying(faults: readonly Fault[]): Faulty {
  const applied: Fault[] = []
  return {
    applied,
    fold: (from, step) =>
      faults.reduce((value, fault) => {
        const changed = step(value, fault)
        if (changed !== undefined) applied.push(fault)
        return changed ?? value
      }, from),
  }
}

function streamReply(
  { route: { wire }, nextId }: Question,
  { beats: whole, answerAgain }: { readonly beats: readonly Beat[]; readonly answerAgain: AnswerAgain },
  { fold }: Faulty,
): Reply {
  const beats = fold(whole, (value, fault) => faultOnFrames(value, fault, { wire, answerAgain }))
  const headers = { ...baseHeaders(wire, nextId), 'content-type': 'text/event-stream; charset=utf-8' }
  return { status: 200, headers, content: { beats } }
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
