import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ApprovalRequestEvent, JsonObject } from 'millrace'
import { budgetQuestion, limitText } from 'millrace/internal'
import type { RunSummary } from 'millrace/view'

export const outputSchema = {
  type: 'object',
  properties: {
    thread: { type: 'string', description: 'The conversation id: pass it to continue.' },
    outcome: {
      type: 'string',
      enum: ['completed', 'max-rounds', 'budget', 'truncated', 'suspended', 'canceled', 'failed'],
      description: 'suspended: a person has to approve something before it continues.',
    },
    text: { type: 'string', description: 'The answer so far.' },
    usage: { type: 'object', description: 'Tokens.', additionalProperties: { type: 'number' } },
  },
  required: ['thread', 'outcome', 'text', 'usage'],
} as const satisfies JsonObject

export interface ConversationRef {
  readonly agent: string
  readonly thread: string
}

/** The result of a call whose run has ended. */
export function answerResult(conversation: ConversationRef, summary: RunSummary): CallToolResult {
  const { outcome, text } = summary
  if (outcome === 'completed')
    return result(conversation, summary, text || 'The agent ended without an answer.')
  const soFar = text && ` The answer so far: ${text}`
  return {
    ...result(conversation, summary, `${failureOf(conversation.agent, summary)}${soFar}`),
    isError: true,
  }
}

/**
 * The result if a person has to decide first. The client's model must not decide, so it gets no way
 * to do so.
 */
export function waitingResult(
  conversation: ConversationRef,
  summary: RunSummary,
  approvals: readonly ApprovalRequestEvent[],
): CallToolResult {
  const calls = approvals.map((request) => `- ${describeCall(request)}`).join('\n')
  const text = `The agent '${conversation.agent}' has no answer yet. A person has to approve:\n${calls}\nOnly a person can do this, on the page or command line of the agent's server. Ask your user to do so, then call this tool again with thread '${conversation.thread}' and without a prompt to get the answer.`
  return result(conversation, summary, text)
}

/** The result if this server shuts down first. The run continues in the next process. */
export function shuttingDownResult({ thread }: ConversationRef): CallToolResult {
  return errorResult(
    `The server is shutting down before the answer is complete. Call again later with thread '${thread}' and without a prompt to get it.`,
  )
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Describes what needs approval, and why, for a person or a model. */
export function describeCall({ name, input, reason, budget }: ApprovalRequestEvent): string {
  if (budget) return budgetQuestion(budget, input)
  const text = JSON.stringify(input)
  const shown = text.length > maxInputChars ? `${text.slice(0, maxInputChars)}…` : text
  return `${name} ${shown}${reason ? ` (${reason})` : ''}`
}

const maxInputChars = 2000

function result(
  { thread }: ConversationRef,
  { outcome, text, usage }: RunSummary,
  words: string,
): CallToolResult {
  return {
    content: [
      { type: 'text', text: words },
      // Many clients show their model only the content.
      {
        type: 'text',
        text: `To continue this conversation, call again with thread '${thread}'.`,
        annotations: { audience: ['assistant'] },
      },
    ],
    structuredContent: { thread, outcome, text, usage },
  }
}

function failureOf(agent: string, { outcome, error, limit }: RunSummary): string {
  switch (outcome) {
    case 'max-rounds':
      return `The agent '${agent}' used all its rounds before it had an answer.`
    case 'budget':
      return `The agent '${agent}' stopped before it had an answer. ${limit ? limitText(limit) : 'A budget is spent.'}`
    case 'truncated':
      return `The answer of the agent '${agent}' was cut off at the model's output limit.`
    case 'canceled':
      return `The agent '${agent}' was stopped before it had an answer${because(error?.message)}`
    default:
      return `The agent '${agent}' failed${because(error?.message)}`
  }
}

function because(message: string | undefined): string {
  return message ? `: ${message.replace(/\.$/, '')}.` : '.'
}

export const textOf = ({ content: [first] }: CallToolResult) => (first?.type === 'text' ? first.text : '')
