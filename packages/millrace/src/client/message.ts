import type { InputMessage, InputUserMessage } from '../protocol/index.ts'
import { contentParts, invalidInput, isObject, kindOf } from '../protocol/index.ts'
import { base64 } from './base64.ts'

/** A message that can be sent as JSON. The server checks the rest. */
export function userMessageJson(message: string | InputUserMessage, op: string): unknown {
  if (typeof message === 'string') return message
  if (!isObject(message) || message.role !== 'user')
    throw invalidInput(op, `a message must be text or { role: 'user', content }, not ${kindOf(message)}`)
  return messageJson(message)
}

export function messageJson(message: InputMessage): unknown {
  const content: unknown = message?.content
  return Array.isArray(content) ? { ...message, content: partsJson(content) } : message
}

/** Bytes become base64. */
function partsJson(parts: readonly unknown[]): unknown[] {
  return parts.map((part) =>
    isObject(part) && part.data instanceof Uint8Array ? { ...part, data: base64(part.data) } : part,
  )
}

/** The body for the result of a call. */
export function resultJson(output: unknown): object {
  const content = contentParts(output)
  // A tool may return nothing, but JSON has no `undefined`.
  return content ? { content: partsJson(content) } : { output: output === undefined ? '' : output }
}
