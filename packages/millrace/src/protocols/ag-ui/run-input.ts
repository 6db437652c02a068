import type { ApprovalAnswer, InputMode, JsonObject, JsonValue, RunRequest } from '../../protocol/index.ts'
import { invalidInput, isObject, kindOf, nameOf } from '../../protocol/index.ts'
import type { CallAnswers } from '../answers.ts'
import type { AgUiMessage } from './messages.ts'
import { toolResult } from './messages.ts'

const op = 'agUi'

/** What a client posts to run an agent. */
export interface RunInput {
  readonly threadId: string
  readonly runId: string
  /** Whether the client speaks version 1.0 or later. */
  readonly isCurrent: boolean
  readonly messages: readonly AgUiMessage[]
  /** Undefined if the client has none. */
  readonly state: JsonValue | undefined
  /** Decisions about interrupts, and the results of tools at the end of the messages. */
  readonly answers: CallAnswers
  /** How the message is sent while a run is in progress. */
  readonly mode: InputMode | undefined
  readonly request: RunRequest
}

/** Reads the body of a request. Throws `invalid_input` that says what is wrong. */
export function readRunInput(body: unknown): RunInput {
  if (!isObject(body))
    throw invalidInput(
      op,
      `the body must be a RunAgentInput, { threadId, runId, messages, … }, not ${kindOf(body)}`,
    )
  const { protocolVersion, forwardedProps, state } = body
  const messages = listOf(body, 'messages').map(messageIn)
  const mode = isObject(forwardedProps) ? forwardedProps.mode : undefined
  const isEmpty = isObject(state) && Object.keys(state).length === 0
  const runId = textIn(body, 'runId')
  const request = requestOf(body, messages)
  return {
    threadId: textIn(body, 'threadId'),
    runId,
    isCurrent: typeof protocolVersion === 'string' && Number.parseFloat(protocolVersion) >= 1,
    messages,
    // A client that has just started does not know the state.
    state: state === null || isEmpty ? undefined : (state as JsonValue | undefined),
    answers: {
      decisions: new Map(listOf(body, 'resume').map(decisionIn)),
      results: new Map(
        messages
          .slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1)
          .filter(({ role }) => role === 'tool')
          .map((message) => {
            const { callId, ...result } = toolResult(message)
            return [callId, result]
          }),
      ),
    },
    mode: mode === 'queue' || mode === 'steer' || mode === 'interrupt' ? mode : undefined,
    request: { ...request, metadata: { agUi: { runId, messageId: messages.at(-1)?.id ?? '' } } },
  }
}

function textIn(fields: Readonly<Record<string, unknown>>, name: string, path = ''): string {
  const value = fields[name]
  if (typeof value === 'string' && value !== '') return value
  throw invalidInput(op, `'${path}${name}' must be text, not ${value === '' ? 'empty' : kindOf(value)}`)
}

function listOf(fields: Readonly<Record<string, unknown>>, name: string): Record<string, unknown>[] {
  const list = fields[name] ?? (name === 'messages' ? undefined : [])
  if (!Array.isArray(list)) throw invalidInput(op, `'${name}' must be an array, not ${kindOf(list)}`)
  return list.map((one, index) => {
    if (isObject(one)) return one
    throw invalidInput(op, `'${name}[${index}]' must be an object, not ${kindOf(one)}`)
  })
}

const roles = ['developer', 'system', 'user', 'assistant', 'tool', 'activity', 'reasoning']

function messageIn(message: Record<string, unknown>, index: number): AgUiMessage {
  const path = `messages[${index}].`
  const role = textIn(message, 'role', path)
  if (!roles.includes(role))
    throw invalidInput(op, `'${path}role' must be one of ${roles.join(', ')}, not ${nameOf(role)}`)
  if (role === 'tool') textIn(message, 'toolCallId', path)
  return { ...message, id: textIn(message, 'id', path), role }
}

function decisionIn(
  entry: Record<string, unknown>,
  index: number,
): [string, Omit<ApprovalAnswer, 'request'>] {
  const path = `resume[${index}].`
  const { status, payload } = entry
  const id = textIn(entry, 'interruptId', path)
  if (status === 'cancelled') return [id, { approved: false, reason: 'the user canceled the question' }]
  if (status !== 'resolved')
    throw invalidInput(op, `'${path}status' must be 'resolved' or 'cancelled', not ${nameOf(status)}`)
  const { approved, reason, editedArgs, remember } = isObject(payload) ? payload : { approved: payload }
  if (typeof approved !== 'boolean')
    throw invalidInput(op, `'${path}payload' must be { approved: true } or { approved: false }`)
  if ((editedArgs ?? undefined) !== undefined && !isObject(editedArgs))
    throw invalidInput(op, `'${path}payload.editedArgs' must be an object, not ${kindOf(editedArgs)}`)
  if ((remember ?? undefined) !== undefined && remember !== 'thread' && remember !== 'always')
    throw invalidInput(op, `'${path}payload.remember' must be 'thread' or 'always', not ${nameOf(remember)}`)
  return [
    id,
    {
      approved,
      ...(typeof reason === 'string' && { reason }),
      ...(isObject(editedArgs) && { input: editedArgs }),
      ...((remember === 'thread' || remember === 'always') && { remember }),
    },
  ]
}

/** Tools of the client, and text for the model: system messages and what the client shows. */
function requestOf(body: Record<string, unknown>, messages: readonly AgUiMessage[]): RunRequest {
  const tools = listOf(body, 'tools').map((tool, index) => {
    const { description, parameters } = tool
    const name = textIn(tool, 'name', `tools[${index}].`)
    return {
      name,
      description: typeof description === 'string' && description ? description : `The tool ${name}`,
      inputSchema: (isObject(parameters) ? parameters : { type: 'object' }) as JsonObject,
    }
  })
  const instructions = messages.filter(({ role }) => role === 'system' || role === 'developer')
  const context = listOf(body, 'context').map(({ description, value }) => `${description}: ${value}`)
  const system = [...instructions.map(({ content }) => content), ...context].filter(Boolean).join('\n\n')
  return { ...(tools.length > 0 && { tools }), ...(system && { system }) }
}
