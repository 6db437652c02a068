import type { ApprovalRequestEvent, Message, UserMessage } from '../../protocol/index.ts'
import { budgetQuestion, textOf } from '../../protocol/index.ts'

// For formats that have no approvals: the answer asks in words, and a reply of one word decides.

const asks = '[Approval needed]'
const replies = 'Reply `approve` or `deny`.'
const words = /\[Approval needed\][\s\S]*?Reply `approve` or `deny`\./g
const decision = /^\s*(approve|deny)(?:d|ied)?\s*(?:[:,.!]\s*([\s\S]*?))?\s*$/i

/** What an answer says if calls wait for approval. */
export function approvalWords(approvals: readonly ApprovalRequestEvent[]): string {
  if (approvals.length === 0) return ''
  const calls = approvals.map(({ name, input, reason, budget }) => {
    if (budget) return budgetQuestion(budget, input)
    const why = reason === undefined ? '' : ` (${reason})`
    return `\`${name}\` with ${JSON.stringify(input)}${why}`
  })
  const text = calls.join('; ')
  return `${asks} ${text}${text.endsWith('?') ? '' : '.'} ${replies}`
}

/** The text of a client's message without the words that asked for approval. */
export function withoutApprovalWords(text: string): string {
  return text.replace(words, '')
}

/**
 * The decision in a reply. Only a reply of one word counts, optionally followed by a reason, so that
 * nothing is approved by accident.
 */
export function decisionIn(
  message: UserMessage,
): { readonly approved: boolean; readonly reason?: string } | undefined {
  const [, verb, reason] = decision.exec(textOf(message)) ?? []
  if (verb === undefined) return undefined
  const approved = verb.toLowerCase() === 'approve'
  if (approved && reason) return undefined
  return { approved, ...(reason && { reason }) }
}

/** Whether a message decides what the answer before it has asked for. It is not an input then. */
export function isDecision(messages: readonly Message[], index: number): boolean {
  const message = messages[index]
  // Results may come with the reply.
  const before = messages.slice(0, index).findLast(({ role }) => role !== 'tool')
  return (
    message?.role === 'user' &&
    before?.role === 'assistant' &&
    textOf(before).trimEnd().endsWith(replies) &&
    decisionIn(message) !== undefined
  )
}
