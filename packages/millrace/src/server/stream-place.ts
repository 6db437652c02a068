import type { MillraceError } from '../protocol/index.ts'
import { publicError } from '../protocol/index.ts'
import type { StreamPlace } from '../protocols/index.ts'
import { httpError, onBodyEnd, reportOf, streamBody, threadStreamOf } from '../protocols/index.ts'
import { closingDown } from './errors.ts'
import type { Streams } from './streams.ts'
import type { Visitor } from './visitors.ts'

export interface StreamPlaceOptions {
  readonly streams: Streams
  readonly heartbeatMs: number
  readonly stuckMs: number
  readonly onError: (error: MillraceError) => void
}

export interface OpenPlace extends StreamPlace {
  /** Frees it, unless a response was made from it that will be sent. */
  settle(isSent: boolean): void
}

const clientGone = httpError(400, 'invalid_input', 'the client has gone')
const accessEnded = () => httpError(401, 'auth', 'your access has ended: sign in again')

/** Takes a place for a request. `gone`, if there is one, is aborted when its client has gone before it reads. Throws if there is none. */
export function streamPlace(
  { method }: Request,
  { visitor, gone }: { readonly visitor: Visitor; readonly gone: AbortSignal | undefined },
  { streams, heartbeatMs, stuckMs, onError }: StreamPlaceOptions,
): OpenPlace {
  const stop = new AbortController()
  let isHeld = false
  let leave: (() => void) | undefined
  // Where only the head is asked for, nothing goes on.
  const isHead = method === 'HEAD'
  const free = isHead
    ? () => {}
    : streams.open(visitor.key, () => {
        // What the protocol holds it ends itself.
        if (!isHeld) stop.abort(closingDown())
      })

  /** Gives what to call when the stream is over. */
  function use(threadId: string | undefined): () => void {
    const release = visitor.hold(threadId, () => stop.abort(accessEnded()))
    leave = () => {
      free()
      release()
    }
    return leave
  }

  return {
    signal: stop.signal,
    settle(isSent) {
      if (isSent && leave) return
      free()
      leave?.()
      stop.abort(clientGone)
    },
    follow(thread, { after, until }, frames) {
      if (isHead) return new Response(null, { headers: frames.headers })
      visitor.payForStream()
      const leave = use(thread.id)
      const end = () => {
        leave()
        stop.abort(clientGone)
      }
      // A client that goes before its answer is looked at: nobody reads or cancels that.
      if (gone?.aborted) end()
      else gone?.addEventListener('abort', end, { once: true })
      const body = streamBody({
        entries: thread.follow({ after, until, signal: stop.signal }),
        frames,
        signal: stop.signal,
        ends: until !== undefined,
        heartbeatMs,
        stuckMs,
        end,
        publicError: (thrown) => publicError(thrown, (error, id) => onError(reportOf(error, id))),
      })
      return new Response(body, { headers: frames.headers })
    },
    hold(response) {
      isHeld = true
      return onBodyEnd(response, use(undefined), stop.signal)
    },
  }
}

/** Whether a response is written bit by bit, as long as there is something to say. */
export function isStream({ headers, body }: Response): boolean {
  return (
    threadStreamOf(body) !== undefined || /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
  )
}
