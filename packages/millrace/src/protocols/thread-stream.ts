import type { Entry, PublicError } from '../protocol/index.ts'
import type { Following } from '../threads/index.ts'
import { beatEvery } from './heartbeats.ts'
import { concat, encoder } from './once-per-entry.ts'
import type { Frame, Frames } from './protocol.ts'

/** The log of a thread as it is sent to one client. The writer calls `end` when it is done. */
export interface ThreadStream {
  readonly entries: AsyncIterator<Entry, undefined> & Partial<Pick<Following, 'listen'>>
  readonly frames: Frames
  /** Aborted when the stream must end early. The reason is an error. */
  readonly signal: AbortSignal
  /** Whether the stream is expected to end, because it follows the thread `until` a point. */
  readonly ends: boolean
  readonly heartbeatMs: number
  /** A client that reads nothing for this long is disconnected. */
  readonly stuckMs: number
  /** May be called twice. */
  end(): void
  publicError(thrown: unknown): PublicError
}

const streams = new WeakMap<ReadableStream, ThreadStream>()

/**
 * The thread stream behind a body, for a host that can write it without a web stream in between.
 */
export function threadStreamOf(body: ReadableStream | null): ThreadStream | undefined {
  return body ? streams.get(body) : undefined
}

/**
 * The stream as a response body. Reads the next entry when the reader wants more. Canceling ends
 * it.
 */
export function streamBody(stream: ThreadStream): ReadableStream<Uint8Array> {
  const { frames, entries } = stream
  let stopHeartbeats: (() => void) | undefined
  let isCanceled = false
  const end = () => {
    stopHeartbeats?.()
    stream.end()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const enqueue = (frame: Frame | undefined) => {
          if (frame && !isCanceled) controller.enqueue(bytesOf(frame))
          return Boolean(frame)
        }
        if (!stopHeartbeats) {
          // No heartbeat while there is unread data.
          stopHeartbeats = startHeartbeats(stream, (beat) => controller.desiredSize === 0 && enqueue(beat))
          if (enqueue(frames.open?.())) return
        }
        try {
          while (!frames.isDone?.()) {
            const { done, value } = await entries.next()
            if (done) break
            if (enqueue(frames.entry(value))) return
          }
          enqueue(lastFrame(stream))
        } catch (error) {
          enqueue(failureFrame(stream, error))
        }
        end()
        if (!isCanceled) controller.close()
      },
      cancel() {
        isCanceled = true
        end()
      },
    },
    // Nothing is read from the thread before the body is read.
    { highWaterMark: 0 },
  )
  streams.set(body, stream)
  return body
}

export function bytesOf(frame: Frame): Uint8Array {
  return typeof frame === 'string' ? encoder.encode(frame) : frame
}

/** The frames of entries that arrive together, up to the one that ends the response. */
export function framesOf(frames: Frames, entries: readonly Entry[]): Uint8Array | undefined {
  if (frames.entries) return frames.entries(entries)
  const pieces: Uint8Array[] = []
  for (const entry of entries) {
    const frame = frames.entry(entry)
    if (frame) pieces.push(bytesOf(frame))
    if (frames.isDone?.()) break
  }
  return pieces.length > 1 ? concat(pieces) : pieces[0]
}

/** The frame to send when there are no more entries. */
export function lastFrame({ frames, signal, ends, publicError }: ThreadStream): Frame | undefined {
  if (frames.isDone?.()) return frames.end?.()
  if (signal.aborted) return frames.fail?.(publicError(signal.reason))
  return ends ? frames.end?.() : undefined
}

/**
 * The frame to send when reading the entries fails. The error is reported to the owner in any case.
 */
export function failureFrame({ frames, publicError }: ThreadStream, thrown: unknown): Frame | undefined {
  const error = publicError(thrown)
  return frames.fail?.(error)
}

/** Calls `beat` with the heartbeat frame periodically. Returns a function that stops it. */
export function startHeartbeats(
  { frames, heartbeatMs }: ThreadStream,
  beat: (frame: Frame) => void,
): () => void {
  const { heartbeat } = frames
  return heartbeat === undefined ? () => {} : beatEvery(heartbeatMs, () => beat(heartbeat))
}
