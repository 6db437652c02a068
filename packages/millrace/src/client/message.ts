import type { InputUserMessage } from '../protocol/index.ts'
import { invalidInput, isObject, kindOf } from '../protocol/index.ts'
import { base64 } from './base64.ts'

/** A message that can be sent as JSON: bytes become base64. The server checks the rest. */
export function messageJson(message: string | InputUserMessage, op: string): unknown {
  if (typeof message === 'string') return message
  if (!isObject(message) || message.role !== 'user')
    throw invalidInput(op, `a message must be text or { role: 'user', content }, not ${kindOf(message)}`)
  const { content } = message
  if (!Array.isArray(content)) return message
  const parts = content.map((part: { data?: unknown }) =>
    part?.data instanceof Uint8Array ? { ...part, data: base64(part.data) } : part,
  )
  return { ...message, content: parts }
}
