import { invalidInput } from '../../protocol/index.ts'

/** The official SDK, of which only the types are here before somebody needs it. */
export type Sdk = typeof import('@modelcontextprotocol/server')

/** Loads it. Rejects with `invalid_input` that says how to get it. */
export async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@modelcontextprotocol/server')
  } catch (cause) {
    throw invalidInput(
      'mcpServer',
      'to be an MCP server needs a package that is not installed: npm install @modelcontextprotocol/server',
      cause,
    )
  }
}
