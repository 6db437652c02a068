import { Readable, Writable } from 'node:stream'
import type { App } from 'millrace'
import type { OptionTable } from 'millrace/internal'
import {
  aFunction,
  checkOptions,
  extendRuns,
  invalidInput,
  isObject,
  kindOf,
  messageOf,
  someText,
} from 'millrace/internal'
import type { StdioOptions } from '../mcp-server/stdio.ts'
import { savedIn } from './choices.ts'
import { connectEditor } from './connection.ts'
import { policiesOf } from './modes.ts'
import { loadSdk } from './sdk.ts'
import type { Session } from './session.ts'

export interface AcpServerOptions {
  /** The name of the agent in the editor. Default: `millrace`. */
  readonly name?: string | undefined
  readonly version?: string | undefined
  /** Called with errors that no request of the editor gets. Default: writes to stderr. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The agents of an app for an editor. */
export interface AcpServer {
  /**
   * Serves the editor that started this process, which has full access. Resolves when it
   * disconnects or the signal is aborted. Runs continue while the app is open.
   */
  stdio(options?: StdioOptions): Promise<void>
  /** Disconnects from the editor and its MCP servers. The app's owner closes the app. */
  close(): Promise<void>
}

const table: OptionTable<AcpServerOptions> = { name: someText, version: someText, onError: aFunction }
const op = 'acpServer'

/**
 * Serves the agents of an app to an editor, with the Agent Client Protocol. A session is a thread. An
 * app has one ACP server.
 */
export function acpServer(app: App, options: AcpServerOptions = {}): AcpServer {
  if (!isObject(app as unknown) || !Array.isArray(app.agents))
    throw invalidInput(
      op,
      `acpServer() takes an app from millrace() as its first argument, not ${kindOf(app)}`,
    )
  checkOptions(options, table, { op, what: 'the option' })
  const { name = 'millrace', version = '1', onError = reportError } = options
  const open = new Map<string, Session>()
  const closing = new AbortController()

  extendRuns(app, (thread) => ({
    tools: () => open.get(thread.id)?.servers.tools() ?? [],
    policies: policiesOf(() => open.get(thread.id)?.settings.mode ?? savedIn(thread).mode),
  }))

  return {
    async stdio({ stdin = process.stdin, stdout = process.stdout, signal } = {}) {
      if (closing.signal.aborted) throw invalidInput(op, 'this ACP server is closed')
      const sdk = await loadSdk()
      const connection = connectEditor(
        { sdk, app, info: { name, version }, open, onError },
        sdk.ndJsonStream(Writable.toWeb(stdout), Readable.toWeb(stdin) as ReadableStream<Uint8Array>),
      )
      const end = () => connection.close()
      const ends = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal
      if (ends.aborted) end()
      ends.addEventListener('abort', end, { once: true })
      await connection.closed
      ends.removeEventListener('abort', end)
    },
    async close() {
      closing.abort()
      await Promise.all([...open.values()].map(({ servers }) => servers.close()))
      open.clear()
    },
  }
}

function reportError(error: unknown) {
  process.stderr.write(`acp: ${messageOf(error)}\n`)
}
