import type { IncomingMessage } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { WebSocketServer } from 'ws'
import type { MillraceError } from '../protocol/index.ts'
import type { SocketConnection } from '../protocols/index.ts'
import { closeCodes, httpError } from '../protocols/index.ts'
import type { Identify } from './callers.ts'
import { errorResponse, shuttingDown } from './errors.ts'
import { readContext } from './handler.ts'
import { toRequest } from './node-connection.ts'
import type { Limits } from './options.ts'
import type { OriginCheck } from './origin-check.ts'
import type { ClientAddress } from './proxy.ts'
import type { DelayRejection } from './rejection-delay.ts'
import type { RouteMatch, Router } from './router.ts'
import type { Streams } from './streams.ts'

export interface UpgradesOptions {
  readonly router: Router
  readonly limits: Limits
  readonly originCheck: OriginCheck
  readonly identify: Identify
  readonly clientAddress: ClientAddress
  readonly delayRejection: DelayRejection
  readonly streams: Streams
  readonly isClosing: () => boolean
  readonly onError: (error: MillraceError) => void
}

/**
 * Handles the `upgrade` event of Node. Resolves with the open connection, or undefined if it was
 * rejected. Never rejects.
 */
export type Upgrade = (
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
) => Promise<SocketConnection | undefined>

const bearerProtocol = 'millrace.bearer.'

/** Opens WebSockets for routes with `connect`. */
export function upgrades(options: UpgradesOptions): Upgrade {
  const {
    router,
    originCheck,
    identify,
    clientAddress,
    delayRejection,
    streams,
    limits,
    isClosing,
    onError,
  } = options
  const subprotocols = new WeakMap<IncomingMessage, readonly string[]>()
  const servers = new Map<number, WebSocketServer>()

  /** The largest frame is a setting of the server that opens the socket. */
  async function serverFor(maxPayload: number): Promise<WebSocketServer> {
    // Loaded for the first WebSocket: its modules and those of Node that it needs take as long to load
    // as ours, and a server should answer soon after it starts.
    const { WebSocketServer } = await import('ws')
    const known = servers.get(maxPayload)
    if (known) return known
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload,
      // Never echoes the token, which is offered as a subprotocol too.
      handleProtocols: (offered, incoming) =>
        (subprotocols.get(incoming) ?? []).find((protocol) => offered.has(protocol)) ?? false,
    })
    servers.set(maxPayload, server)
    return server
  }

  async function admit(incoming: IncomingMessage, socket: Socket, request: Request, match: RouteMatch) {
    if (isClosing()) throw shuttingDown()
    originCheck.check(request, { localAddress: socket.localAddress, strict: true })
    const { route, params } = match
    if (!route?.connect || incoming.method !== 'GET')
      throw httpError(404, 'not_found', 'no route matches this path')
    const caller = await identify(request, clientAddress(incoming))
    caller.rateLimit()
    return { caller, handler: await route.connect(readContext(request, route, { params, caller })) }
  }

  return async (incoming, socket, head) => {
    socket.on('error', () => {})
    const request = toRequest(incoming, bearerOf(incoming))
    const match = request && router('GET', new URL(request.url).pathname)
    try {
      if (!match) throw httpError(400, 'invalid_input', 'malformed request')
      const { caller, handler } = await admit(incoming, socket, request, match)
      const server = await serverFor(match.route?.bodyBytes ?? limits.frameBytes)
      let connection: SocketConnection | undefined
      const free = streams.open(caller.key, () => connection?.close(closeCodes.goingAway, 'going away'))
      caller.countStream()
      const release = caller.watchAccess(handler.threadId, () =>
        connection?.close(closeCodes.policy, 'your access has ended: sign in again'),
      )
      socket.once('close', cleanUp)
      if (socket.destroyed) cleanUp()
      function cleanUp() {
        free()
        release()
      }
      subprotocols.set(incoming, handler.subprotocols ?? [])
      server.handleUpgrade(incoming, socket, head, (ws) => {
        connection = handler.open(ws, socket)
      })
      return connection
    } catch (thrown) {
      const response = errorResponse(thrown, onError, match?.error)
      await delayRejection(response.status, clientAddress(incoming))
      await rejectUpgrade(socket, response)
      return undefined
    }
  }
}

/** A browser cannot set headers on a WebSocket, so the token may be sent as a subprotocol. */
function bearerOf({ headers }: IncomingMessage): Record<string, string> {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const token = offered.find((name) => name.startsWith(bearerProtocol))?.slice(bearerProtocol.length)
  if (!token || headers.authorization !== undefined) return {}
  return { authorization: `Bearer ${Buffer.from(token, 'base64url').toString()}` }
}

async function rejectUpgrade(socket: Socket, response: Response) {
  const body = await response.text()
  response.headers.set('content-length', String(Buffer.byteLength(body)))
  response.headers.set('connection', 'close')
  const head = [...response.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  // The client may never close its side.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}\r\n${head}\r\n${body}`)
}
