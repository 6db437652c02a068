import type {
  InputMessage,
  InputUserMessage,
  Message,
  Model,
  RunEvent,
  RunState,
  UserMessage,
} from '../protocol/index.ts'
import {
  checkMessages,
  checkVersion,
  foldLog,
  invalidInput,
  isObject,
  kindOf,
  PROTOCOL_VERSION,
  pairHistory,
  toolCallsOf,
  upgradeEvent,
} from '../protocol/index.ts'

/** Text, a message, or a whole conversation that ends with the message to answer. */
export type AgentInput = string | InputMessage | readonly InputMessage[]

/**
 * Converts input to a conversation that can be sent, repairing its history. Throws `invalid_input`
 * if that is impossible.
 */
export function readInput(
  input: unknown,
  { op, model }: { op: string; model: Model },
): { input: Message[]; repairs: string[] } {
  const list =
    typeof input === 'string' ? [{ role: 'user', content: input }] : Array.isArray(input) ? input : [input]
  if (input === undefined || input === null)
    throw invalidInput(op, `the input must be text or messages, not ${kindOf(input)}`)
  if (list.length === 0)
    throw invalidInput(op, 'the input has no messages: pass text, or messages that end with a user message')
  const given = checkMessages(list, op)
  const { messages, repairs } = pairHistory(given, op)
  const last = messages.at(-1)
  if (!last || last.role === 'system' || last.role === 'assistant') throw invalidInput(op, endProblem(given))
  for (const message of messages) if (message.role === 'user') checkUserMessage(message, { op, model })
  return { input: messages, repairs }
}

/** Checks the conversation that a thread begins with, which need not end with a message to answer. */
export function readHistory(history: unknown, { op, model }: { op: string; model: Model }): Message[] {
  if (!Array.isArray(history))
    throw invalidInput(op, `'messages' must be an array of messages, not ${kindOf(history)}`)
  const { messages } = pairHistory(checkMessages(history, op), op)
  for (const message of messages) if (message.role === 'user') checkUserMessage(message, { op, model })
  return messages
}

/** Why the messages that the caller passed do not end with something to answer. */
function endProblem(given: readonly Message[]): string {
  const last = given.at(-1)
  if (last?.role !== 'tool')
    return 'the conversation must end with a user message or a tool result for the agent to answer'
  const { callId } = last
  const isAnswer = given.some((message) => toolCallsOf(message).some((call) => call.callId === callId))
  return isAnswer
    ? `the conversation ends with the result of '${callId}', but an assistant message comes between that call and its result, so there is nothing left to answer: end with a user message`
    : `the conversation ends with the result of '${callId}', but no assistant message has that tool call: add the call, or end with a user message`
}

/** Checks one message for a run in progress. */
export function readUserMessage(
  input: string | InputUserMessage,
  options: { op: string; model: Model },
): UserMessage {
  const message = typeof input === 'string' ? { role: 'user', content: input } : input
  const [checked] = checkMessages([message], options.op)
  if (checked?.role !== 'user') throw invalidInput(options.op, 'only a user message can be sent to a run')
  checkUserMessage(checked, options)
  return checked
}

function checkUserMessage({ content }: UserMessage, { op, model }: { op: string; model: Model }) {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const hasContent = parts.some((part) => part.type !== 'text' || part.text.trim() !== '')
  if (!hasContent) throw invalidInput(op, 'the input is empty: a user message needs text, an image or a file')
  for (const [type, accepted] of [
    ['image', model.capabilities.images],
    ['file', model.capabilities.files],
  ] as const)
    if (!accepted && parts.some((part) => part.type === type))
      throw invalidInput(
        op,
        `the model '${model.id}' does not accept ${type}s: leave them out, or use another model`,
      )
}

/**
 * The state of a run to resume. Throws `invalid_input` if the log is invalid or its run has ended.
 */
export function readLog(log: unknown, op: string): RunState {
  const first = Array.isArray(log) ? log[0] : undefined
  if (!Array.isArray(log) || !isObject(first) || first.type !== 'run-start')
    throw invalidInput(op, "resume() takes the events of a run in order, starting with its 'run-start'")
  const invalidIndex = log.findIndex((event) => !isObject(event) || typeof event.type !== 'string')
  if (invalidIndex >= 0)
    throw invalidInput(op, `events[${invalidIndex}] is not an event: ${kindOf(log[invalidIndex])}`)
  checkVersion(Number(first.version), op)
  if (first.resumes !== undefined)
    throw invalidInput(op, 'these events continue an earlier run: put the events of that run before them')
  if (!Array.isArray(first.input) || first.input.length === 0)
    throw invalidInput(op, "the 'run-start' of these events has no input")
  const isOld = Number(first.version) < PROTOCOL_VERSION
  const state = foldLog(isOld ? (log as RunEvent[]).map(upgradeEvent) : (log as RunEvent[]))
  if (state.outcome && state.outcome !== 'suspended')
    throw invalidInput(op, `the run has ended (${state.outcome}): start a new one with its messages`)
  return state
}
