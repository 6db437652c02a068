import type { Entry, PublicError } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import { encoder } from './once-per-entry.ts'
import type { Frame, Frames } from './protocol.ts'

/** The log of a thread on its way to one client. The side that writes it calls `end` when it is over. */
export interface ThreadStream {
  readonly entries: AsyncIterator<Entry, undefined>
  readonly frames: Frames
  /** Aborted, with an error that says why, when it must end before its entries do. */
  readonly signal: AbortSignal
  /** Whether the end of the entries is that of the stream, and not of the thread. */
  readonly ends: boolean
  readonly heartbeatMs: number
  /** A client that reads nothing for so long is disconnected. */
  readonly stuckMs: number
  /** May be called twice. */
  end(): void
  publicError(thrown: unknown): PublicError
}

const streams = new WeakMap<ReadableStream, ThreadStream>()

/** What a body is made of, for a host that can write it without a web stream between. */
export function threadStreamOf(body: ReadableStream | null): ThreadStream | undefined {
  return body ? streams.get(body) : undefined
}

/** The stream as the body of a response. Takes the next entry when the reader wants more; one that cancels ends it. */
export function streamBody(stream: ThreadStream): ReadableStream<Uint8Array> {
  const { frames, entries } = stream
  let endBeats: (() => void) | undefined
  const end = () => {
    endBeats?.()
    stream.end()
  }
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const give = (frame: Frame | undefined) => {
          if (frame) controller.enqueue(bytesOf(frame))
          return Boolean(frame)
        }
        if (!endBeats) {
          // None is added to what has not been read yet.
          endBeats = heartbeats(stream, (beat) => controller.desiredSize === 0 && give(beat))
          if (give(frames.open?.())) return
        }
        try {
          while (!frames.isOver?.()) {
            const { done, value } = await entries.next()
            if (done) break
            if (give(frames.entry(value))) return
          }
          give(lastFrame(stream))
        } catch (error) {
          give(brokenFrame(stream, error))
        }
        end()
        controller.close()
      },
      cancel: end,
    },
    // Nothing is taken before the body is read.
    { highWaterMark: 0 },
  )
  streams.set(body, stream)
  return body
}

export function bytesOf(frame: Frame): Uint8Array {
  return typeof frame === 'string' ? encoder.encode(frame) : frame
}

/** What is said when the entries are over. */
export function lastFrame({ frames, signal, ends, publicError }: ThreadStream): Frame | undefined {
  if (frames.isOver?.()) return frames.end?.()
  if (signal.aborted) return frames.fail?.(publicError(signal.reason))
  return ends ? frames.end?.() : undefined
}

/** What is said when they break off. The owner is told in any case. */
export function brokenFrame({ frames, publicError }: ThreadStream, thrown: unknown): Frame | undefined {
  const error = publicError(thrown)
  return frames.fail?.(error)
}

/** Calls back with the heartbeat again and again. Gives a function that ends it. */
export function heartbeats({ frames, heartbeatMs }: ThreadStream, beat: (frame: Frame) => void): () => void {
  const { heartbeat } = frames
  return heartbeat === undefined ? () => {} : every(heartbeatMs, () => beat(heartbeat))
}

/** Calls back again and again, for ever if need be. Gives a function that ends it. */
export function every(ms: number, callback: () => void): () => void {
  const tick = () => {
    cancel = systemClock.after(ms, tick)
    callback()
  }
  let cancel = systemClock.after(ms, tick)
  return () => cancel()
}
