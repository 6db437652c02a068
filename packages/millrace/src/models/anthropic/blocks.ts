import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { isObject, parseArguments } from '../../protocol/index.ts'

export type Fields = Record<string, unknown>

/** A content block while it is being written, of a known type or not. */
export interface Block {
  readonly type: string
  /** As it was opened. In a block of unknown type, with what its deltas added since. */
  start: Fields
  /** Text, thinking, or the JSON of an input. */
  written: string
  signature: string
  readonly citations: JsonValue[]
  closed: boolean
}

/** The same start once more, before anything was added to the block. */
export function isStutter({ closed, written, start }: Block, again: Fields): boolean {
  return !closed && written === '' && JSON.stringify(start) === JSON.stringify(again)
}

/** Not text, thinking, a tool call or a tool result. */
export function isUnknown(type: string): boolean {
  return !/^(text|thinking|redacted_thinking)$|tool_use$|_tool_result$/.test(type)
}

/** Adds an unknown delta to its block: text is appended, any other value replaces the one before. */
export function withDelta(start: Fields, { type: _, ...more }: Fields): Fields {
  const entries = Object.entries(more).map(([key, value]) => {
    const before = start[key]
    return [key, typeof before === 'string' && typeof value === 'string' ? before + value : value]
  })
  return { ...start, ...Object.fromEntries(entries) }
}

/** `server_tool_use`, `mcp_tool_use`: the provider runs it. */
export function isServerTool(type: string): boolean {
  return type !== 'tool_use' && type.endsWith('_tool_use')
}

/** The result of a server's tool says it in one of two ways. */
export function isFailed({ is_error: failed, content }: Fields): boolean {
  return failed === true || (isObject(content) && String(content.type).endsWith('_error'))
}

/** Text without a word in it is refused when it comes back. */
export function isWorthSending({ type, written, closed }: Block): boolean {
  return closed && !(type === 'text' && written.trim() === '')
}

/** A block as it must come back. */
export function whole(block: Block): JsonObject {
  const { type, start, written, signature, citations } = block
  const begun = start as JsonObject
  if (type === 'text') return { type, text: written, ...(citations.length > 0 && { citations }) }
  if (type === 'thinking') return { type, thinking: written, signature }
  return type.endsWith('tool_use') ? { ...begun, input: parseArguments(rawOf(block)).input } : begun
}

/** What was written of an input, or what stood in the start of its block already. */
export function rawOf({ written, start }: Block): string {
  if (written !== '') return written
  return isObject(start.input) && Object.keys(start.input).length > 0 ? JSON.stringify(start.input) : ''
}

export function indexOf({ index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

export function idOf({ id }: Fields): string {
  return typeof id === 'string' ? id : ''
}

export function nameOf({ name }: Fields): string {
  return typeof name === 'string' ? name : ''
}
