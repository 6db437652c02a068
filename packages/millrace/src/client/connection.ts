import type { Entry } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'

export interface ConnectOptions {
  /** The number of the last entry that the caller has. */
  readonly after: number
  readonly signal: AbortSignal
  /** Called with the delay that the server asks clients to wait before they reconnect. */
  readonly onRetryHint: (ms: number) => void
}

/**
 * One connection to the entries of a thread. Yields an empty batch when it is open, then entries as
 * they arrive, then `end` when the server has sent everything that was requested. Finishes without
 * `end` if it was closed because its reader was too slow: the next connection may then be opened at
 * once. Throws a `MillraceError` if the connection fails or is rejected.
 */
export type Connection = AsyncGenerator<readonly Entry[] | 'end', void>

export type Connect = (options: ConnectOptions) => Connection

/** The entry in a server-sent event or WebSocket frame; undefined if it has none. */
export function entryIn(frame: unknown): Entry | undefined {
  if (!isObject(frame)) return undefined
  const { seq, from, at, event } = frame
  const isEntry =
    isNumber(seq) &&
    (from === undefined || isNumber(from)) &&
    typeof at === 'number' &&
    isObject(event) &&
    typeof event.type === 'string'
  // A WebSocket frame has more fields.
  return isEntry ? ({ seq, ...(from !== undefined && { from }), at, event } as unknown as Entry) : undefined
}

function isNumber(value: unknown): boolean {
  return Number.isInteger(value)
}
