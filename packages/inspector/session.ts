import type { Signal } from '@preact/signals'
import { signal } from '@preact/signals'
import type { Client, ClientOptions, Entry, MillraceError, RemoteThread } from 'millrace/client'
import type { Change, LogView } from 'millrace/view'
import { createView, take } from 'millrace/view'

/**
 * - `loading`: what there is already is being read
 * - `live`: what happens is shown as it happens
 * - `away`: the connection is lost and will come back by itself
 * - `gone`: there is no such thread, or it was deleted
 * - `failed`: it cannot be read, and `problem` says why
 */
type Connection = 'loading' | 'live' | 'away' | 'gone' | 'failed'

/** A thread that is being looked at. */
export interface Session {
  readonly thread: RemoteThread
  /** Changed in place; `tick` grows when it was, once a frame at most. */
  readonly log: LogView
  /** All that was read, as it came. */
  readonly entries: Entry[]
  readonly tick: Signal<number>
  onChange: (change: Change) => void
  readonly connection: Signal<Connection>
  readonly problem: Signal<string>
  /** When the connection was lost, and came back, as far as this page has seen. */
  readonly absences: { readonly from: number; to: number | undefined }[]
  close(): void
}

const pageSize = 10_000
/** So long after the client has given up it is asked to try again. */
const againMs = 1000

/** Reads a thread from its beginning, page by page, and then follows it. */
export function openSession(id: string, connect: (options: ClientOptions) => Client): Session {
  const log = createView()
  const entries: Entry[] = []
  const tick = signal(0)
  const connection = signal<Connection>('loading')
  const problem = signal('')
  const absences: Session['absences'] = []
  const closed = new AbortController()
  /** Ends one attempt at following, for the next to begin at once. */
  let attempt = new AbortController()
  let frame = 0
  const reader = connect({ onOpen: cameBack, onRetry: wentAway }).thread(id)

  /** Words come more often than a screen is drawn. A page that is hidden draws nothing, and has no frames. */
  function draw() {
    frame ||= requestAnimationFrame(() => {
      frame = 0
      tick.value++
    })
  }

  function accept(entry: Entry) {
    entries.push(entry)
    session.onChange(take(log, entry))
  }

  function wentAway() {
    if (connection.value === 'away') return
    connection.value = 'away'
    absences.push({ from: Date.now(), to: undefined })
  }

  function cameBack() {
    connection.value = 'live'
    const last = absences.at(-1)
    if (last) last.to ??= Date.now()
  }

  /** The browser knows that there is a network again before the next try is due. */
  function tryAnew() {
    attempt.abort()
  }

  /**
   * It knows too that the network goes, before a socket falls silent. A server on the same machine is there with or without one, so it
   * is tried anew, when what goes has gone.
   */
  function tryAnewSoon() {
    setTimeout(tryAnew, 500)
  }

  async function readAll() {
    for (let more = true; more && !closed.signal.aborted; ) {
      const page = await reader.read({ after: log.head, limit: pageSize })
      for (const entry of page) accept(entry)
      draw()
      more = page.length > 0
    }
  }

  async function follow() {
    while (!closed.signal.aborted) {
      attempt = new AbortController()
      for await (const entry of reader.follow({ after: log.head, signal: attempt.signal })) {
        accept(entry)
        draw()
      }
      // A log ends by itself only when its thread is deleted.
      if (!attempt.signal.aborted) {
        connection.value = 'gone'
        problem.value = 'This thread was deleted.'
        return
      }
    }
  }

  /** A client gives up on a server that it has never reached. Whoever looks at the page waits for it. */
  async function work(): Promise<void> {
    try {
      await readAll()
      await follow()
    } catch (error) {
      if (closed.signal.aborted) return
      const { code, message, retryable } = error as MillraceError
      if (retryable) {
        wentAway()
        setTimeout(work, againMs)
        return
      }
      const isGone = code === 'not_found'
      connection.value = isGone ? 'gone' : 'failed'
      problem.value = isGone ? 'There is no such thread.' : message
      draw()
    }
  }

  addEventListener('online', tryAnew)
  addEventListener('offline', tryAnewSoon)
  const session: Session = {
    thread: connect({}).thread(id),
    log,
    entries,
    tick,
    onChange() {},
    connection,
    problem,
    absences,
    close() {
      removeEventListener('online', tryAnew)
      removeEventListener('offline', tryAnewSoon)
      closed.abort()
      attempt.abort()
      cancelAnimationFrame(frame)
    },
  }
  void work()
  return session
}
