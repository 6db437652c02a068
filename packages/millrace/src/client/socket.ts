import type { MillraceError } from '../protocol/index.ts'
import { isObject, systemClock } from '../protocol/index.ts'
import { base64url } from './base64.ts'
import { reasonOf, streamError, threadDeleted } from './errors.ts'
import type { SocketLike, Sockets } from './options.ts'

/** The close code for a deleted thread. */
const threadGoneCode = 4404

export function openSocket(
  op: string,
  url: string,
  WebSocket: NonNullable<Sockets['WebSocket']>,
  token: string | undefined,
): SocketLike {
  // A page cannot set headers on a WebSocket, so the token is sent as a subprotocol.
  const protocols = token === undefined ? [] : [`millrace.bearer.${base64url(token)}`]
  try {
    return new WebSocket(url, ['millrace.v1', ...protocols])
  } catch (thrown) {
    // For example, a socket without TLS on a page with TLS.
    throw streamError(op, `cannot open a WebSocket: ${reasonOf(thrown)}`, thrown)
  }
}

/** `fail` may be called twice. */
export function onClose(op: string, socket: SocketLike, fail: (error: MillraceError) => void) {
  const closed = ({ code, reason }: { readonly code: number; readonly reason: string }) =>
    fail(
      code === threadGoneCode
        ? threadDeleted(op)
        : streamError(op, `the socket was closed (${code}${reason && `: ${reason}`})`),
    )
  socket.addEventListener('close', closed)
  // 'close' follows and has details. Node 22.13 does not emit it if the connection was never
  // opened.
  socket.addEventListener('error', () => {
    if (socket.readyState === 0) closed({ code: 1006, reason: '' })
  })
}

export function parseFrame(data: unknown): Record<string, unknown> | undefined {
  try {
    const frame: unknown = JSON.parse(data as string)
    return isObject(frame) ? frame : undefined
  } catch {
    return undefined
  }
}

/**
 * Detects a silent connection. A page cannot see the pings of the WebSocket protocol, so this sends
 * its own: `ping` is called when no data has arrived for a while, `onSilence` when none has arrived
 * for `silenceMs`.
 */
export function watchSilence(silenceMs: number, ping: () => void, onSilence: () => void) {
  /** Ticks since the last data. */
  let quietTicks = 0
  let cancel = systemClock.after(silenceMs / 3, tick)

  function tick() {
    if (++quietTicks > 3) return onSilence()
    if (quietTicks > 1) ping()
    cancel = systemClock.after(silenceMs / 3, tick)
  }

  return {
    reset() {
      quietTicks = 0
    },
    end: () => cancel(),
  }
}
