import type { Readable, Writable } from 'node:stream'
import type { McpServer } from '@modelcontextprotocol/server'

export interface StdioOptions {
  /** Those of the process if absent. */
  readonly stdin?: Readable | undefined
  readonly stdout?: Writable | undefined
  /** Ends it when aborted. */
  readonly signal?: AbortSignal | undefined
}

export interface StdioLine {
  /** Resolves when nobody is at the other end any more, or it was closed. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Speaks to whoever has started this process, by whichever protocol it opens with. Only this needs Node. */
export async function serveStdio(
  makeServer: () => McpServer,
  { stdin, stdout, signal }: StdioOptions,
): Promise<StdioLine> {
  const sdk = await import('@modelcontextprotocol/server/stdio')
  const transport = new sdk.StdioServerTransport(stdin, stdout)
  const ended = new Promise<void>((resolve) => {
    const close = transport.close.bind(transport)
    // The one thing that happens however it ends.
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
