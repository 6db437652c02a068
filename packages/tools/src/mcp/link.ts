import { messageOf } from 'millrace/internal'
import type { Connection } from './connect.ts'

/** One connection at a time, reestablished on demand when it is lost. */
export interface Link {
  /** The open connection, or a new one. Rejects with an explanation if there is none. */
  ready(): Promise<Connection>
  /** Drops a connection that does not work. The next `ready()` opens another. */
  drop(connection: Connection): void
  close(): Promise<void>
}

interface LinkOptions {
  /** The signal is aborted when the link is closed. */
  readonly connect: (signal: AbortSignal) => Promise<Connection>
  /** Called with each new connection before it is used. */
  readonly onConnection: (connection: Connection) => void
}

export function serverLink({ connect, onConnection }: LinkOptions): Link {
  let live: Connection | undefined
  let opening: Promise<Connection> | undefined
  let closed: Promise<void> | undefined
  const closing = new AbortController()
  const leaving = new Set<Promise<void>>()
  let failures = 0
  let notBefore = 0
  let why = ''

  async function ready(): Promise<Connection> {
    if (closed) throw new Error(closedByOwner)
    if (live?.isOpen()) return live
    const waitMs = notBefore - Date.now()
    if (!opening && waitMs > 0)
      throw new Error(`${why}\nIt will not be restarted for another ${Math.ceil(waitMs / 1_000)} s`)
    opening ??= open().finally(() => {
      opening = undefined
    })
    return opening
  }

  async function open(): Promise<Connection> {
    const connection = await connect(closing.signal).catch((error: unknown) => {
      if (closed) throw new Error(closedByOwner)
      failed(messageOf(error))
      throw error
    })
    if (closed) {
      await connection.close()
      throw new Error(closedByOwner)
    }
    const openedAt = Date.now()
    connection.onEnd(() => {
      if (Date.now() - openedAt > steadyMs) failures = 0
      else
        failed(
          `the MCP server exited immediately. Last output on stderr:\n${connection.stderrTail() || '(nothing)'}`,
        )
    })
    live = connection
    onConnection(connection)
    return connection
  }

  /** After the first failure retries are immediate; after more, with growing intervals. */
  function failed(reason: string) {
    why = reason
    failures++
    notBefore = failures > 1 ? Date.now() + Math.min(maxWaitMs, 1_000 * 2 ** (failures - 2)) : 0
  }

  function drop(connection: Connection) {
    if (live === connection) live = undefined
    const left = connection.close().finally(() => leaving.delete(left))
    leaving.add(left)
  }

  async function leave(): Promise<void> {
    closing.abort()
    await opening?.catch(() => {})
    if (live) drop(live)
    await Promise.all(leaving)
  }

  return {
    ready,
    drop,
    close() {
      closed ??= leave()
      return closed
    },
  }
}

const closedByOwner = 'the connection to the MCP server was closed by the application'
const steadyMs = 1_000
const maxWaitMs = 30_000
