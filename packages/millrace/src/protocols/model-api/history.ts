import type { Message, ToolMessage, UserMessage, UserPart } from '../../protocol/index.ts'
import { textOf, toolCallsOf } from '../../protocol/index.ts'
import { encoder } from '../once-per-entry.ts'
import { isDecision, withoutApprovalWords } from './approval-words.ts'

/** A conversation that a client sends, split into what the server may know and what is new. */
export interface History {
  /** All messages. Consecutive user messages are one. */
  readonly messages: readonly Message[]
  /** The results and the message at its end. */
  readonly results: readonly ToolMessage[]
  readonly message: UserMessage | undefined
  /** The index of the last message of the user that has an answer. Undefined if none has. */
  readonly answered: number | undefined
  /** The answer to it as the client has it, without whitespace. */
  readonly answer: string
  /** The calls in it. Undefined if the client sends no answers. */
  readonly calls: ReadonlySet<string> | undefined
}

export function readHistory(given: readonly Message[]): History {
  const messages = joinUserMessages(given)
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const tail = messages.slice(last + 1)
  const isInput = (message: Message, index: number) =>
    message.role === 'user' && index < last && !isDecision(messages, index)
  const answered = messages.findLastIndex(isInput)
  const answer = messages.slice(answered + 1, last + 1)
  return {
    messages,
    results: tail.filter((message) => message.role === 'tool'),
    message: tail.findLast((message) => message.role === 'user'),
    answered: answered < 0 ? undefined : answered,
    answer: answer.map(answerText).join(''),
    calls: last < 0 ? undefined : new Set(answer.flatMap(toolCallsOf).map(({ callId }) => callId)),
  }
}

function answerText(message: Message): string {
  return message.role === 'assistant' ? compactText(withoutApprovalWords(textOf(message))) : ''
}

/** Clients trim text and join parts in their own ways, so whitespace does not count. */
export function compactText(text: string): string {
  return text.replace(/\s+/g, '')
}

function joinUserMessages(messages: readonly Message[]): Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const before = joined.at(-1)
    if (message.role === 'user' && before?.role === 'user')
      joined[joined.length - 1] = { role: 'user', content: [...partsOf(before), ...partsOf(message)] }
    else joined.push(message)
  }
  return joined
}

function partsOf({ content }: UserMessage): readonly UserPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/**
 * A key for each message of the user: a hash of the conversation up to it. A client that sends its
 * whole conversation is found by the key of a message that it has sent before.
 */
export async function historyKeys(
  messages: readonly Message[],
  ...scope: readonly (string | undefined)[]
): Promise<(string | undefined)[]> {
  const keys: (string | undefined)[] = []
  let pending = JSON.stringify(scope)
  for (const message of messages) {
    pending += `\n${canonical(message)}`
    if (message.role !== 'user') {
      keys.push(undefined)
      continue
    }
    pending = await hashOf(pending)
    keys.push(`history:${pending}`)
  }
  return keys
}

/** What two versions of the same message have in common, whatever a client does to their format. */
function canonical(message: Message): string {
  const { role } = message
  if (role === 'assistant')
    return JSON.stringify([role, answerText(message), toolCallsOf(message).map(({ callId }) => callId)])
  const media =
    typeof message.content === 'string' ? [] : message.content.filter(({ type }) => type !== 'text')
  const id = role === 'tool' ? message.callId : ''
  return JSON.stringify([role, id, compactText(textOf(message)), media])
}

export async function hashOf(text: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
