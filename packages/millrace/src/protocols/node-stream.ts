import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { systemClock } from '../protocol/index.ts'
import type { ThreadStream } from './thread-stream.ts'
import { brokenFrame, bytesOf, heartbeats, lastFrame } from './thread-stream.ts'

// How streams are written on Node, to a `net.Socket` or a `ServerResponse`: what is ready together goes out in one piece, and a
// client that is behind is waited for.

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

/** So much is gathered in one turn before it is written. */
const enough = 64 * 1024

/**
 * Writes a thread to a response whose head is set. Takes the next entry only when there is room for it, so that a slow
 * client costs a buffer and no more. Resolves when the response has ended; never rejects.
 */
export async function writeThread(response: ServerResponse, stream: ThreadStream): Promise<void> {
  const { frames, entries, signal, stuckMs } = stream
  if (response.destroyed) return stream.end()
  let waiting: Uint8Array[] = []
  let size = 0
  const flush = () => {
    if (size === 0) return
    if (!response.destroyed) response.write(waiting.length === 1 ? waiting[0] : Buffer.concat(waiting, size))
    waiting = []
    size = 0
  }
  const endBeats = heartbeats(stream, (beat) => {
    if (!response.writableNeedDrain) response.write(beat)
  })
  response.once('close', stream.end)
  // It may be long before there is anything to say.
  response.flushHeaders()
  const opening = frames.open?.()
  if (opening) response.write(opening)
  try {
    while (!frames.isOver?.()) {
      const { done, value } = await entries.next()
      if (done) break
      const frame = frames.entry(value)
      if (!frame) continue
      if (size === 0) atTurnEnd(flush)
      const bytes = bytesOf(frame)
      waiting.push(bytes)
      size += bytes.length
      if (size >= enough) flush()
      if (response.writableNeedDrain && (await roomIn(response, stuckMs, signal)) !== 'room')
        return void response.destroy()
    }
    flush()
    const last = lastFrame(stream)
    if (last) response.write(last)
  } catch (error) {
    flush()
    const last = brokenFrame(stream, error)
    if (last) response.write(last)
  } finally {
    endBeats()
    stream.end()
    flush()
    response.end()
  }
}

/**
 * Writes a web stream to a response of Node, at the client's pace. A client that goes cancels the stream; one that takes
 * nothing for `stuckMs` is dropped. Resolves when the response has ended; never rejects.
 */
export async function writeBody(
  response: ServerResponse,
  stream: ReadableStream<Uint8Array>,
  { stuckMs }: { readonly stuckMs: number },
): Promise<void> {
  const reader = stream.getReader()
  const leave = () => void reader.cancel().catch(() => {})
  if (response.destroyed) return leave()
  response.once('close', leave)
  // It may be long before there is anything to say.
  response.flushHeaders()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      response.write(value)
      if (response.writableNeedDrain && (await roomIn(response, stuckMs)) !== 'room') break
    }
  } catch {
    // One that breaks off must not look as if it had ended.
    response.destroy()
  }
  if (response.writableNeedDrain) response.destroy()
  else response.end()
}
