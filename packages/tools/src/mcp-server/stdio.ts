import type { Readable, Writable } from 'node:stream'
import type { McpServerFactory } from '@modelcontextprotocol/server'

export interface StdioOptions {
  /** The streams of the process by default. */
  readonly stdin?: Readable | undefined
  readonly stdout?: Writable | undefined
  /** Ends it when aborted. */
  readonly signal?: AbortSignal | undefined
}

export interface StdioConnection {
  /** Resolves when the other side disconnects, or after `close()`. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/**
 * Serves the parent process in whichever protocol version it starts with. Only this module needs
 * Node.
 */
export async function serveStdio(
  makeServer: McpServerFactory,
  { stdin, stdout, signal }: StdioOptions,
): Promise<StdioConnection> {
  const sdk = await import('@modelcontextprotocol/server/stdio')
  const transport = new sdk.StdioServerTransport(stdin, stdout)
  const ended = new Promise<void>((resolve) => {
    const close = transport.close.bind(transport)
    // Called however the connection ends.
    transport.close = async () => {
      await close()
      resolve()
    }
  })
  const line = sdk.serveStdio(makeServer, { transport })
  const end = () => void line.close()
  if (signal?.aborted) end()
  signal?.addEventListener('abort', end, { once: true })
  void ended.then(() => signal?.removeEventListener('abort', end))
  return { ended, close: () => line.close() }
}
