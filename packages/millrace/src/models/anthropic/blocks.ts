import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { isObject, parseArguments } from '../../protocol/index.ts'
import { field } from '../wire/field.ts'

export type Fields = Record<string, unknown>

/** A content block that is being streamed, of a known or unknown type. */
export interface Block {
  readonly type: string
  /** The start event's block. For unknown types, its deltas are merged in. */
  start: Fields
  /** The text, thinking or input JSON so far. A string grown by `+=` would keep a node for each piece. */
  readonly pieces: string[]
  signature: string
  readonly citations: JsonValue[]
  closed: boolean
}

/** The same start again, before any delta. */
export function isDuplicateStart({ closed, pieces, start }: Block, again: Fields): boolean {
  return !closed && pieces.length === 0 && JSON.stringify(start) === JSON.stringify(again)
}

/** Not text, thinking, a tool call or a tool result. */
export function isUnknown(type: string): boolean {
  return !/^(text|thinking|redacted_thinking)$|tool_use$|_tool_result$/.test(type)
}

/** Adds an unknown delta to its block: strings are appended, other values are replaced. */
export function withDelta(start: Fields, { type: _, ...more }: Fields): Fields {
  const entries = Object.entries(more).map(([key, value]) => {
    const before = start[key]
    return [key, typeof before === 'string' && typeof value === 'string' ? before + value : value]
  })
  return { ...start, ...Object.fromEntries(entries) }
}

/** `server_tool_use`, `mcp_tool_use`: the provider runs the tool. */
export function isServerTool(type: string): boolean {
  return type !== 'tool_use' && type.endsWith('_tool_use')
}

/** Results of server tools report an error in one of two ways. */
export function isFailed({ is_error: failed, content }: Fields): boolean {
  return failed === true || (isObject(content) && String(content.type).endsWith('_error'))
}

/** Blank text is rejected when it is sent back. */
export function isSendable({ type, pieces, closed }: Block): boolean {
  return closed && !(type === 'text' && pieces.join('').trim() === '')
}

/** A block as it must be sent back. */
export function finishedBlock(block: Block): JsonObject {
  const { type, start, signature, citations } = block
  const written = block.pieces.join('')
  const opened = start as JsonObject
  if (type === 'text') return { type, text: written, ...(citations.length > 0 && { citations }) }
  if (type === 'thinking') return { type, thinking: written, signature }
  return type.endsWith('tool_use') ? { ...opened, input: parseArguments(rawOf(block)).input } : opened
}

/** The input JSON from the deltas, or from the start of the block. */
export function rawOf({ pieces, start }: Block): string {
  if (pieces.length > 0) return pieces.join('')
  return isObject(start.input) && Object.keys(start.input).length > 0 ? JSON.stringify(start.input) : ''
}

export function indexOf(event: Fields): number {
  const index = field(event, 'index')
  return typeof index === 'number' ? index : 0
}

export function idOf({ id }: Fields): string {
  return typeof id === 'string' ? id : ''
}

export function nameOf({ name }: Fields): string {
  return typeof name === 'string' ? name : ''
}
