import { AuthProvider, OAuthClientProvider } from '@modelcontextprotocol/client'

import { App, Tool, Toolbox } from 'millrace'

import { Protocol, ServerOptions } from 'millrace/server'

import { Readable, Writable } from 'node:stream'

interface McpAppServer {
  fetch(request: Request): Promise<Response>
  stdio(options?: StdioOptions): Promise<void>
  close(): Promise<void>
}

interface McpCommand extends McpSettings {
  readonly command: string
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly cwd?: string | undefined
}

type McpHeaders =
  | Readonly<Record<string, string>>
  | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>)

interface McpLog {
  readonly from: 'stderr' | 'message'
  readonly level?: string
  readonly text: string
}

type McpOptions = McpCommand | McpUrl

interface McpSampling {
  readonly maxTokens?: number | undefined
  readonly maxRequests?: number | undefined
}

interface McpServerInfo {
  readonly name: string
  readonly version: string
  readonly protocol: string
  readonly instructions?: string
}

interface McpServerOptions
  extends ServeMcpOptions,
    Pick<ServerOptions, 'auth' | 'hosts' | 'origins' | 'limits' | 'heartbeatMs' | 'onError'> {}

interface McpSettings {
  readonly name?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly maxTimeoutMs?: number | undefined
  readonly connectMs?: number | undefined
  readonly tools?: readonly string[] | undefined
  readonly trust?: boolean | undefined
  readonly elicitation?: boolean | undefined
  readonly sampling?: boolean | McpSampling | undefined
  readonly onChange?: ((tools: readonly Tool[]) => void) | undefined
  readonly onError?: ((error: Error) => void) | undefined
  readonly onLog?: ((log: McpLog) => void) | undefined
}

interface McpToolbox extends Toolbox, AsyncDisposable {
  readonly server: McpServerInfo
  notices(): Promise<readonly string[]>
  close(): Promise<void>
}

interface McpUrl extends McpSettings {
  readonly url: string | URL
  readonly headers?: McpHeaders | undefined
  readonly fetch?: typeof fetch | undefined
  readonly authProvider?: AuthProvider | OAuthClientProvider | undefined
}

interface ServeMcpOptions {
  readonly describe?: Readonly<Record<string, string>> | undefined
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly maxSessions?: number | undefined
  readonly sessionIdleMs?: number | undefined
  readonly taskAfterMs?: number | undefined
}

interface StdioOptions {
  readonly stdin?: Readable | undefined
  readonly stdout?: Writable | undefined
  readonly signal?: AbortSignal | undefined
}

declare function hostedMcpApproval(): Tool

declare function mcp(options: McpOptions): Promise<McpToolbox>

declare function mcpProtocol(options?: ServeMcpOptions): Protocol

declare function mcpServer(app: App, options?: McpServerOptions): McpAppServer

export {
  type McpAppServer,
  type McpCommand,
  type McpHeaders,
  type McpLog,
  type McpOptions,
  type McpSampling,
  type McpServerInfo,
  type McpServerOptions,
  type McpToolbox,
  type McpUrl,
  type ServeMcpOptions,
  type StdioOptions,
  hostedMcpApproval,
  mcp,
  mcpProtocol,
  mcpServer,
}
