import type { JsonObject } from 'millrace'
import { isObject } from 'millrace/internal'
import type { ScriptRound, ScriptStep } from 'millrace/testing'
import type { StoredResponses } from './background.ts'
import { checkRequest, keyError } from './check-request.ts'
import type { Reply } from './delivery.ts'
import { defaultFailure, type Failure, failureBody, scriptFailure } from './failures.ts'
import { faultOnFrames, type Regenerate } from './fault-frames.ts'
import { faultOnRendered } from './fault-rendered.ts'
import { faultOnScenario } from './fault-scenario.ts'
import { faultOnScript } from './fault-script.ts'
import type { Fault, RetryAfter } from './faults.ts'
import type { IssuedTokens } from './issued-tokens.ts'
import { modelList } from './model-list.ts'
import type { PromptCache } from './prompt-cache.ts'
import { renderAnthropic } from './render-anthropic.ts'
import { renderChat } from './render-chat.ts'
import { renderResponses } from './render-responses.ts'
import { type Round, stepsOf } from './rounds.ts'
import type { Route } from './routes.ts'
import { type Action, endsEarly, type Scenario, scenarioOf, tokensIn } from './scenario.ts'
import type { Rendered, RenderInput, TimelineItem, Wire } from './wire.ts'

export interface AnswerInput {
  readonly route: Route
  /** Undefined if it is not JSON. */
  readonly body: JsonObject | undefined
  /** The raw body; undefined if it is not UTF-8. */
  readonly text: string | undefined
  readonly keys: { readonly bearer?: string; readonly apiKey?: string }
  readonly headers: Readonly<Record<string, string>>
  readonly faults: readonly Fault[]
  readonly nextRound: (body: JsonObject) => Round | Failure
  readonly apiKey?: string
  readonly checks: boolean
  readonly issued: IssuedTokens
  readonly responses: StoredResponses
  readonly cache: PromptCache
  readonly nextId: (prefix: string) => string
  readonly sizes: readonly number[]
}

export interface Answer {
  readonly reply: Reply
  /** The faults that are already applied to the reply. */
  readonly faults: readonly Fault[]
  /** The round that was used, if the request was valid. */
  readonly round?: { readonly index: number; readonly body: JsonObject }
  /** The response to store, if it arrives. */
  readonly stored?: JsonObject
}

const render: Record<Wire, (input: RenderInput) => Rendered> = {
  'openai-chat': renderChat,
  'openai-responses': renderResponses,
  anthropic: renderAnthropic,
}

/** The start of 2026, so that runs of a script are reproducible. */
const createdBase = 1_767_225_600

/** The provider's answer to a request, without transport faults. */
export function answerTo(input: AnswerInput): Answer {
  const { route, body, faults, checks, issued, nextId } = input
  const { wire } = route
  const fail = (failure: Failure): Answer => ({ reply: failureReply(wire, failure, nextId), faults: [] })

  if (route.kind === 'not-found') return fail(route.failure)
  for (const fault of faults) {
    if (fault.kind === 'html') return { reply: htmlPage, faults: [fault] }
    if (fault.kind !== 'status') continue
    const headers = fault.retryAfter && retryHeaders(fault.retryAfter)
    const failure = defaultFailure(wire, fault.status, headers && { headers })
    return { reply: failureReply(wire, failure, nextId), faults: [fault] }
  }
  if (route.kind === 'models') return { reply: jsonReply(wire, modelList(wire), nextId), faults: [] }
  if (route.kind === 'stored') {
    const found = (checks && keyError({ ...input, wire })) || input.responses.timeline(route)
    if ('status' in found) return fail(found)
    if ('json' in found) return { reply: jsonReply(wire, found.json, nextId), faults: [] }
    const tracker = trackFaults(faults)
    return { reply: streamReply(input, found, tracker), faults: tracker.applied }
  }
  const error = checks ? checkRequest({ ...input, wire, issued }) : undefined
  if (error) return fail(error)
  if (!isObject(body)) return fail({ status: 400, message: 'the body must be a JSON object' })

  const round = input.nextRound(body)
  return 'status' in round ? fail(round) : answerGeneration(input, body, round)
}

/** The answer to a valid request. */
function answerGeneration(input: AnswerInput, body: JsonObject, round: Round): Answer {
  const { faults, issued, responses, nextId } = input
  const { wire } = input.route
  const tracker = trackFaults(faults)
  const { applied, fold } = tracker
  const used = { index: round.index, body }

  const promptChars = JSON.stringify([
    body.messages,
    body.input,
    body.system,
    body.instructions,
    body.tools,
  ]).length
  const inputTokens = tokensIn(promptChars)
  const cached = input.cache.lookUp(wire, body, inputTokens)
  const scenarioFor = (steps: readonly ScriptStep[]) => {
    const { cacheReadTokens, cacheWriteTokens } = cached
    const prompt = { inputTokens, cacheReadTokens, cacheWriteTokens }
    const scenario = scenarioOf(fold(steps, faultOnScript), { sizes: input.sizes, prompt })
    return fold(scenario, (value, fault) => faultOnScenario(value, fault, wire))
  }
  const streamed = body.stream === true
  const inBackground = wire === 'openai-responses' && body.background === true
  const answer = (scenario: Scenario) => {
    const whole = render[wire]({ body, scenario, nextId, created: createdBase + used.index })
    const rendered = streamed
      ? fold(whole, (value, fault) => faultOnRendered(value, fault, { wire, nextId }))
      : whole
    issued.add(rendered.issued)
    return rendered
  }
  const regenerate = (again: ScriptRound = round.steps.map(withoutId)) =>
    answer(scenarioFor(stepsOf(again))).timeline

  const scenario = scenarioFor(round.steps)
  const failure = httpFailure(wire, scenario.actions, streamed || inBackground)
  const pauses = scenario.actions.flatMap((action) =>
    action.type === 'pause' ? [{ pauseMs: action.ms }] : [],
  )
  if (failure) return { reply: failureReply(wire, failure, nextId, pauses), round: used, faults: applied }

  cached.keep()
  const rendered = answer(scenario)
  if (inBackground) {
    const expiry = faults.filter(({ kind }) => kind === 'expired')
    applied.push(...expiry)
    const expired = expiry.length > 0
    const generation = responses.start(rendered.timeline, { streamed, regenerate, expired })
    const reply = streamed
      ? streamReply(input, { timeline: generation.follow(-1), regenerate }, tracker)
      : jsonReply(wire, generation.queued, nextId)
    return { reply, faults: applied, round: used }
  }
  const before = rendered.timeline.filter((item) => !('frame' in item))
  const reply = streamed
    ? streamReply(input, { timeline: rendered.timeline, regenerate }, tracker)
    : jsonReply(wire, rendered.whole, nextId, before)
  const isKept = wire === 'openai-responses' && body.store !== false && !endsEarly(scenario.actions)
  return { reply, faults: applied, round: used, ...(isKept && { stored: rendered.whole }) }
}

/** Applies faults in order. `applied` lists those that had an effect. */
interface FaultTracker {
  readonly applied: Fault[]
  fold<Value>(from: Value, step: (value: Value, fault: Fault) => Value | undefined): Value
}

function trackFaults(faults: readonly Fault[]): FaultTracker {
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
  { route: { wire }, nextId }: AnswerInput,
  {
    timeline: whole,
    regenerate,
  }: { readonly timeline: readonly TimelineItem[]; readonly regenerate: Regenerate },
  { fold }: FaultTracker,
): Reply {
  const timeline = fold(whole, (value, fault) => faultOnFrames(value, fault, { wire, regenerate }))
  const headers = { ...baseHeaders(wire, nextId), 'content-type': 'text/event-stream; charset=utf-8' }
  return { status: 200, headers, content: { timeline } }
}

/** The same step in a second generation, where a tool call gets another id. */
function withoutId(step: ScriptStep): ScriptStep {
  if (!('call' in step)) return step
  const { id: _, ...rest } = step
  return rest
}

/** A failure gets an HTTP status if it comes first, or if the response is not streamed. */
function httpFailure(wire: Wire, actions: readonly Action[], streamed: boolean): Failure | undefined {
  const first = actions.find(({ type }) => type !== 'pause')
  const failing = streamed ? first : actions.at(-1)
  return failing?.type === 'fail' ? scriptFailure(wire, failing.error) : undefined
}

function failureReply(
  wire: Wire,
  failure: Failure,
  nextId: AnswerInput['nextId'],
  before: readonly TimelineItem[] = [],
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
  nextId: AnswerInput['nextId'],
  before: readonly TimelineItem[] = [],
): Reply {
  const headers = { ...baseHeaders(wire, nextId), 'content-type': 'application/json' }
  return { status: 200, headers, content: { body: JSON.stringify(value), before } }
}

function baseHeaders(wire: Wire, nextId: AnswerInput['nextId']): Record<string, string> {
  const id = wire === 'anthropic' ? { 'request-id': nextId('req_') } : { 'x-request-id': nextId('req_') }
  return { ...id, connection: 'close' }
}

const htmlPage: Reply = {
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
