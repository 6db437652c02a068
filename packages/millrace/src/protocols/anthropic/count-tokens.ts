import { estimateRequest } from '../../agent/index.ts'
import type { MessageRequest } from './message-request.ts'

/**
 * About how many tokens a request has. An estimate from its characters: which model reads it, and
 * what the agent adds, is not known here.
 */
export function estimateTokens({ messages, request }: MessageRequest): number {
  const { system, tools = [], output } = request
  return estimateRequest({
    messages: system ? [{ role: 'system', content: system }, ...messages] : messages,
    tools,
    ...(output && { output }),
    settings: {},
  })
}
