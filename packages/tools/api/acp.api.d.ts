import { App } from 'millrace'

import { Readable, Writable } from 'node:stream'

interface AcpServer {
  stdio(options?: StdioOptions): Promise<void>
  close(): Promise<void>
}

interface AcpServerOptions {
  readonly name?: string | undefined
  readonly version?: string | undefined
  readonly onError?: ((error: unknown) => void) | undefined
}

interface StdioOptions {
  readonly stdin?: Readable | undefined
  readonly stdout?: Writable | undefined
  readonly signal?: AbortSignal | undefined
}

declare function acpServer(app: App, options?: AcpServerOptions): AcpServer

export { type AcpServer, type AcpServerOptions, type StdioOptions, acpServer }
