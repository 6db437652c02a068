import type { Writable } from 'node:stream'
import { systemClock } from '../protocol/index.ts'

// What every channel to a Node stream needs, be it a `net.Socket` or a `ServerResponse`: to send in one piece what is ready
// together, and to wait for a reader that is behind.

let atEnd: (() => void)[] = []

/** Calls back when everything that is ready now has had its turn. One timer for all, since there may be thousands. */
export function atTurnEnd(callback: () => void): void {
  if (atEnd.push(callback) > 1) return
  setImmediate(() => {
    const callbacks = atEnd
    atEnd = []
    for (const callback of callbacks) callback()
  })
}

/** So often it is looked, within `stuckMs`, whether any of it has left. */
const looks = 4

export type Room = 'room' | 'gone' | 'stuck'

/**
 * Waits until a stream that is full has sent what it holds. `gone` if it closes first, or nobody waits any more, `stuck` if it takes longer than
 * `stuckMs`. Never rejects.
 */
export function roomIn(stream: Writable, stuckMs: number, signal?: AbortSignal): Promise<Room> {
  if (stream.destroyed || signal?.aborted) return Promise.resolve('gone')
  if (!stream.writableNeedDrain) return Promise.resolve('room')
  return new Promise((resolve) => {
    const settle = (room: Room) => {
      cancel()
      stream.off('drain', drained)
      stream.off('close', closed)
      signal?.removeEventListener('abort', closed)
      resolve(room)
    }
    const drained = () => settle('room')
    const closed = () => settle('gone')
    let left = unsent(stream)
    let quiet = 0
    const look = () => {
      const before = left
      left = unsent(stream)
      quiet = left === before ? quiet + 1 : 0
      if (quiet >= looks) settle('stuck')
      else cancel = systemClock.after(stuckMs / looks, look)
    }
    let cancel = systemClock.after(stuckMs / looks, look)
    stream.on('drain', drained)
    stream.on('close', closed)
    signal?.addEventListener('abort', closed)
  })
}

/**
 * What the kernel has not taken yet. One large piece goes bit by bit, which shows nowhere else: without this a client that reads
 * steadily but slowly would be dropped over the same entry again and again.
 */
function unsent(stream: Writable & { readonly socket?: unknown }): number {
  const { _handle } = (stream.socket ?? stream) as { _handle?: { readonly writeQueueSize?: number } | null }
  return _handle?.writeQueueSize ?? 0
}
