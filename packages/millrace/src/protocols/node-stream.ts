import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { Entry } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import type { ThreadStream } from './thread-stream.ts'
import { bytesOf, failureFrame, framesOf, lastFrame, startHeartbeats } from './thread-stream.ts'

// Writes streams on Node, to a `net.Socket` or a `ServerResponse`. Data that is ready at the same
// time is sent in one piece, and writing waits for slow clients.

let atEnd: (() => void)[] = []

/**
 * Calls `callback` at the end of this turn of the event loop. One immediate serves all: there may
 * be thousands.
 */
export function atTurnEnd(callback: () => void): void {
  if (atEnd.push(callback) > 1) return
  setImmediate(() => {
    const callbacks = atEnd
    atEnd = []
    for (const callback of callbacks) callback()
  })
}

/** How many times within `stuckMs` to check whether any data was sent. */
const checksPerTimeout = 4

export type DrainResult = 'drained' | 'closed' | 'stuck'

/**
 * Waits until a full stream has drained. `closed` if the stream closes or the signal is aborted
 * first, `stuck` if no data was sent for `stuckMs`. Never rejects.
 */
export function waitForDrain(stream: Writable, stuckMs: number, signal?: AbortSignal): Promise<DrainResult> {
  if (stream.destroyed || signal?.aborted) return Promise.resolve('closed')
  if (!stream.writableNeedDrain) return Promise.resolve('drained')
  return new Promise((resolve) => {
    const settle = (result: DrainResult) => {
      cancel()
      stream.off('drain', drained)
      stream.off('close', closed)
      signal?.removeEventListener('abort', closed)
      resolve(result)
    }
    const drained = () => settle('drained')
    const closed = () => settle('closed')
    let left = unsent(stream)
    let quiet = 0
    const check = () => {
      const before = left
      left = unsent(stream)
      quiet = left === before ? quiet + 1 : 0
      if (quiet >= checksPerTimeout) settle('stuck')
      else cancel = systemClock.after(stuckMs / checksPerTimeout, check)
    }
    let cancel = systemClock.after(stuckMs / checksPerTimeout, check)
    stream.on('drain', drained)
    stream.on('close', closed)
    signal?.addEventListener('abort', closed)
  })
}

/**
 * How many bytes the kernel has not taken yet. The progress of one large write shows nowhere else.
 * Without this check, a slow but steady client would be disconnected at the same entry again and
 * again.
 */
function unsent(stream: Writable & { readonly socket?: unknown }): number {
  const { _handle } = (stream.socket ?? stream) as { _handle?: { readonly writeQueueSize?: number } | null }
  return _handle?.writeQueueSize ?? 0
}

/** How many bytes are collected in one turn before they are written. */
const flushBytes = 64 * 1024

/**
 * Writes a thread to a response whose status and headers are set. Reads the next entry only when
 * there is room for it, so a slow client costs one buffer. A client that has everything gets new
 * entries in the moment of their delivery. Resolves when the response has ended; never rejects.
 */
export async function writeThread(response: ServerResponse, stream: ThreadStream): Promise<void> {
  const { frames, entries, signal, stuckMs } = stream
  if (response.destroyed) return stream.end()
  // The head goes out with what can be read at once, which may be nothing for a while.
  const { socket } = response
  socket?.cork()
  atTurnEnd(() => socket?.uncork())
  response.flushHeaders()
  // A body that is not chunked is bytes on the socket, and `response.write` costs as much as all else.
  // A pipelined response has no socket yet.
  const output: Writable = (!response.chunkedEncoding && socket) || response
  let waiting: Uint8Array[] = []
  let size = 0
  const flush = () => {
    if (size === 0) return
    if (!output.destroyed) output.write(waiting.length === 1 ? waiting[0] : Buffer.concat(waiting, size))
    waiting = []
    size = 0
  }
  const stopHeartbeats = startHeartbeats(stream, (beat) => {
    if (!output.writableNeedDrain) output.write(beat)
  })
  response.once('close', stream.end)
  const opening = frames.open?.()
  if (opening) output.write(opening)
  const onEntries = (arrived: readonly Entry[]) => {
    flush()
    const bytes = framesOf(frames, arrived)
    if (bytes && !output.destroyed) output.write(bytes)
    return !output.writableNeedDrain && !frames.isDone?.()
  }
  try {
    for (;;) {
      const listening = frames.isDone?.() ? undefined : entries.listen?.(onEntries)
      if (listening) await listening
      if (frames.isDone?.()) break
      if (output.writableNeedDrain && (await waitForDrain(output, stuckMs, signal)) !== 'drained')
        return void response.destroy()
      const { done, value } = await entries.next()
      if (done) break
      const frame = frames.entry(value)
      if (!frame) continue
      if (size === 0) atTurnEnd(flush)
      const bytes = bytesOf(frame)
      waiting.push(bytes)
      size += bytes.length
      if (size >= flushBytes) flush()
    }
    flush()
    const last = lastFrame(stream)
    if (last) output.write(last)
  } catch (error) {
    flush()
    const last = failureFrame(stream, error)
    if (last) output.write(last)
  } finally {
    stopHeartbeats()
    stream.end()
    flush()
    response.end()
  }
}

/**
 * Writes a web stream to a Node response, at the client's pace. The stream is canceled if the
 * client disconnects; a client that reads nothing for `stuckMs` is disconnected. Resolves when the
 * response has ended; never rejects.
 */
export async function writeBody(
  response: ServerResponse,
  stream: ReadableStream<Uint8Array>,
  { stuckMs }: { readonly stuckMs: number },
): Promise<void> {
  const reader = stream.getReader()
  const cancel = () => void reader.cancel().catch(() => {})
  if (response.destroyed) return cancel()
  response.once('close', cancel)
  // The first data may take a while.
  response.flushHeaders()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      response.write(value)
      if (response.writableNeedDrain && (await waitForDrain(response, stuckMs)) !== 'drained') break
    }
  } catch {
    // A failed stream must not look like a complete one.
    response.destroy()
  }
  if (response.writableNeedDrain) response.destroy()
  else response.end()
}
