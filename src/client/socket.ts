import { isObject, systemClock } from '../protocol/index.ts'
import { base64url } from './base64.ts'
import { broken, reasonOf } from './failures.ts'
import type { SocketLike, Sockets } from './options.ts'

/** With this a socket is closed when its thread was deleted. */
export const isGone = 4404

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
