/** The official client, loaded on first use: most programs use no MCP server. */
export type Sdk = typeof import('@modelcontextprotocol/client')
export type { Client, Tool as ServerTool, Transport } from '@modelcontextprotocol/client'

export const loadSdk = (): Promise<Sdk> => import('@modelcontextprotocol/client')
