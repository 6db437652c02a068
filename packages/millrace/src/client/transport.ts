import type { FollowOptions } from '../protocol/index.ts'
import { bySocket } from './by-socket.ts'
import { bySse } from './by-sse.ts'
import type { Connect, Connection, Place } from './connection.ts'
import { broken } from './failures.ts'
import type { Http } from './http.ts'
import type { ClientOptions, Sockets } from './options.ts'

export interface TransportOptions {
  readonly http: Http
  readonly sockets: Sockets
  readonly transport: NonNullable<ClientOptions['transport']>
}

/** The way to one server. It remembers for all threads whether sockets get through. */
export type Transport = (op: string, path: string, options: Pick<FollowOptions, 'until'>) => Connect

export function transport(options: TransportOptions): Transport {
  const { http } = options
  const { url, WebSocket, openMs, silenceMs } = options.sockets
  let sockets: 'untried' | 'work' | 'fail' = 'untried'

  return (op, path, { until }) => {
    const sse = (place: Place) => bySse({ op, path, http, until, silenceMs }, place)

    async function* socket(place: Place): Connection {
      if (!WebSocket) throw broken(op, 'there is no WebSocket here: pass one, or another transport')
      const token = await http.token(op)
      yield* bySocket({ op, url: `${url}${path}/socket`, WebSocket, token, openMs, silenceMs }, place)
    }

    async function* socketFirst(place: Place): Connection {
      let opened = false
      let refusal: unknown
      try {
        for await (const batch of socket(place)) {
          opened = true
          sockets = 'work'
          yield batch
        }
      } catch (thrown) {
        if (opened || place.signal.aborted) throw thrown
        refusal = thrown
      }
      if (opened) return
      // Why a socket is refused cannot be seen from a page. The same asked over HTTP is answered.
      for await (const batch of sse(place)) {
        if (options.transport === 'websocket') throw refusal
        // Where one has been open before, this one failed for a passing reason.
        if (sockets === 'untried') sockets = 'fail'
        yield batch
      }
    }

    // What an input comes to is known to the server alone, and a socket has no word for it.
    if (options.transport === 'sse' || until !== undefined) return sse
    const hopeless = () => options.transport === 'auto' && (sockets === 'fail' || !WebSocket)
    return (place) => (hopeless() ? sse(place) : socketFirst(place))
  }
}
