import type { InputImagePart } from './check.ts'
import type { ToolResultPart } from './messages.ts'

const brand = Symbol.for('millrace.content')

/** A tool result of several parts, created by `toolContent`. */
export interface ToolContent {
  readonly [brand]: readonly unknown[]
}

/** A part as in the protocol, but images may be bytes instead of base64. */
type InputPart = Exclude<ToolResultPart, { type: 'image' }> | InputImagePart

/**
 * Lets a tool return images or several parts: `return toolContent([{ type: 'image', data,
 * mediaType: 'image/png' }])`.
 */
export function toolContent(parts: readonly InputPart[]): ToolContent {
  return { [brand]: parts }
}

/** The parts of a result that `toolContent` created, not checked; undefined for any other value. */
export function contentParts(value: unknown): readonly unknown[] | undefined {
  return typeof value === 'object' && value !== null && brand in value
    ? (value as ToolContent)[brand]
    : undefined
}
