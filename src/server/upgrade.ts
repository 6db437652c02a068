import type { IncomingMessage } from 'node:http'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { WebSocketServer } from 'ws'
import type { SocketChannel } from '../channels/index.ts'
import { attachSocket, closeCodes } from '../channels/index.ts'
import { checkCursor, socketQuery } from './event-answers.ts'
import type { Guard } from './guard.ts'
import type { HoldBack } from './late-refusals.ts'
import { toRequest } from './node-connection.ts'
import type { ServerSettings } from './options.ts'
import type { ClientAddress } from './proxy.ts'
import { closingDown, errorAnswer, noThread, refusal, reportOf } from './refusal.ts'
import { readQuery } from './request-parts.ts'
import type { Streams } from './streams.ts'
import type { Identify } from './visitors.ts'

export interface UpgradesOptions
  extends Pick<ServerSettings, 'limits' | 'voice' | 'heartbeatMs' | 'stuckMs' | 'onError'> {
  readonly guard: Guard
  readonly identify: Identify
  readonly clientAddress: ClientAddress
  readonly holdBack: HoldBack
  readonly streams: Streams
  readonly isClosing: () => boolean
}

/** Takes what Node emits as `upgrade`. Never rejects. Resolves with the channel when it is open; undefined if it was refused. */
export type Upgrade = (
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
) => Promise<SocketChannel | undefined>

const ourProtocol = 'millrace.v1'
const bearerProtocol = 'millrace.bearer.'

/** Opens WebSockets to threads, for those who may see them. */
export function upgrades(options: UpgradesOptions): Upgrade {
  const {
    guard,
    identify,
    clientAddress,
    holdBack,
    streams,
    limits,
    voice,
    heartbeatMs,
    stuckMs,
    isClosing,
    onError,
  } = options
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: limits.frameBytes,
    // The token is for us, not for the answer. A client that offers others is left to itself.
    handleProtocols: (offered) => offered.has(ourProtocol) && ourProtocol,
  })

  async function admit(incoming: IncomingMessage, socket: Socket) {
    if (isClosing()) throw closingDown()
    const request = toRequest(incoming, bearerOf(incoming))
    if (!request) throw refusal(400, 'invalid_input', 'this is no address')
    guard.check(request, { localAddress: socket.localAddress, strict: true })
    const url = new URL(request.url)
    const [, id] = /^\/threads\/([^/]+)\/socket$/.exec(url.pathname) ?? []
    if (id === undefined || incoming.method !== 'GET')
      throw refusal(404, 'not_found', 'there is nothing at this address')
    const visitor = await identify(request, clientAddress(incoming))
    visitor.pay()
    const { after, stream } = readQuery(url, socketQuery) as {
      after?: number | 'now'
      stream?: string
    }
    const { thread, info } = await visitor.reach(id)
    if (typeof after === 'number') checkCursor(after, info.head)
    return { visitor, thread, after, stream: stream !== 'false' }
  }

  return async (incoming, socket, head) => {
    socket.on('error', () => {})
    try {
      const { visitor, thread, after, stream } = await admit(incoming, socket)
      let channel: SocketChannel | undefined
      const free = streams.open(visitor.caller, () => channel?.close(closeCodes.goingAway, 'going away'))
      visitor.payForStream()
      const release = visitor.hold(thread.id, () =>
        channel?.close(closeCodes.policy, 'your access has ended: sign in again'),
      )
      socket.once('close', leave)
      if (socket.destroyed) leave()
      function leave() {
        free()
        release()
      }
      sockets.handleUpgrade(incoming, socket, head, (ws) => {
        channel = attachSocket(ws, {
          socket,
          thread,
          after,
          stream,
          heartbeatMs,
          stuckMs,
          framesPerSecond: limits.framesPerSecond,
          voice,
          onError: (error, id) => onError(reportOf(error, id)),
          async allow() {
            visitor.pay()
            if (await visitor.sees(await thread.info())) return
            channel?.close(closeCodes.policy, 'this thread is not yours to see any more')
            throw noThread()
          },
        })
      })
      return channel
    } catch (thrown) {
      const answer = errorAnswer(thrown, onError)
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
