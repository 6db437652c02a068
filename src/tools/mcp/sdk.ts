import { invalidInput } from '../../protocol/index.ts'

/** The official client, loaded only where it is used: most programs have no MCP server. */
export type Sdk = typeof import('@modelcontextprotocol/client')
export type { Client, Tool as ServerTool, Transport } from '@modelcontextprotocol/client'

export async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@modelcontextprotocol/client')
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw invalidInput(
      'mcp',
      'mcp() needs the package @modelcontextprotocol/client: npm install @modelcontextprotocol/client',
      error,
    )
  }
}
