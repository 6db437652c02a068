import type { Signal } from '@preact/signals'
import { signal } from '@preact/signals'
import type { Client, ClientOptions, Entry, MillraceError, RemoteThread } from 'millrace/client'
import type { Change, LogView } from 'millrace/view'
import { applyEntry, createView } from 'millrace/view'

/**
 * - `loading`: reading the entries written so far
 * - `live`: following the thread
 * - `reconnecting`: the connection was lost and is retried
 * - `gone`: the thread does not exist or was deleted
 * - `failed`: the thread cannot be read; `problem` says why
 */
type Connection = 'loading' | 'live' | 'reconnecting' | 'gone' | 'failed'

/** The thread that is open on the page. */
export interface Session {
  readonly thread: RemoteThread
  /** The name under which the server has its agent; empty until it is known. Runs may name it otherwise. */
  readonly agent: Signal<string>
  /** An exported thread: there is no server, so nothing can be sent or changed. */
  readonly isReadOnly: boolean
  /** Changed in place. `tick` is incremented after changes, at most once per frame. */
  readonly log: LogView
  /** All entries read so far. */
  readonly entries: Entry[]
  readonly tick: Signal<number>
  onChange: (change: Change) => void
  readonly connection: Signal<Connection>
  readonly problem: Signal<string>
  /** When the connection was lost and restored, as observed by this page. */
  readonly outages: { readonly from: number; to: number | undefined }[]
  close(): void
}

const pageSize = 10_000
/** The delay before retrying after the client gave up. */
const retryMs = 1000

/** Reads a thread from the start, page by page, and then follows it. */
export function openSession(id: string, connect: (options: ClientOptions) => Client): Session {
  const log = createView()
  const entries: Entry[] = []
  const tick = signal(0)
  const connection = signal<Connection>('loading')
  const problem = signal('')
  const outages: Session['outages'] = []
  const closed = new AbortController()
  /** Aborts the current attempt to follow, so that the next one starts immediately. */
  let attempt = new AbortController()
  let frame = 0
  const reader = connect({ onOpen: onReconnect, onRetry: onDisconnect }).thread(id)

  /** Renders once per frame: deltas arrive more often. A hidden page has no frames. */
  function draw() {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      tick.value++
    })
  }

  function accept(entry: Entry) {
    entries.push(entry)
    session.onChange(applyEntry(log, entry))
  }

  function onDisconnect() {
    if (connection.value === 'reconnecting') return
    // Recorded first: the clock stands still at this time.
    outages.push({ from: Date.now(), to: undefined })
    connection.value = 'reconnecting'
  }

  function onReconnect() {
    connection.value = 'live'
    const last = outages.at(-1)
    if (last) last.to ??= Date.now()
  }

  /** Called when the browser is online again, which may be before the next retry is due. */
  function reconnect() {
    attempt.abort()
  }

  /**
   * Called when the browser goes offline, which it reports before a socket fails. A server on the
   * same machine stays reachable, so the page reconnects once the network is down.
   */
  function reconnectSoon() {
    setTimeout(reconnect, 500)
  }

  async function readAll() {
    for (let more = true; more && !closed.signal.aborted; ) {
      const isFirst = log.head === 0
      const page = await reader.read({ after: log.head, limit: pageSize })
      for (const entry of page) accept(entry)
      more = page.length > 0
      // In between, the chat would only rush past.
      if (isFirst || !more) draw()
    }
  }

  async function follow() {
    while (!closed.signal.aborted) {
      attempt = new AbortController()
      for await (const entry of reader.follow({ after: log.head, signal: attempt.signal })) {
        accept(entry)
        draw()
      }
      // The log of a thread ends only when the thread is deleted.
      if (!attempt.signal.aborted) {
        connection.value = 'gone'
        problem.value = 'This thread was deleted.'
        return
      }
    }
  }

  /** A client gives up on a server that it never reached; the page keeps trying. */
  async function readAndFollow(): Promise<void> {
    try {
      await readAll()
      await follow()
    } catch (error) {
      if (closed.signal.aborted) return
      const { code, message, retryable } = error as MillraceError
      if (retryable) {
        onDisconnect()
        setTimeout(readAndFollow, retryMs)
        return
      }
      const isGone = code === 'not_found'
      connection.value = isGone ? 'gone' : 'failed'
      problem.value = isGone ? "This thread doesn't exist or was deleted." : message
      draw()
    }
  }

  addEventListener('online', reconnect)
  addEventListener('offline', reconnectSoon)
  const thread = connect({}).thread(id)
  const agent = signal('')
  const session: Session = {
    thread,
    agent,
    isReadOnly: false,
    log,
    entries,
    tick,
    onChange() {},
    connection,
    problem,
    outages,
    close() {
      removeEventListener('online', reconnect)
      removeEventListener('offline', reconnectSoon)
      closed.abort()
      attempt.abort()
      cancelAnimationFrame(frame)
    },
  }
  void readAndFollow()
  // Without messages. If it fails, so does reading the thread, which says why.
  thread.state({ before: 1 }).then(
    (state) => (agent.value = state.agent),
    () => {},
  )
  return session
}
