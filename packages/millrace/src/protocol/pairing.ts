import { invalidInput } from './errors.ts'
import type { Message, ToolMessage } from './messages.ts'
import { toolCallsOf } from './messages.ts'

/** What the model reads in place of a missing result. */
const lostResult =
  'No result was recorded for this call: it was interrupted, and whether it took effect is unknown.'

/**
 * Returns the history with exactly one result for every tool call, right after the message with the
 * call and in call order.
 *
 * Repaired, and listed in `repairs`: a call without a result (answered as unknown), a result in the
 * wrong place (moved), a second copy of the same result and results before the first assistant
 * message, whose calls were trimmed away (left out), an id that is reused after its first call was
 * answered (renamed).
 * Rejected with `invalid_input`, since any guess could be wrong: a result without a call, two
 * different results for one call, two open calls with the same id.
 */
export function pairHistory(
  history: readonly Message[],
  op: string,
): { messages: Message[]; repairs: string[] } {
  const repairs: string[] = []
  const messages = withUniqueIds(history, op, repairs)
  const calls = new Set(messages.flatMap((message) => toolCallsOf(message).map(({ callId }) => callId)))

  const results = new Map<string, ToolMessage>()
  const firstAnswer = messages.findIndex((message) => message.role === 'assistant')
  for (const [index, message] of messages.entries()) {
    if (message.role !== 'tool') continue
    const { callId } = message
    const known = results.get(callId)
    if (calls.has(callId) && !known) results.set(callId, message)
    else if (known && JSON.stringify(known) === JSON.stringify(message))
      repairs.push(`left out a second copy of the result of '${callId}'`)
    else if (known)
      throw invalidInput(op, `the history has two different results for the tool call '${callId}': keep one`)
    else if (firstAnswer === -1 || index < firstAnswer)
      repairs.push(`left out the result of '${callId}', whose call is no longer in the history`)
    else
      throw invalidInput(
        op,
        `messages[${index}] is the result of '${callId}', but no assistant message contains that tool call: remove the result, or add the call back`,
      )
  }

  const paired: Message[] = []
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') continue
    paired.push(message)
    let place = index + 1
    for (const { callId, name } of toolCallsOf(message)) {
      const result = results.get(callId)
      if (result) {
        if (messages[place] === result) place++
        else repairs.push(`moved the result of '${callId}' after its call`)
        paired.push(result)
      } else {
        repairs.push(`added a result for the call '${callId}', which had none`)
        paired.push({
          role: 'tool',
          callId,
          name,
          content: [{ type: 'text', text: lostResult }],
          isError: true,
        })
      }
    }
  }
  return { messages: paired, repairs }
}

/**
 * Some providers restart their call ids in each round: `call_0` and its result, and later `call_0`
 * again.
 */
function withUniqueIds(messages: readonly Message[], op: string, repairs: string[]): readonly Message[] {
  /** By the id as passed: the id it has now, and whether the call has its result. */
  const known = new Map<string, { callId: string; answered: boolean }>()
  const taken = new Set(messages.flatMap((message) => toolCallsOf(message).map(({ callId }) => callId)))

  function open(id: string): string {
    const before = known.get(id)
    if (before && !before.answered)
      throw invalidInput(op, `the history has two tool calls with the id '${id}': give each call its own id`)
    let callId = id
    for (let count = 2; before && taken.has(callId); count++) callId = `${id}_${count}`
    if (before) repairs.push(`renamed the second call '${id}' to '${callId}'`)
    taken.add(callId)
    known.set(id, { callId, answered: false })
    return callId
  }

  return messages.map((message) => {
    if (message.role === 'assistant' && message.content.some((part) => part.type === 'tool-call')) {
      const content = message.content.map((part) => {
        if (part.type !== 'tool-call') return part
        const callId = open(part.callId)
        return callId === part.callId ? part : { ...part, callId }
      })
      return content.every((part, index) => part === message.content[index])
        ? message
        : { ...message, content }
    }
    const call = message.role === 'tool' ? known.get(message.callId) : undefined
    if (!call || message.role !== 'tool') return message
    call.answered = true
    return call.callId === message.callId ? message : { ...message, callId: call.callId }
  })
}

/**
 * Describes the first place where calls and results do not match one to one; undefined if all
 * match.
 */
export function findUnpaired(messages: readonly Message[]): string | undefined {
  const open = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.delete(message.callId)) return `the result of '${message.callId}' has no call before it`
      continue
    }
    for (const callId of open) return `the call '${callId}' has no result`
    if (message.role === 'assistant')
      for (const part of message.content) if (part.type === 'tool-call') open.add(part.callId)
  }
  for (const callId of open) return `the call '${callId}' has no result`
  return undefined
}
