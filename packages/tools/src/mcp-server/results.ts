import type { CallToolResult } from '@modelcontextprotocol/server'
import type { ApprovalRequestEvent, JsonObject } from 'millrace'
import type { RunSummary } from 'millrace/view'

export const outputSchema = {
  type: 'object',
  properties: {
    thread: { type: 'string', description: 'The conversation: call again with it to go on.' },
    outcome: {
      type: 'string',
      enum: ['completed', 'max-rounds', 'truncated', 'suspended', 'cancelled', 'failed'],
      description: 'suspended: a person has to decide before it goes on.',
    },
    text: { type: 'string', description: 'The answer, or as much as there is of it.' },
    usage: { type: 'object', description: 'Tokens.', additionalProperties: { type: 'number' } },
  },
  required: ['thread', 'outcome', 'text', 'usage'],
} as const satisfies JsonObject

export interface Asked {
  readonly agent: string
  readonly thread: string
}

/** What a call comes to whose run is over. */
export function answerResult(asked: Asked, answered: RunSummary): CallToolResult {
  const { outcome, text } = answered
  if (outcome === 'completed') return result(asked, answered, text || 'The agent ended without words.')
  const soFar = text && ` It got as far as: ${text}`
  return { ...result(asked, answered, `${failureOf(asked.agent, answered)}${soFar}`), isError: true }
}

/** What it comes to if somebody has to decide first. The caller's model must not: so it is given no way to. */
export function waitingResult(
  asked: Asked,
  answered: RunSummary,
  approvals: readonly ApprovalRequestEvent[],
): CallToolResult {
  const calls = approvals.map((request) => `- ${callInWords(request)}`).join('\n')
  const text = `The agent '${asked.agent}' has no answer yet: it waits for a person to decide about\n${calls}\nOnly a person can, where the agent is served: on its page or its command line. Ask your user to do so; then call this tool again with thread '${asked.thread}' and without a prompt to get the answer.`
  return result(asked, answered, text)
}

/** What it comes to if this server ends first. The run does not: the next process goes on with it. */
export function goingAwayResult({ thread }: Asked): CallToolResult {
  return errorResult(
    `The server is going away before the answer is there. Call again later with thread '${thread}' and without a prompt to get it.`,
  )
}

export function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** What is to be run and why that is asked about, for a person or a model. */
export function callInWords({ name, input, reason }: ApprovalRequestEvent): string {
  const text = JSON.stringify(input)
  const shown = text.length > mostInput ? `${text.slice(0, mostInput)}…` : text
  return `${name} ${shown}${reason ? ` (${reason})` : ''}`
}

const mostInput = 2000

function result({ thread }: Asked, { outcome, text, usage }: RunSummary, words: string): CallToolResult {
  return {
    content: [
      { type: 'text', text: words },
      // Many a client shows its model nothing but the content.
      {
        type: 'text',
        text: `To go on with this conversation, call again with thread '${thread}'.`,
        annotations: { audience: ['assistant'] },
      },
    ],
    structuredContent: { thread, outcome, text, usage },
  }
}

function failureOf(agent: string, { outcome, error }: RunSummary): string {
  switch (outcome) {
    case 'max-rounds':
      return `The agent '${agent}' used up its rounds before it had an answer.`
    case 'truncated':
      return `The answer of the agent '${agent}' was cut off: it is longer than its model may write.`
    case 'cancelled':
      return `The agent '${agent}' was stopped before it had an answer${because(error?.message)}`
    default:
      return `The agent '${agent}' failed${because(error?.message)}`
  }
}

function because(message: string | undefined): string {
  return message ? `: ${message.replace(/\.$/, '')}.` : '.'
}
