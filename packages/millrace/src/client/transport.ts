import type { FollowOptions } from '../protocol/index.ts'
import type { Connect, Connection, ConnectOptions } from './connection.ts'
import { streamError } from './errors.ts'
import type { Http } from './http.ts'
import type { ClientOptions, Sockets } from './options.ts'
import { socketConnection } from './socket-connection.ts'
import { sseConnection } from './sse-connection.ts'

export interface TransportOptions {
  readonly http: Http
  readonly sockets: Sockets
  readonly transport: NonNullable<ClientOptions['transport']>
}

/** How to connect to one server. Remembers, for all threads, whether WebSockets work. */
export type Transport = (op: string, path: string, options: Pick<FollowOptions, 'until'>) => Connect

export function transport(options: TransportOptions): Transport {
  const { http } = options
  const { url, WebSocket, openMs, silenceMs } = options.sockets
  let sockets: 'untried' | 'work' | 'fail' = 'untried'

  return (op, path, { until }) => {
    const sse = (connectOptions: ConnectOptions) =>
      sseConnection({ op, path, http, until, silenceMs }, connectOptions)

    async function* socket(connectOptions: ConnectOptions): Connection {
      if (!WebSocket) throw streamError(op, 'WebSocket is not available: pass one, or use another transport')
      const token = await http.token(op)
      yield* socketConnection(
        { op, url: `${url}${path}/socket`, WebSocket, token, openMs, silenceMs },
        connectOptions,
      )
    }

    async function* socketFirst(connectOptions: ConnectOptions): Connection {
      let opened = false
      let socketError: unknown
      try {
        for await (const batch of socket(connectOptions)) {
          opened = true
          sockets = 'work'
          yield batch
        }
      } catch (thrown) {
        if (opened || connectOptions.signal.aborted) throw thrown
        socketError = thrown
      }
      if (opened) return
      // A page cannot see why a WebSocket was rejected. The same request over HTTP returns the
      // reason.
      for await (const batch of sse(connectOptions)) {
        if (options.transport === 'websocket') throw socketError
        // If a socket was open before, this failure is temporary.
        if (sockets === 'untried') sockets = 'fail'
        yield batch
      }
    }

    // Only the server knows when an input has been handled, and the WebSocket protocol has no
    // `until`.
    if (options.transport === 'sse' || until !== undefined) return sse
    const skipSocket = () => options.transport === 'auto' && (sockets === 'fail' || !WebSocket)
    return (connectOptions) => (skipSocket() ? sse(connectOptions) : socketFirst(connectOptions))
  }
}
