import { idOf } from './items.ts'

export type Fields = Record<string, unknown>

/** An item of the output while it is being written. */
export interface Item {
  readonly type: string
  /** As it was added, and as it was done. */
  readonly start: Fields
  whole?: Fields
  /** Text or arguments that have been told. */
  written: string
  /** The parts of a message of which something was told. */
  readonly spoken: Set<unknown>
  /** The part of the reasoning that is being told. */
  part: string | undefined
  /** The id under which a call was emitted, ours or the provider's. */
  callId: string | undefined
  /** Some of its arguments came under the id of another item. */
  mixed: boolean
  closed: boolean
  /** A call with no arguments at all, as it was told: either it takes none, or it was cut off. The end tells. */
  empty: Fields | undefined
}

export function beginItem(start: Fields): Item {
  return {
    type: String(start.type),
    start,
    written: '',
    spoken: new Set(),
    part: undefined,
    callId: undefined,
    mixed: false,
    closed: false,
    empty: undefined,
  }
}

export function indexOf({ output_index: index }: Fields): number {
  return typeof index === 'number' ? index : 0
}

/** The same `output_item.added` once more. */
export function isStutter({ closed, written, start, callId }: Item, again: Fields): boolean {
  if (closed) return callId !== undefined && callId !== '' && idOf(again) === callId
  return written === '' && JSON.stringify(start) === JSON.stringify(again)
}

/** The event names another item. Some servers send no ids. */
export function isForeign({ item_id: id }: Fields, { start }: Item): boolean {
  return id !== undefined && start.id !== undefined && id !== start.id
}

/** An item whose start is worth showing: a search, a sandbox, an MCP server. */
export function isTool({ type }: Fields): boolean {
  return /_call(_output)?$|^mcp_/.test(String(type))
}
