import type { App } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import { checkOptions, invalidInput, isObject, kindOf } from 'millrace/internal'
import { callers, mountProtocols, readServerOptions, serverTable } from 'millrace/internal/server'
import type { Caller, ProtocolHost, ServerOptions } from 'millrace/server'

import type { McpEndpoint } from './endpoint.ts'
import { mcpEndpoint } from './endpoint.ts'
import type { ServeMcpOptions } from './options.ts'
import { mcpTable } from './options.ts'
import type { StdioOptions } from './stdio.ts'

/** Authentication and limits work as in `serve()`. */
export interface McpServerOptions
  extends ServeMcpOptions,
    Pick<ServerOptions, 'auth' | 'hosts' | 'origins' | 'limits' | 'heartbeatMs' | 'onError'> {}

/** The agents of an app as tools of an MCP server. Does not listen on its own. */
export interface McpAppServer {
  /** Handles a request of the streamable HTTP transport, mounted at any path. Never rejects. */
  fetch(request: Request): Promise<Response>
  /**
   * Serves the parent process, which has full access. Resolves when it disconnects or the signal is
   * aborted.
   */
  stdio(options?: StdioOptions): Promise<void>
  /** Ends both. Runs continue while the app is open; the app's owner closes it. */
  close(): Promise<void>
}

const { auth, hosts, origins, limits, heartbeatMs, onError } = serverTable
const table: OptionTable<McpServerOptions> = {
  ...mcpTable,
  ...{ auth, hosts, origins, limits, heartbeatMs, onError },
}

/** Turns an app into an MCP server, with a tool for each agent. */
export function mcpServer(app: App, options: McpServerOptions = {}): McpAppServer {
  const op = 'mcpServer'
  if (!isObject(app as unknown) || !Array.isArray(app.agents))
    throw invalidInput(
      op,
      `mcpServer() takes an app from millrace() as its first argument, not ${kindOf(app)}`,
    )
  checkOptions(options, table, { op, what: 'the option' })
  const { describe, name, version, maxSessions, sessionIdleMs, taskAfterMs, ...server } = options
  const own = { describe, name, version, maxSessions, sessionIdleMs, taskAfterMs }
  const settings = readServerOptions(server, op)
  let closing: Promise<void> | undefined
  let endpoint: McpEndpoint | undefined
  const mount = (host: ProtocolHost) => {
    endpoint = mcpEndpoint(own, host, { path: '*', op })
    return endpoint
  }
  const { handle, close } = mountProtocols(app, {
    settings,
    protocols: [{ name: 'mcp', mount }],
    ownRoutes: () => [],
    isClosing: () => closing !== undefined,
  })
  return {
    fetch: (request) => handle(request),
    async stdio(options = {}) {
      if (closing) throw invalidInput(op, 'this MCP server is closed')
      await endpoint?.stdio(options, await ownerOf(app))
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Without authentication, every caller is the owner. */
function ownerOf(app: App): Promise<Caller> {
  const limits = { requestsPerSecond: 1, failedSignIns: 1, recheckMs: 1 }
  return callers({ ...limits, app, auth: false }).identify(new Request('http://localhost/'))
}
