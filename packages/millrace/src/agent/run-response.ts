import type { LogReader, MemoryLog } from '../log/index.ts'
import type { OptionTable, RunEvent } from '../protocol/index.ts'
import {
  anything,
  checkOptions,
  duration,
  endFrame,
  entryFrame,
  eventStreamHeaders,
  heartbeatFrame,
  oneOf,
  repeatEvery,
} from '../protocol/index.ts'
import type { UIMessageChunk } from '../view/index.ts'
import { sseEnd, sseOfChunks, uiMessageChunks, uiMessageHeaders } from '../view/index.ts'
import type { Loop } from './loop.ts'

export interface RunResponseOptions {
  /** Added to the headers of the response, which they override. */
  readonly headers?: HeadersInit | undefined
  /**
   * What happens to the run when the client disconnects. `stop`, the default, cancels it.
   * `continue` lets it run to its end, so that `result` can be stored.
   */
  readonly onDisconnect?: 'stop' | 'continue' | undefined
  /** How often a comment is sent, so that proxies keep the connection. Defaults to 15 s. */
  readonly heartbeatMs?: number | undefined
}

const table: OptionTable<RunResponseOptions> = {
  headers: anything,
  onDisconnect: oneOf('stop', 'continue'),
  heartbeatMs: duration,
}

/** How the events of a run are written to a response. */
interface RunFrames {
  readonly headers: Readonly<Record<string, string>>
  /** Sent first. */
  readonly start: string
  /** Empty for an event that is not sent. */
  event(event: RunEvent): string
  end(): string
}

/**
 * The numbers are those of this response: a slow reader gets fewer, longer deltas than a fast one.
 */
export function entryFrames(): RunFrames {
  let seq = 0
  return {
    headers: eventStreamHeaders,
    start: '',
    event: (event) => entryFrame({ seq: ++seq, at: Date.now(), event }),
    end: () => endFrame,
  }
}

/**
 * `earlier` are the events of the run that this one resumes. If it was suspended, the client has
 * that part of the message.
 */
export function uiMessageFrames(earlier: readonly RunEvent[]): RunFrames {
  const wasSuspended = earlier.at(-1)?.type === 'run-end'
  const message = uiMessageChunks({
    head: earlier.length + 1,
    ...(wasSuspended && { continueAfter: earlier.length - 1 }),
  })
  let seq = 0
  // Without an id, the client chooses one, or keeps that of the message that is continued.
  const frames = (chunks: readonly UIMessageChunk[]) =>
    sseOfChunks(chunks.map((chunk) => (chunk.type === 'start' ? { type: 'start' } : chunk)))
  const event = (event: RunEvent) => frames(message.applyEntry({ seq: ++seq, at: Date.now(), event }))
  return {
    headers: uiMessageHeaders,
    start: earlier.map(event).join(''),
    event,
    end: () => frames(message.end()) + sseEnd,
  }
}

/** Throws `invalid_input` naming the option. */
export function runResponse(
  { log, loop }: { readonly log: MemoryLog; readonly loop: Loop },
  frames: RunFrames,
  options: RunResponseOptions,
  op: string,
): Response {
  checkOptions(options, table, { op, what: 'the response option' })
  const { onDisconnect = 'stop', heartbeatMs = 15_000 } = options
  const headers = new Headers(frames.headers)
  new Headers(options.headers).forEach((value, name) => {
    headers.set(name, value)
  })
  const body = runBody(log.read(), frames, {
    heartbeatMs,
    onCancel: () => {
      if (onDisconnect === 'stop') loop.cancel('the client has disconnected')
    },
  })
  return new Response(body, { headers })
}

const encoder = new TextEncoder()

function runBody(
  events: LogReader,
  frames: RunFrames,
  { heartbeatMs, onCancel }: { readonly heartbeatMs: number; readonly onCancel: () => void },
): ReadableStream<Uint8Array> {
  let { start } = frames
  let stopHeartbeats: (() => void) | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (text: string) => controller.enqueue(encoder.encode(text))
        // No heartbeat while there is unread data.
        stopHeartbeats ??= repeatEvery(heartbeatMs, () => {
          if (controller.desiredSize === 0) send(heartbeatFrame)
        })
        let text = start
        start = ''
        while (!text) {
          const { done, value } = await events.next()
          if (done) {
            stopHeartbeats()
            send(frames.end())
            controller.close()
            return
          }
          // Events that come together are sent in one piece.
          for (let event: RunEvent | undefined = value; event; event = events.take())
            text += frames.event(event)
        }
        send(text)
      },
      async cancel() {
        stopHeartbeats?.()
        await events.return?.()
        onCancel()
      },
    },
    // The log is the buffer, and it is bounded: a slow reader gets longer deltas.
    { highWaterMark: 0 },
  )
}
