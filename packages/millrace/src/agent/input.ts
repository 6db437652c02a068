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
  pairHistory,
  toolCallsOf,
} from '../protocol/index.ts'

/** What an agent can be asked with: words, a message, or a whole conversation that ends with what it should answer. */
export type AgentInput = string | InputMessage | readonly InputMessage[]

/** Makes input into a conversation that can be sent. Throws `invalid_input` on what cannot be mended. */
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

/** Why there is nothing to answer at the end of these messages, as they were handed in. */
function endProblem(given: readonly Message[]): string {
  const last = given.at(-1)
  if (last?.role !== 'tool')
    return 'the conversation must end with a user message or a tool result for the agent to answer'
  const { callId } = last
  const isAnswer = given.some((message) => toolCallsOf(message).some((call) => call.callId === callId))
  return isAnswer
    ? `the conversation ends with the result of '${callId}', but an assistant message stands between that call and its result, so there is nothing left to answer: end with a user message`
    : `the conversation ends with the result of '${callId}', but no assistant message holds that tool call: put the call back, or end with a user message`
}

/** One message for a run that is under way. */
export function readUserMessage(
  input: string | InputUserMessage,
  options: { op: string; model: Model },
): UserMessage {
  const message = typeof input === 'string' ? { role: 'user', content: input } : input
  const [checked] = checkMessages([message], options.op)
  if (checked?.role !== 'user') throw invalidInput(options.op, 'only a user message can be said to a run')
  checkUserMessage(checked, options)
  return checked
}

function checkUserMessage({ content }: UserMessage, { op, model }: { op: string; model: Model }) {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content } as const] : content
  const says = parts.some((part) => part.type !== 'text' || part.text.trim() !== '')
  if (!says) throw invalidInput(op, 'the input is empty: a user message needs text, an image or a file')
  for (const [type, taken] of [
    ['image', model.capabilities.images],
    ['file', model.capabilities.files],
  ] as const)
    if (!taken && parts.some((part) => part.type === type))
      throw invalidInput(
        op,
        `the model '${model.id}' takes no ${type}s: leave them out, or use another model`,
      )
}

/** The state of a run that is to go on. Throws `invalid_input` on what is not the log of one, or one that is over. */
export function readLog(log: unknown, op: string): RunState {
  const first = Array.isArray(log) ? log[0] : undefined
  if (!Array.isArray(log) || !isObject(first) || first.type !== 'run-start')
    throw invalidInput(op, "resume() takes the events of a run, in order, the first being its 'run-start'")
  const broken = log.findIndex((event) => !isObject(event) || typeof event.type !== 'string')
  if (broken >= 0) throw invalidInput(op, `events[${broken}] is not an event: ${kindOf(log[broken])}`)
  checkVersion(Number(first.version), op)
  if (first.resumes !== undefined)
    throw invalidInput(
      op,
      'these events go on from those of an earlier run: put the events of that run before them',
    )
  if (!Array.isArray(first.input) || first.input.length === 0)
    throw invalidInput(op, "the 'run-start' of these events has no input")
  const state = foldLog(log as RunEvent[])
  if (state.outcome && state.outcome !== 'suspended')
    throw invalidInput(op, `the run is over (${state.outcome}): start a new one with its messages`)
  return state
}
