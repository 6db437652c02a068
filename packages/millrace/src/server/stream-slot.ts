import type { MillraceError } from '../protocol/index.ts'
import { publicError } from '../protocol/index.ts'
import type { StreamSlot } from '../protocols/index.ts'
import { errorReport, httpError, onBodyEnd, streamBody, threadStreamOf } from '../protocols/index.ts'
import type { ServerCaller } from './callers.ts'
import { shuttingDown } from './errors.ts'
import type { Streams } from './streams.ts'

export interface StreamSlotOptions {
  readonly streams: Streams
  readonly heartbeatMs: number
  readonly stuckMs: number
  readonly onError: (error: MillraceError) => void
}

export interface OpenSlot extends StreamSlot {
  /** Frees the slot, unless it is used by a response that will be sent. */
  settle(isSent: boolean): void
}

const clientGone = httpError(400, 'invalid_input', 'the client has disconnected')
const accessEnded = () => httpError(401, 'auth', 'your access has ended: sign in again')

/**
 * Opens a stream slot for a request. `clientSignal`, if any, is aborted when the client disconnects
 * before it reads the response. Throws if no slot is free.
 */
export function streamSlot(
  { method }: Request,
  { caller, clientSignal }: { readonly caller: ServerCaller; readonly clientSignal: AbortSignal | undefined },
  { streams, heartbeatMs, stuckMs, onError }: StreamSlotOptions,
): OpenSlot {
  const stop = new AbortController()
  let isWrapped = false
  let cleanUp: (() => void) | undefined
  // A HEAD request does not start a stream.
  const isHead = method === 'HEAD'
  const free = isHead
    ? () => {}
    : streams.open(caller.key, () => {
        // The protocol ends a wrapped response itself.
        if (!isWrapped) stop.abort(shuttingDown())
      })

  /** Returns a function to call when the stream has ended. */
  function start(threadId: string | undefined): () => void {
    const release = caller.watchAccess(threadId, () => stop.abort(accessEnded()))
    cleanUp = () => {
      free()
      release()
    }
    return cleanUp
  }

  return {
    signal: stop.signal,
    settle(isSent) {
      if (isSent && cleanUp) return
      free()
      cleanUp?.()
      stop.abort(clientGone)
    },
    follow(thread, { after, until }, frames) {
      if (isHead) return new Response(null, { headers: frames.headers })
      caller.countStream()
      const cleanUp = start(thread.id)
      const end = () => {
        cleanUp()
        stop.abort(clientGone)
      }
      // If the client disconnects before its response is used, the body is neither read nor
      // canceled.
      if (clientSignal?.aborted) end()
      else clientSignal?.addEventListener('abort', end, { once: true })
      const body = streamBody({
        entries: thread.follow({ after, until, signal: stop.signal }),
        frames,
        signal: stop.signal,
        ends: until !== undefined,
        heartbeatMs,
        stuckMs,
        end,
        publicError: (thrown) => publicError(thrown, (error, id) => onError(errorReport(error, id))),
      })
      return new Response(body, { headers: frames.headers })
    },
    wrap(response) {
      isWrapped = true
      return onBodyEnd(response, start(undefined), stop.signal)
    },
  }
}

/** Whether a response is streamed, not sent in one piece. */
export function isStream({ headers, body }: Response): boolean {
  return (
    threadStreamOf(body) !== undefined || /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
  )
}
