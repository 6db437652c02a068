export type { McpServerOfApp, McpServerOptions, ServeMcpOptions, StdioOptions } from './server/mcp.ts'
export { mcpServer } from './server/mcp.ts'
export type {
  McpCommand,
  McpHeaders,
  McpLog,
  McpOptions,
  McpServerInfo,
  McpToolbox,
  McpUrl,
} from './tools/mcp.ts'
export { hostedMcpApproval, mcp } from './tools/mcp.ts'
