/** The official client, loaded only where it is used: most programs have no MCP server. */
export type Sdk = typeof import('@modelcontextprotocol/client')
export type { Client, Tool as ServerTool, Transport } from '@modelcontextprotocol/client'

export const loadSdk = (): Promise<Sdk> => import('@modelcontextprotocol/client')
