import type { ApprovalRequestEvent, JsonObject, JsonValue, ToolContext } from 'millrace'
import type { ApprovalEvent } from 'millrace/internal'
import { isObject, nestedRunOf, pending, toJson } from 'millrace/internal'
import { truncate } from './failure.ts'
import type { Sdk } from './sdk.ts'

/** What a server asks a person: a form to fill in, or an address to open. */
export interface Question {
  readonly message: string
  readonly mode?: string | undefined
  readonly requestedSchema?: unknown
  readonly url?: string | undefined
}

export type QuestionAnswer =
  | { readonly action: 'accept'; readonly content?: Record<string, unknown> }
  | { readonly action: 'decline' | 'cancel' }

/**
 * What is known about a call of a server's tool beyond this process. It is kept in the log, as progress of
 * the call that only the call reads.
 */
export interface CallMemory {
  /** How many questions there were: their ids are unique within the call. */
  readonly asked: number
  /** How many requests a model has answered. */
  readonly sampled: number
  /** The id of the server's task. */
  readonly task?: string
  /** The requests of the task that were answered, by the server's names for them. */
  readonly answered?: readonly string[]
  /** What the server wants back along with the answers. */
  readonly requestState?: string
  /** The questions that wait for a person, by their ids, with the server's own names for them. */
  readonly questions: Readonly<Record<string, { readonly key: string; readonly question: Question }>>
  /** Answers to the same request of the server that are known already. */
  readonly responses: Readonly<Record<string, unknown>>
}

export const emptyMemory: CallMemory = { asked: 0, sampled: 0, questions: {}, responses: {} }

/** Not shown: the events of a sub-agent with this call id belong to the connection itself. */
const ownId = 'mcp'

/** The memory of earlier attempts at a call, and what people have decided since. */
export function recall(context: ToolContext): { memory?: CallMemory; decisions: Map<string, ApprovalEvent> } {
  const { resumed, relay } = nestedRunOf(context)
  const events = resumed?.events ?? []
  const isOwn = (event: (typeof events)[number]) => event.type === 'tool-progress' && event.callId === ownId
  const last = events.findLastIndex(isOwn)
  const decisions = events.slice(last + 1).filter((event) => event.type === 'approval')
  for (const decision of resumed?.decisions ?? []) {
    decisions.push(decision)
    // From now on it is part of the call, so that the id of its question is free.
    relay?.(decision)
  }
  const saved = events[last]
  return {
    ...(saved?.type === 'tool-progress' &&
      isObject(saved.data) && { memory: saved.data as unknown as CallMemory }),
    decisions: new Map(decisions.map((decision) => [decision.callId, decision])),
  }
}

export function remember(context: ToolContext, memory: CallMemory): void {
  nestedRunOf(context).relay?.({ type: 'tool-progress', callId: ownId, data: toJson(memory) })
}

/** A question as an approval request: its input is the form, which the person can change. */
function approvalOf(
  id: string,
  { message, mode, requestedSchema, url }: Question,
  { tool, server, problem }: { readonly tool: string; readonly server: string; readonly problem?: string },
): ApprovalRequestEvent {
  const asks = `The MCP server '${server}' asks: ${truncate(message)}`
  if (mode === 'url')
    return {
      type: 'approval-request',
      callId: id,
      name: tool,
      input: { url: url ?? '' },
      reason: `${asks} Open ${url} and approve when you are done there.`,
    }
  const fields = fieldsOf(requestedSchema)
  const about = fields.map(([name, field]) => describeField(name, field, requestedSchema)).join('; ')
  return {
    type: 'approval-request',
    callId: id,
    name: tool,
    input: Object.fromEntries(fields.map(([name, field]) => [name, defaultOf(field)])),
    reason: `${asks}${about && ` Approve with this input: ${about}.`}${problem ? ` (${problem})` : ''}`,
  }
}

type Field = Readonly<Record<string, unknown>>

function fieldsOf(schema: unknown): [string, Field][] {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  return Object.entries(properties).filter((field): field is [string, Field] => isObject(field[1]))
}

function defaultOf({ default: value = null }: Field): JsonValue {
  return toJson(value) ?? null
}

function describeField(name: string, { type, title, description, ...rest }: Field, schema: unknown): string {
  const isRequired = isObject(schema) && Array.isArray(schema.required) && schema.required.includes(name)
  const { default: _, ...limits } = rest
  const about = [
    type === 'array' ? 'list' : type,
    isRequired && 'required',
    title,
    description,
    Object.keys(limits).length > 0 && JSON.stringify(limits),
  ]
  return truncate(`${name} (${about.filter(Boolean).join(', ')})`, 500)
}

/** The answer that a decision gives, or what is wrong with it. */
async function answerOf(
  { approved, input }: ApprovalEvent,
  question: Question,
  sdk: Sdk,
): Promise<QuestionAnswer | string> {
  if (!approved) return { action: 'decline' }
  if (question.mode === 'url') return { action: 'accept' }
  const form = input ?? approvalOf('', question, { tool: '', server: '' }).input
  // Fields that were left empty.
  const content = Object.fromEntries(Object.entries(form).filter(([, value]) => value !== null))
  const schema = sdk.fromJsonSchema((question.requestedSchema ?? { type: 'object' }) as JsonObject)
  const checked = await schema['~standard'].validate(content)
  if (!checked.issues) return { action: 'accept', content }
  return `the last answer was not accepted: ${truncate(checked.issues.map(({ message }) => message).join('; '), 300)}`
}

export interface Answers {
  readonly given: ReadonlyMap<string, QuestionAnswer>
  /** What is wrong with the answers that cannot be sent. */
  readonly problems: ReadonlyMap<string, string>
}

/** What people have answered by now, by the ids of the questions. */
export async function readAnswers(
  { questions }: CallMemory,
  decisions: ReadonlyMap<string, ApprovalEvent>,
  sdk: Sdk,
): Promise<Answers> {
  const given = new Map<string, QuestionAnswer>()
  const problems = new Map<string, string>()
  for (const [id, { question }] of Object.entries(questions)) {
    const decision = decisions.get(id)
    const answer = decision && (await answerOf(decision, question, sdk))
    if (typeof answer === 'string') problems.set(id, answer)
    else if (answer) given.set(id, answer)
  }
  return { given, problems }
}

/** Suspends the run until people have answered. Questions that were answered badly get new ids. */
export function askPeople(
  { context, names }: { readonly context: ToolContext; readonly names: { tool: string; server: string } },
  memory: CallMemory,
  answers: Answers = { given: new Map(), problems: new Map() },
) {
  const { given, problems } = answers
  let { asked } = memory
  const open = Object.entries(memory.questions)
    .filter(([id]) => !given.has(id))
    .map(([id, one]) => ({ id: problems.has(id) ? `ask_${++asked}` : id, before: id, ...one }))
  const questions = Object.fromEntries(open.map(({ id, key, question }) => [id, { key, question }]))
  const next: CallMemory = { ...memory, asked, questions, responses: byKey(memory, answers) }
  remember(context, next)
  const suspended: unknown = pending(
    open.map(({ id, before, question }) => {
      const problem = problems.get(before)
      return approvalOf(id, question, { ...names, ...(problem !== undefined && { problem }) })
    }),
  )
  return { memory: next, open, suspended }
}

/** All answers that are known, by the names that the server gave its requests. */
export function byKey({ questions, responses }: CallMemory, { given }: Answers) {
  const answers = [...given].map(([id, answer]) => [questions[id]?.key ?? id, answer] as const)
  return { ...responses, ...Object.fromEntries(answers) }
}

export const hasQuestions = ({ questions }: CallMemory) => Object.keys(questions).length > 0

/** Without the questions that were answered. */
export function withoutQuestions(memory: CallMemory, answered: Iterable<string>): CallMemory {
  const ids = new Set(answered)
  const questions = Object.entries(memory.questions).filter(([id]) => !ids.has(id))
  return { ...memory, questions: Object.fromEntries(questions) }
}
