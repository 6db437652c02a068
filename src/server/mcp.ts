import type { OptionTable } from '../protocol/index.ts'
import { checkOptions, invalidInput, isObject, kindOf } from '../protocol/index.ts'
import type { App } from '../threads/index.ts'
import { admission } from './admission.ts'
import { guard } from './guard.ts'
import { httpHandler } from './handler.ts'
import { mcpEndpoint } from './mcp/endpoint.ts'
import type { ServeMcpOptions } from './mcp/options.ts'
import { mcpTable, readMcpOptions } from './mcp/options.ts'
import { mcpRoutes } from './mcp/routes.ts'
import type { StdioOptions } from './mcp/stdio.ts'
import type { ServerOptions } from './options.ts'
import { readServerOptions, serverTable } from './options.ts'
import { openStreams } from './streams.ts'
import { visitors } from './visitors.ts'

export type { ServeMcpOptions } from './mcp/options.ts'
export type { StdioOptions } from './mcp/stdio.ts'

/** Who may ask, and how much, is said as for a server: see `serve()`. */
export interface McpServerOptions
  extends ServeMcpOptions,
    Pick<ServerOptions, 'auth' | 'hosts' | 'origins' | 'limits' | 'heartbeatMs' | 'onError'> {}

/** The agents of an app as tools of an MCP server. Nothing listens by itself. */
export interface McpServerOfApp {
  /** Answers a request of the streamable HTTP transport, at whatever address it is mounted. Never rejects. */
  fetch(request: Request): Promise<Response>
  /**
   * Serves the process that has started this one, which may do everything. Resolves when that has gone, or the signal is aborted. Rejects with
   * `invalid_input` if the SDK is not installed.
   */
  stdio(options?: StdioOptions): Promise<void>
  /** Ends both. What the agents are doing goes on as long as the app is open: that is closed by whoever opened it. */
  close(): Promise<void>
}

const { auth, hosts, origins, limits, heartbeatMs, onError } = serverTable
const table: OptionTable<McpServerOptions> = {
  ...mcpTable,
  ...{ auth, hosts, origins, limits, heartbeatMs, onError },
}

/** Makes an app an MCP server, with a tool for each agent. Needs `@modelcontextprotocol/server`. */
export function mcpServer(app: App, options: McpServerOptions = {}): McpServerOfApp {
  const op = 'mcpServer'
  if (!isObject(app as unknown) || !Array.isArray(app.agents))
    throw invalidInput(op, `mcpServer() takes an app first, as millrace() makes one, not ${kindOf(app)}`)
  checkOptions(options, table, { op, what: 'the option' })
  const { describe, name, version, maxSessions, sessionIdleMs, ...server } = options
  const own = { describe, name, version, maxSessions, sessionIdleMs }
  const settings = readServerOptions(server, op)
  const { limits } = settings
  const streams = openStreams({ most: limits.connections, perCaller: limits.streams, onRefused: app.refused })
  const endpoint = mcpEndpoint({
    ...settings,
    app,
    settings: readMcpOptions(own, { agents: app.agents, op }),
    streams,
  })
  let closing: Promise<void> | undefined
  const handle = httpHandler({
    routes: mcpRoutes(endpoint, '*'),
    guard: guard(settings),
    identify: visitors({ ...settings, ...limits, app }).identify,
    bodyBytes: limits.bodyBytes,
    admission: admission({ limits, buffer: app.buffer, onRefused: app.refused }),
    isClosing: () => closing !== undefined,
    onError: settings.onError,
  })
  return {
    fetch: (request) => handle(request),
    async stdio(options = {}) {
      if (closing) throw invalidInput(op, 'this MCP server is closed')
      await endpoint.stdio(options)
    },
    close() {
      closing ??= endpoint.close()
      return closing
    },
  }
}
