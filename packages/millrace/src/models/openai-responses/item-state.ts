import { field } from '../wire/field.ts'
import { idOf } from './items.ts'

export type Fields = Record<string, unknown>

/** An output item that is being streamed. */
export interface Item {
  readonly type: string
  /** From `output_item.added`; `whole` is from `output_item.done`. */
  readonly start: Fields
  whole?: Fields
  /** The text or arguments so far. A string grown by `+=` would keep a node for each piece. */
  readonly pieces: string[]
  /** The parts of a message that have emitted text. */
  readonly emittedParts: Set<unknown>
  /** The current part of the reasoning. */
  reasoningPart: string | undefined
  /** The id under which a call was emitted, ours or the provider's. */
  callId: string | undefined
  /** Some of its arguments came with another item's id. */
  mixed: boolean
  closed: boolean
  /**
   * A finished call without arguments: it either takes none or was cut off. The end of the response
   * shows which.
   */
  empty: Fields | undefined
}

export function newItem(start: Fields): Item {
  return {
    type: String(start.type),
    start,
    pieces: [],
    emittedParts: new Set(),
    reasoningPart: undefined,
    callId: undefined,
    mixed: false,
    closed: false,
    empty: undefined,
  }
}

export function writtenIn({ pieces }: Item): string {
  return pieces.join('')
}

export function indexOf(event: Fields): number {
  const index = field(event, 'output_index')
  return typeof index === 'number' ? index : 0
}

/** The same `output_item.added` again. */
export function isDuplicateStart({ closed, pieces, start, callId }: Item, again: Fields): boolean {
  if (closed) return callId !== undefined && callId !== '' && idOf(again) === callId
  return pieces.length === 0 && JSON.stringify(start) === JSON.stringify(again)
}

/** The event names another item. Some servers send no ids. */
export function isForeign(event: Fields, { start }: Item): boolean {
  const id = field(event, 'item_id')
  return id !== undefined && start.id !== undefined && id !== start.id
}

/** An item whose start is worth showing: a search, a sandbox, an MCP server. */
export function isTool({ type }: Fields): boolean {
  return /_call(_output)?$|^mcp_/.test(String(type))
}
