import { sizeOf } from '../../agent/index.ts'
import type { MessageRequest } from './message-request.ts'

const charsPerToken = 4

/**
 * About how many tokens a request has. An estimate from its characters: which model reads it, and
 * what the agent adds, is not known here.
 */
export function estimateTokens({ messages, request }: MessageRequest): number {
  const { system = '', tools = [], output } = request
  const extra = [...tools, ...(output ? [output] : [])]
  const chars =
    messages.reduce((sum, message) => sum + sizeOf(message), system.length) +
    extra.reduce((sum, value) => sum + JSON.stringify(value).length, 0)
  return Math.max(1, Math.ceil(chars / charsPerToken))
}
