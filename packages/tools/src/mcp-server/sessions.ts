import type {
  AuthInfo,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { onBodyEnd } from 'millrace/internal/server'
import type { Caller } from 'millrace/server'
import { httpError } from 'millrace/server'
import type { Sdk } from './sdk.ts'

export interface SessionsOptions {
  readonly sdk: Sdk
  readonly makeServer: () => McpServer
  /** In all, and of one user. */
  readonly most: number
  readonly perUser: number
  readonly idleMs: number
  readonly heartbeatMs: number
  readonly bodyBytes: number
}

/** Clients that speak a protocol with sessions: 2025-11-25 and before. */
export interface Sessions {
  /** Answers a request that the SDK holds to be one of theirs. */
  handle(request: Request, caller: Caller, authInfo: AuthInfo): Promise<Response>
  close(): Promise<void>
}

interface Session {
  readonly server: McpServer
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly user: string | undefined
  /** Answers that are being read. */
  open: number
  usedAt: number
}

export function sessions(options: SessionsOptions): Sessions {
  const { sdk, makeServer, most, perUser, idleMs, heartbeatMs, bodyBytes } = options
  /** Those used last stand last. */
  const known = new Map<string, Session>()
  let sweeping: ReturnType<typeof setTimeout> | undefined

  function sweep() {
    sweeping = undefined
    for (const [id, session] of known)
      if (session.open === 0 && performance.now() - session.usedAt >= idleMs) forget(id)
    sweepLater()
  }

  function sweepLater() {
    if (sweeping !== undefined || known.size === 0) return
    sweeping = setTimeout(sweep, Math.min(idleMs, 2 ** 31 - 1))
    // No reason to keep a process that has nothing else to do.
    if (typeof sweeping === 'object') sweeping.unref()
  }

  function forget(id: string) {
    const session = known.get(id)
    known.delete(id)
    void session?.server.close()
  }

  /** Who is new takes the place of whoever was silent for longest: of its own user, if that has many. */
  function makeRoom(user: string | undefined) {
    const own = [...known].filter(([, session]) => session.user === user)
    const crowd = user !== undefined && own.length >= perUser ? own : known.size >= most ? [...known] : []
    if (crowd.length === 0) return
    const [id] = crowd.find(([, session]) => session.open === 0) ?? []
    if (id === undefined)
      throw httpError(503, 'overloaded', 'too many sessions are open here: try again later', {
        retryAfterMs: 5000,
      })
    forget(id)
  }

  async function begin(user: string | undefined): Promise<Session> {
    makeRoom(user)
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => {
        known.set(id, session)
        sweepLater()
      },
      keepAliveMs: heartbeatMs,
      maxRequestBodySize: bodyBytes,
    })
    const server = makeServer()
    const session: Session = { server, transport, user, open: 0, usedAt: performance.now() }
    server.server.onclose = () => {
      if (transport.sessionId !== undefined) known.delete(transport.sessionId)
    }
    await server.connect(transport)
    return session
  }

  function find(id: string, user: string | undefined): Session | undefined {
    const session = known.get(id)
    // Somebody else's is not there.
    if (!session || session.user !== user) return undefined
    known.delete(id)
    known.set(id, session)
    return session
  }

  return {
    async handle(request, { user }, authInfo) {
      const id = request.headers.get('mcp-session-id')
      const session = id === null ? await begin(user) : find(id, user)
      if (!session) return noSession()
      session.open++
      const left = () => {
        session.open--
        session.usedAt = performance.now()
      }
      try {
        const response = await session.transport.handleRequest(request, { authInfo })
        return onBodyEnd(response, left)
      } catch (error) {
        left()
        throw error
      } finally {
        // It was not the beginning of anything.
        if (session.transport.sessionId === undefined) void session.server.close()
      }
    },
    async close() {
      clearTimeout(sweeping)
      await Promise.all([...known.values()].map(({ server }) => server.close()))
      known.clear()
    },
  }
}

/** A client that gets this begins anew (2025-11-25, basic/transports, session management). */
function noSession(): Response {
  const error = { code: -32001, message: 'Session not found' }
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 })
}
