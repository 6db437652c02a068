import cluster from 'node:cluster'
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { createServer, Server } from 'node:net'

/**
 * Node accepts one connection per listening socket in each turn of the event loop (libuv #3696), and
 * the turns of a busy server are long: clients that all come back at once would wait for as many
 * turns as there are clients. With `SO_REUSEPORT`, the system spreads them over several sockets.
 */
const socketsOnLinux = 16

/**
 * Listens on a port, with as many sockets as it takes to accept clients quickly. Resolves with all
 * listening servers, the given one first; the others hand their connections to it. Rejects if the
 * port is not available.
 */
export async function listenOnPort(
  server: HttpServer,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<readonly Server[]> {
  // The primary process of a cluster listens for its workers, and spreads the connections itself.
  const canShare = process.platform === 'linux' && !cluster.isWorker
  if (!canShare) {
    await listen(server, { port, host })
    return [server]
  }
  // Two processes of one user could share a port without noticing.
  if (port !== 0) await close(await listen(new Server(), { port, host }))
  await listen(server, { port, host, reusePort: true })
  const { address, port: chosen } = server.address() as AddressInfo
  const servers: Server[] = [server]
  while (servers.length < socketsOnLinux) {
    // As `node:http` sets up its own.
    const next = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    )
    try {
      servers.push(await listen(next, { port: chosen, host: address, reusePort: true }))
    } catch {
      // One is enough.
      break
    }
  }
  return servers
}

function listen(server: Server, options: ListenOptions): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(options, () => {
      server.off('error', reject)
      resolve(server)
    })
  })
}

/** Stops accepting. Resolves when all connections have ended. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
