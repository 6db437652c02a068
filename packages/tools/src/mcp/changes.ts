import type { Connection } from './connect.ts'

interface ChangesOptions {
  /** Called when the list may have changed, once for several changes in a row. */
  readonly onChange: () => void
  readonly onError: (error: Error) => void
}

/**
 * Watches for changes of a server's tools. Until 2025-11-25 servers notify on their own; since 2026-07-28
 * only clients that subscribe with `subscriptions/listen`, which is repeated when it breaks. Resolves when
 * no further change can be missed.
 */
export async function watchChanges(
  connection: Connection,
  { onChange, onError }: ChangesOptions,
): Promise<void> {
  const { client } = connection
  if (!client.getServerCapabilities()?.tools?.listChanged) return
  let settling: NodeJS.Timeout | undefined
  let waiting: NodeJS.Timeout | undefined
  connection.onEnd(() => {
    clearTimeout(settling)
    clearTimeout(waiting)
  })
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    settling ??= setTimeout(() => {
      settling = undefined
      onChange()
    }, settleMs)
  })
  if (client.getProtocolEra() === 'modern') await listen(0)

  async function listen(failures: number): Promise<void> {
    const since = Date.now()
    try {
      const { closed } = await client.listen({ toolsListChanged: true }, { timeout: ackMs })
      if (failures > 0) onChange()
      void closed.then(() => again(Date.now() - since > maxWaitMs ? 1 : failures + 1))
    } catch (error) {
      if (connection.isOpen()) onError(error as Error)
      again(failures + 1)
    }
  }

  function again(failures: number) {
    if (!connection.isOpen()) return
    const waitMs = Math.min(maxWaitMs, 500 * 2 ** failures)
    waiting = setTimeout(() => void listen(failures), waitMs).unref()
  }
}

const settleMs = 50
const ackMs = 5_000
const maxWaitMs = 30_000
