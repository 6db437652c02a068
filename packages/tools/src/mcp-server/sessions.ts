import type { AuthInfo, Server, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { onBodyEnd } from 'millrace/internal/server'
import type { Caller } from 'millrace/server'
import { httpError } from 'millrace/server'
import type { Sdk } from './sdk.ts'

export interface SessionsOptions {
  readonly sdk: Sdk
  readonly makeServer: () => Server
  /** In total. */
  readonly maxSessions: number
  readonly perUser: number
  readonly idleMs: number
  readonly heartbeatMs: number
  readonly bodyBytes: number
}

/** Sessions of clients with protocol 2025-11-25 and before. */
export interface Sessions {
  /** Handles a request that the SDK identifies as one of theirs. */
  handle(request: Request, caller: Caller, authInfo: AuthInfo): Promise<Response>
  close(): Promise<void>
}

interface Session {
  readonly server: Server
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly user: string | undefined
  /** Open responses. */
  open: number
  usedAt: number
}

export function sessions(options: SessionsOptions): Sessions {
  const { sdk, makeServer, maxSessions, perUser, idleMs, heartbeatMs, bodyBytes } = options
  /** Least recently used first. */
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
    // Does not keep the process running.
    if (typeof sweeping === 'object') sweeping.unref()
  }

  function forget(id: string) {
    const session = known.get(id)
    known.delete(id)
    void session?.server.close()
  }

  /**
   * Closes the least recently used idle session if there are too many: one of the same user, if
   * they have too many.
   */
  function makeRoom(user: string | undefined) {
    const own = [...known].filter(([, session]) => session.user === user)
    const crowd =
      user !== undefined && own.length >= perUser ? own : known.size >= maxSessions ? [...known] : []
    if (crowd.length === 0) return
    const [id] = crowd.find(([, session]) => session.open === 0) ?? []
    if (id === undefined)
      throw httpError(503, 'overloaded', 'too many sessions are open: try again later', {
        retryAfterMs: 5000,
      })
    forget(id)
  }

  async function startSession(user: string | undefined): Promise<Session> {
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
    server.onclose = () => {
      if (transport.sessionId !== undefined) known.delete(transport.sessionId)
    }
    await server.connect(transport)
    return session
  }

  function find(id: string, user: string | undefined): Session | undefined {
    const session = known.get(id)
    // The session of another user looks like a missing one.
    if (!session || session.user !== user) return undefined
    known.delete(id)
    known.set(id, session)
    return session
  }

  return {
    async handle(request, { user }, authInfo) {
      const id = request.headers.get('mcp-session-id')
      const session = id === null ? await startSession(user) : find(id, user)
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
        // The request did not start a session.
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

/**
 * On this response a client starts a new session (2025-11-25, basic/transports, session
 * management).
 */
function noSession(): Response {
  const error = { code: -32001, message: 'Session not found' }
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 })
}
