export type { AcpServer, AcpServerOptions } from './acp/acp-server.ts'
export { acpServer } from './acp/acp-server.ts'
export type { StdioOptions } from './mcp-server/stdio.ts'
