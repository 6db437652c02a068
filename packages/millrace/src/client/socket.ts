import type { MillraceError } from '../protocol/index.ts'
import { isObject, systemClock } from '../protocol/index.ts'
import { base64url } from './base64.ts'
import { broken, gone, reasonOf } from './failures.ts'
import type { SocketLike, Sockets } from './options.ts'

/** With this a socket is closed when its thread was deleted. */
const isGone = 4404

export function openSocket(
  op: string,
  url: string,
  WebSocket: NonNullable<Sockets['WebSocket']>,
  token: string | undefined,
): SocketLike {
  // A page cannot set the headers of a socket: the token comes along as the name of a subprotocol.
  const protocols = token === undefined ? [] : [`millrace.bearer.${base64url(token)}`]
  try {
    return new WebSocket(url, ['millrace.v1', ...protocols])
  } catch (thrown) {
    // As for a socket without TLS on a page with it.
    throw broken(op, `a WebSocket cannot be opened: ${reasonOf(thrown)}`, thrown)
  }
}

/** `fail` may be called twice. */
export function onClose(op: string, socket: SocketLike, fail: (error: MillraceError) => void) {
  const closed = ({ code, reason }: { readonly code: number; readonly reason: string }) =>
    fail(code === isGone ? gone(op) : broken(op, `the socket was closed (${code}${reason && `: ${reason}`})`))
  socket.addEventListener('close', closed)
  // 'close' comes after it and says more; but Node 22.13 leaves it at this where no connection was made.
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
 * Listens for silence. The pings of the WebSocket protocol cannot be seen from a page, so there are some of our own: `ping` is asked for
 * one when little came, `onSilence` told when nothing did.
 */
export function watchSilence(silenceMs: number, ping: () => void, onSilence: () => void) {
  /** Ticks of the clock since anything came. */
  let quiet = 0
  let cancel = systemClock.after(silenceMs / 3, tick)

  function tick() {
    if (++quiet > 3) return onSilence()
    if (quiet > 1) ping()
    cancel = systemClock.after(silenceMs / 3, tick)
  }

  return {
    hear() {
      quiet = 0
    },
    end: () => cancel(),
  }
}
