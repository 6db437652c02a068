import type {
  CallKind,
  CallStatus,
  ErrorJson,
  InputEvent,
  Message,
  Outcome,
  Problem,
  RoundFinish,
  ThreadEvent,
} from '../protocol/index.ts'
import {
  anObject,
  anything,
  checkMessages,
  isObject,
  isRunEvent,
  kindOf,
  messageOf,
  metadataProblem,
  nameOf,
  oneOf,
  outcomes,
  toJson,
  wholeNumber,
  yesOrNo,
} from '../protocol/index.ts'

type Check = (value: unknown) => Problem

/** A field may be absent. */
interface Optional {
  readonly optional: Check
}

/** A field that a sender may not decide, and that is left out. */
const dropped = 'dropped'

type Fields = Readonly<Record<string, Check | Optional | typeof dropped>>

/** All fields of each event, so that a new field needs a decision here. */
type AllFields = {
  readonly [Type in ThreadEvent['type']]: {
    readonly [Name in Exclude<keyof Extract<ThreadEvent, { readonly type: Type }>, 'type'>]-?: Fields[string]
  }
}

const optional = (check: Check): Optional => ({ optional: check })

const text: Check = (value) => typeof value !== 'string' && `must be text, not ${kindOf(value)}`
const amount: Check = (value) =>
  !(typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) &&
  `must be a number of at least 0, not ${nameOf(value)}`
const count = wholeNumber(0)
const number = wholeNumber(1)

function listOf(check: Check): Check {
  return (value) =>
    Array.isArray(value)
      ? firstProblem(value.map((one) => check(one)))
      : `must be a list, not ${kindOf(value)}`
}

/** An object with at least these fields. */
function shape(fields: Readonly<Record<string, Check | Optional>>): Check {
  return (value) =>
    anObject(value) || (fieldsProblem(value as Readonly<Record<string, unknown>>, fields) ?? false)
}

const amounts: Check = (value) =>
  anObject(value) || firstProblem(Object.values(value as object).map((one) => amount(one)))

function messages(...roles: readonly Message['role'][]): Check {
  return (value) => {
    try {
      const read = checkMessages(value, 'import')
      return roles.length > 0 && !read.every(({ role }) => roles.includes(role)) && 'has the wrong role'
    } catch (error) {
      return `is invalid: ${messageOf(error)}`
    }
  }
}

const userMessages = messages('user')
const userMessage: Check = (value) => userMessages([value])
const toolMessages = messages('tool')
/** The output of a tool. */
const parts: Check = (content) => toolMessages([{ role: 'tool', callId: '', name: '', content }])

const choice = <Value extends string>(values: Readonly<Record<Value, true>>) => oneOf(...Object.keys(values))
const finish = choice<RoundFinish>({
  stop: true,
  'tool-calls': true,
  length: true,
  'content-filter': true,
  refusal: true,
  other: true,
  interrupted: true,
})
const status = choice<CallStatus>({
  ok: true,
  failed: true,
  timeout: true,
  rejected: true,
  blocked: true,
  denied: true,
  canceled: true,
  unknown: true,
})
const mode = choice<InputEvent['mode']>({ queue: true, steer: true, interrupt: true, correct: true })

const opaque = optional(shape({ provider: text }))
const error = shape({ op: text, code: text, message: text } satisfies Partial<Record<keyof ErrorJson, Check>>)
const limit = optional(shape({ scope: text, kind: text, limit: amount, spent: amount }))
const permission = optional(shape({ decision: text, rule: text }))
const kind = choice<CallKind>({
  read: true,
  edit: true,
  delete: true,
  move: true,
  search: true,
  execute: true,
  think: true,
  fetch: true,
  other: true,
})
const display = optional(
  shape({
    kind: optional(kind),
    title: optional(text),
    locations: optional(listOf(shape({ path: text, line: optional(count) }))),
    diff: optional(listOf(shape({ path: text, oldText: optional(text), newText: text }))),
    terminal: optional(text),
  }),
)
const progress = shape({ display })
const cost = optional(shape({ usd: amount, prices: text }))
const paid = { usage: optional(amounts), estimate: optional(amounts), cost }
const failed = optional(shape({ model: text, ...paid }))
/** A client may run the tool, so nothing here does. */
const wants = optional(oneOf('result'))
const call = { callId: text }
const named = { ...call, name: text }
const round = { round: count }

const fieldsOf: AllFields = {
  text: { text },
  reasoning: { text },
  'part-end': { part: oneOf('text', 'reasoning'), opaque },
  // It could name a generation of someone else, which the end of the run would cancel.
  checkpoint: { opaque: dropped },
  'tool-input-start': { ...named, wants },
  'tool-input': { ...call, delta: text },
  'tool-call': { ...named, input: anObject, problem: optional(text), raw: optional(text), opaque, wants },
  'provider-tool': {
    ...named,
    input: optional(anything),
    output: optional(anything),
    isError: optional(yesOrNo),
    opaque,
  },
  'run-start': {
    version: count,
    runId: text,
    agent: text,
    input: messages(),
    repairs: optional(listOf(text)),
    resumes: optional(text),
    inputs: optional(listOf(number)),
    discarded: optional(listOf(number)),
    losses: optional(count),
    lostMs: optional(amount),
    trace: dropped,
  },
  'round-start': { ...round, model: text, inputs: optional(listOf(number)), limit, failed },
  'round-retry': { ...round, attempt: count, model: text, delayMs: amount, error, failed },
  'round-retract': { ...round, reason: text, failed },
  'round-end': {
    ...round,
    ...paid,
    model: text,
    finish,
    error: optional(error),
    contextTokens: optional(amount),
    context: optional(amounts),
    timings: optional(amounts),
    metadata: optional(anObject),
  },
  'tool-start': { ...named, attempt: count, input: optional(anObject), permission, display },
  'tool-progress': {
    ...call,
    // Anything else is progress of the tool's own.
    data: optional((value) => isObject(value) && isObject(value.display) && progress(value)),
    event: optional((value) => nestedProblem(value)),
    name: optional(text),
    agent: optional(text),
  },
  'tool-result': {
    ...named,
    output: parts,
    shown: optional(parts),
    status,
    isError: yesOrNo,
    ms: amount,
    overlapMs: amount,
    permission,
    cost,
  },
  'approval-request': {
    ...named,
    input: anObject,
    wants,
    reason: optional(text),
    permission,
    remember: optional(shape({ rules: listOf(text), for: listOf(text) })),
    budget: limit,
    display,
  },
  approval: {
    ...call,
    approved: yesOrNo,
    reason: optional(text),
    input: optional(anObject),
    remember: dropped,
    output: optional(parts),
    isError: optional(yesOrNo),
    request: dropped,
  },
  input: { message: userMessage, mode, request: dropped, trace: dropped },
  summary: { ...paid, replaces: count, message: userMessage, model: optional(text) },
  'run-end': {
    outcome: oneOf(...(outcomes satisfies readonly Outcome[])),
    finish: optional(finish),
    usage: amounts,
    error: optional(error),
    ms: optional(amount),
    limit,
    failed,
  },
  stop: { reason: text },
  playback: { run: text, ...round, chars: count },
  rewind: {
    before: number,
    keep: optional(count),
    messages: optional(messages()),
    answer: optional(yesOrNo),
    request: dropped,
  },
  title: { title: text },
  metadata: { patch: metadataProblem, initial: optional(metadataProblem) },
  // Callers cannot speak for others.
  feedback: { run: text, rating: optional(oneOf('up', 'down')), note: optional(text), user: dropped },
}

/** An event of an exported log, without the fields that a sender may not decide; or the problem. */
export function readImportedEvent(
  given: Readonly<Record<string, unknown>>,
): { readonly event: ThreadEvent } | { readonly problem: string } {
  const problem = eventProblem(given)
  return problem ? { problem } : { event: toJson(allowedOf(given)) as unknown as ThreadEvent }
}

function eventProblem(event: Readonly<Record<string, unknown>>): string | undefined {
  const fields = tableFor(event)
  if (!fields) return `has the unknown type ${nameOf(event.type)}`
  const problem = fieldsProblem(event, fields)
  return problem && `(${event.type}): ${problem}`
}

function nestedProblem(event: unknown): Problem {
  if (!isObject(event)) return anObject(event)
  return isRunEvent(event as unknown as ThreadEvent) ? eventProblem(event) : 'must be an event of a run'
}

function tableFor({ type }: Readonly<Record<string, unknown>>): Fields | undefined {
  return Object.hasOwn(fieldsOf, String(type)) ? fieldsOf[type as ThreadEvent['type']] : undefined
}

function fieldsProblem(values: Readonly<Record<string, unknown>>, fields: Fields): string | undefined {
  for (const [name, field] of Object.entries(fields)) {
    if (field === dropped) continue
    const value = values[name]
    const problem = typeof field === 'function' ? field(value) : value !== undefined && field.optional(value)
    if (problem) return `'${name}' ${problem}`
  }
  return undefined
}

function firstProblem(problems: readonly Problem[]): Problem {
  return problems.find(Boolean)
}

/** The known fields of an event, in their order, without those that are dropped. */
function allowedOf(event: Readonly<Record<string, unknown>>): object {
  const fields = tableFor(event) ?? {}
  const known = Object.entries(event).flatMap(([name, value]) => {
    if (name === 'type') return [[name, value]]
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field && field !== dropped) return [[name, value]]
    // The protocol of the sender reads it. It changes nothing.
    const { metadata } = field && name === 'request' && isObject(value) ? value : {}
    return isObject(metadata) ? [[name, { metadata }]] : []
  })
  const { event: nested } = event
  return {
    ...Object.fromEntries(known),
    ...(event.type === 'tool-progress' && isObject(nested) && { event: allowedOf(nested) }),
  }
}
