import type { IncomingMessage } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import type { MillraceError } from '../protocol/index.ts'
import type { SocketConnection } from '../protocols/index.ts'
import { closeCodes, httpError } from '../protocols/index.ts'
import { closingDown, errorAnswer } from './errors.ts'
import type { Guard } from './guard.ts'
import { readCall } from './handler.ts'
import type { HoldBack } from './late-refusals.ts'
import { toRequest } from './node-connection.ts'
import type { Limits } from './options.ts'
import type { ClientAddress } from './proxy.ts'
import type { Found, Router } from './router.ts'
import type { Streams } from './streams.ts'
import type { Identify } from './visitors.ts'

export interface UpgradesOptions {
  readonly router: Router
  readonly limits: Limits
  readonly guard: Guard
  readonly identify: Identify
  readonly clientAddress: ClientAddress
  readonly holdBack: HoldBack
  readonly streams: Streams
  readonly isClosing: () => boolean
  readonly onError: (error: MillraceError) => void
}

/** Takes what Node emits as `upgrade`. Never rejects. Resolves with the connection when it is open; undefined if it was refused. */
export type Upgrade = (
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
) => Promise<SocketConnection | undefined>

const bearerProtocol = 'millrace.bearer.'

/** Opens WebSockets for the routes that take them. */
export function upgrades(options: UpgradesOptions): Upgrade {
  const { router, guard, identify, clientAddress, holdBack, streams, limits, isClosing, onError } = options
  const spoken = new WeakMap<IncomingMessage, readonly string[]>()
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limits.frameBytes,
    // The token is for us, not for the answer. A client that offers others is left to itself.
    handleProtocols: (offered, incoming) =>
      (spoken.get(incoming) ?? []).find((protocol) => offered.has(protocol)) ?? false,
  })

  async function admit(incoming: IncomingMessage, socket: Socket, request: Request, found: Found) {
    if (isClosing()) throw closingDown()
    guard.check(request, { localAddress: socket.localAddress, strict: true })
    const { route, params } = found
    if (!route?.connect || incoming.method !== 'GET')
      throw httpError(404, 'not_found', 'there is nothing at this address')
    const visitor = await identify(request, clientAddress(incoming))
    visitor.rateLimit()
    return { visitor, handler: await route.connect(readCall(request, route, { params, visitor })) }
  }

  return async (incoming, socket, head) => {
    socket.on('error', () => {})
    const request = toRequest(incoming, bearerOf(incoming))
    const found = request && router('GET', new URL(request.url).pathname)
    try {
      if (!found) throw httpError(400, 'invalid_input', 'this is no address')
      const { visitor, handler } = await admit(incoming, socket, request, found)
      let connection: SocketConnection | undefined
      const free = streams.open(visitor.key, () => connection?.close(closeCodes.goingAway, 'going away'))
      visitor.payForStream()
      const release = visitor.hold(handler.threadId, () =>
        connection?.close(closeCodes.policy, 'your access has ended: sign in again'),
      )
      socket.once('close', leave)
      if (socket.destroyed) leave()
      function leave() {
        free()
        release()
      }
      spoken.set(incoming, handler.subprotocols ?? [])
      sockets.handleUpgrade(incoming, socket, head, (ws) => {
        connection = handler.open(ws, socket)
      })
      return connection
    } catch (thrown) {
      const answer = errorAnswer(thrown, onError, found?.error)
      await holdBack(answer.status, clientAddress(incoming))
      await refuse(socket, answer)
      return undefined
    }
  }
}

/** A browser cannot set headers on a WebSocket, so a token may come in the dress of a protocol. */
function bearerOf({ headers }: IncomingMessage): Record<string, string> {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  const token = offered.find((name) => name.startsWith(bearerProtocol))?.slice(bearerProtocol.length)
  if (!token || headers.authorization !== undefined) return {}
  return { authorization: `Bearer ${Buffer.from(token, 'base64url').toString()}` }
}

async function refuse(socket: Socket, answer: Response) {
  const body = await answer.text()
  answer.headers.set('content-length', String(Buffer.byteLength(body)))
  answer.headers.set('connection', 'close')
  const head = [...answer.headers].map(([name, value]) => `${name}: ${value}\r\n`).join('')
  // One that does not hang up is not waited for.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}\r\n${head}\r\n${body}`)
}
