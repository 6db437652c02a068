import type { ClientOptions, Entry, MillraceError, RemoteThread } from 'millrace/client'
import { isMillraceError } from 'millrace/client'
import type { ThreadConnection } from './thread-handle.ts'

interface ConnectionOptions {
  /** The thread, through a client with these options. */
  thread(hooks: Pick<ClientOptions, 'onOpen' | 'onRetry'>): RemoteThread
  /** The number of the last entry. */
  head(): number
  /** Called with all that was read at once. */
  onEntries(entries: readonly Entry[]): void
  /** An error is only passed with `closed`. Without one, the thread was deleted. */
  onState(state: ThreadConnection, error?: MillraceError): void
}

/** How many entries are read in one request before the thread is followed. */
const pageSize = 10_000
/** The delay before trying again after the client gave up on a server that it never reached. */
const retryMs = 1000
/** A browser reports that it is offline before sockets fail. */
const offlineMs = 500

/** Reads a thread and follows it until it is closed. Connects again as often as it takes. */
export function connect({ thread, head, onEntries, onState }: ConnectionOptions): { close(): void } {
  const closed = new AbortController()
  const { signal } = closed
  /** Aborted to connect again at once. */
  let attempt = new AbortController()
  let wasOpen = false

  const reader = thread({
    onOpen() {
      wasOpen = true
      if (!signal.aborted) onState('open')
    },
    onRetry: onLost,
  })

  function onLost() {
    if (!signal.aborted) onState(wasOpen ? 'reconnecting' : 'connecting')
  }

  async function follow(): Promise<void> {
    if (head() === 0) {
      const page = await reader.read({ limit: pageSize })
      if (signal.aborted) return
      onEntries(page)
    }
    for await (const entry of reader.follow({ after: head(), signal: attempt.signal })) onEntries([entry])
    if (attempt.signal.aborted) return
    closed.abort()
    onState('closed')
  }

  async function run() {
    onState('connecting')
    while (!signal.aborted) {
      attempt = new AbortController()
      await follow().catch(async (error: unknown) => {
        if (signal.aborted) return
        if (isMillraceError(error) && error.retryable) {
          onLost()
          return pause(retryMs, attempt.signal)
        }
        closed.abort()
        onState('closed', error as MillraceError)
      })
    }
  }

  const reconnect = () => attempt.abort()
  const reconnectSoon = () => setTimeout(reconnect, offlineMs)
  globalThis.addEventListener?.('online', reconnect, { signal })
  globalThis.addEventListener?.('offline', reconnectSoon, { signal })
  signal.addEventListener('abort', reconnect)
  void run()
  return { close: () => closed.abort() }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
