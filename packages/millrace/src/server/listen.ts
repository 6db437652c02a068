import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { MillraceError, messageOf, systemClock } from '../protocol/index.ts'
import { closeCodes } from '../protocols/index.ts'
import { addressOf } from './address.ts'
import type { Handler } from './handler.ts'
import type { HoldBack } from './late-refusals.ts'
import { serveRequest } from './node-connection.ts'
import type { ClientAddress } from './proxy.ts'
import type { Upgrade } from './upgrade.ts'

export interface ListeningServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  readonly port: number
  /**
   * Takes no more connections, ends the streams that run over it, lets requests be answered, and cuts off what is left after three
   * seconds. May be called twice.
   */
  close(): Promise<void>
}

export interface NodeListenerOptions {
  readonly port: number
  readonly host: string
  readonly headerBytes: number
  readonly connections: number
  readonly connectionsPerAddress: number
  readonly stuckMs: number
  readonly handle: Handler
  readonly clientAddress: ClientAddress
  readonly holdBack: HoldBack
  readonly upgrade: Upgrade
  /** Told when a connection could not be taken, for want of files perhaps. */
  readonly onError: (error: MillraceError) => void
}

/** How long a client may take to send its headers, and all of its request. */
const headersTimeout = 10_000
const requestTimeout = 30_000
/** How long what is open has to end, before it is cut off. */
const endMs = 3000

/** Serves over HTTP/1.1. Rejects if it cannot have the port. */
export async function listenOnNode(options: NodeListenerOptions): Promise<ListeningServer> {
  const { host, headerBytes, stuckMs, handle, clientAddress, holdBack, upgrade, onError } = options
  /** Each with the number of requests that are under way over it. */
  const sockets = new Map<Socket, number>()
  const addresses = new Map<string | undefined, number>()
  const streams = new Set<() => void>()
  let closing: Promise<void> | undefined
  const server = createServer({
    maxHeaderSize: headerBytes,
    headersTimeout,
    requestTimeout,
    // Node looks every 30 seconds by itself.
    connectionsCheckingInterval: 5000,
    // Others (`h2c`) are offers, and are left alone.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  })
  server.maxConnections = options.connections
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket.remoteAddress)
    const open = addresses.get(address) ?? 0
    // Half-open ones cost a client nothing: without this one client could take them all.
    if (open >= options.connectionsPerAddress) return void socket.destroy()
    addresses.set(address, open + 1)
    sockets.set(socket, 0)
    socket.on('close', () => {
      sockets.delete(socket)
      const left = (addresses.get(address) ?? 1) - 1
      if (left > 0) addresses.set(address, left)
      else addresses.delete(address)
    })
  })
  server.on('request', async (incoming, response) => {
    count(incoming.socket, 1)
    response.once('close', () => count(incoming.socket, -1))
    const isClosing = () => closing !== undefined
    await serveRequest(incoming, response, { handle, clientAddress, holdBack, isClosing, stuckMs, track })
  })
  server.on('upgrade', async (incoming, socket, head) => {
    count(socket as Socket, 1)
    const channel = await upgrade(incoming, socket as Socket, head)
    if (!channel) return
    const untrack = track(() => channel.close(closeCodes.goingAway, 'going away'))
    await channel.closed
    untrack()
  })

  function count(socket: Socket, change: 1 | -1) {
    const requests = sockets.get(socket)
    if (requests === undefined) return
    sockets.set(socket, requests + change)
    if (closing && requests + change === 0) socket.destroySoon()
  }

  function track(end: () => void): () => void {
    streams.add(end)
    if (closing) end()
    return () => streams.delete(end)
  }

  async function close() {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const end of streams) end()
    // Node itself leaves alone those that have not asked for anything yet.
    for (const [socket, requests] of sockets) if (requests === 0) socket.destroy()
    const cancelCut = systemClock.after(endMs, () => {
      for (const socket of sockets.keys()) socket.destroy()
    })
    await closed
    // The connection of a WebSocket is none of the server's own any more.
    await Promise.all(
      [...sockets.keys()].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
    cancelCut()
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, host, resolve)
  })
  server.on('error', (cause) =>
    onError(new MillraceError({ op: 'server.listen', code: 'overloaded', message: messageOf(cause), cause })),
  )
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    close() {
      closing ??= close()
      return closing
    },
  }
}
