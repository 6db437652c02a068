import type { Entry } from '../protocol/index.ts'
import { isObject } from '../protocol/index.ts'

export interface Place {
  /** The number of the last entry that the caller has. */
  readonly after: number
  readonly signal: AbortSignal
  /** Told how long the server wants clients to wait before they come back. */
  readonly onRetryWish: (ms: number) => void
}

/**
 * One connection to the entries of a thread. First an empty batch, when it is open; then entries, as they arrive; `end` when
 * the server has told all that was asked for. It is over without an `end` if it had to let go of a server that was faster than
 * its reader: then the next connection may be opened at once. Throws a `MillraceError` when it breaks or is refused.
 */
export type Connection = AsyncGenerator<readonly Entry[] | 'end', void>

export type Connect = (place: Place) => Connection

/** The entry in a frame of a stream or a socket; undefined if it holds none. */
export function entryIn(frame: unknown): Entry | undefined {
  if (!isObject(frame)) return undefined
  const { seq, from, at, event } = frame
  const isEntry =
    isNumber(seq) &&
    (from === undefined || isNumber(from)) &&
    typeof at === 'number' &&
    isObject(event) &&
    typeof event.type === 'string'
  // A frame of a socket has more fields than that.
  return isEntry ? ({ seq, ...(from !== undefined && { from }), at, event } as unknown as Entry) : undefined
}

function isNumber(value: unknown): boolean {
  return Number.isInteger(value)
}
