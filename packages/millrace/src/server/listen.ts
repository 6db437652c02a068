import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { MillraceError, messageOf, systemClock } from '../protocol/index.ts'
import { closeCodes } from '../protocols/index.ts'
import { close as closeServer, listenOnPort } from './accept.ts'
import { addressOf } from './address.ts'
import type { Handler } from './handler.ts'
import { serveRequest } from './node-connection.ts'
import type { ClientAddress } from './proxy.ts'
import type { DelayRejection } from './rejection-delay.ts'
import type { Upgrade } from './upgrade.ts'

export interface ListeningServer {
  /** `http://127.0.0.1:8080` */
  readonly url: string
  readonly port: number
  /**
   * Stops accepting connections, ends open streams, lets requests finish, and cuts off the rest
   * after three seconds. May be called twice.
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
  readonly delayRejection: DelayRejection
  readonly upgrade: Upgrade
  /** Called when a connection cannot be accepted, for example for lack of file descriptors. */
  readonly onError: (error: MillraceError) => void
}

/** How long a client may take to send its headers, and its whole request. */
const headersTimeout = 10_000
const requestTimeout = 30_000
/** How long open connections may take to end before they are cut off. */
const closeGraceMs = 3000

/** Serves HTTP/1.1. Rejects if the port is not available. */
export async function listenOnNode(options: NodeListenerOptions): Promise<ListeningServer> {
  const { host, headerBytes, stuckMs, handle, clientAddress, delayRejection, upgrade, onError } = options
  /** Each socket with its number of requests in progress. */
  const sockets = new Map<Socket, number>()
  const addresses = new Map<string | undefined, number>()
  const streams = new Set<() => void>()
  let closing: Promise<void> | undefined
  const server = createServer({
    maxHeaderSize: headerBytes,
    headersTimeout,
    requestTimeout,
    // The default of Node is 30 seconds.
    connectionsCheckingInterval: 5000,
    // Other upgrades (`h2c`) are optional and are ignored.
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  })
  server.on('connection', (socket: Socket) => {
    if (sockets.size >= options.connections) return void socket.destroy()
    const address = addressOf(socket.remoteAddress)
    const open = addresses.get(address) ?? 0
    // Connections without a request cost a client nothing: without this limit one could take them
    // all.
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
    await serveRequest(incoming, response, {
      handle,
      clientAddress,
      delayRejection,
      isClosing,
      stuckMs,
      track,
    })
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
    const closed = Promise.all(servers.map(closeServer))
    for (const end of streams) end()
    // Node does not close connections that have not sent a request yet.
    for (const [socket, requests] of sockets) if (requests === 0) socket.destroy()
    const cancelCutoff = systemClock.after(closeGraceMs, () => {
      for (const socket of sockets.keys()) socket.destroy()
    })
    await closed
    // `server.close` does not wait for connections that became WebSockets.
    await Promise.all(
      [...sockets.keys()].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    )
    cancelCutoff()
  }

  const servers = await listenOnPort(server, options)
  for (const one of servers)
    one.on('error', (cause) =>
      onError(
        new MillraceError({ op: 'server.listen', code: 'overloaded', message: messageOf(cause), cause }),
      ),
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
