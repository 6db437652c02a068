import type { Watchers } from '../watchers.ts'
import { fromColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/**
 * Polls for what other connections have written. Never throws: a file that cannot be read fails in
 * the next call that reads it.
 */
export interface ChangePoller {
  start(): void
  stop(): void
  /** Called after a write by this connection, which is not reported again. */
  ownWrite(): void
}

interface ChangedRow {
  readonly place: number
  readonly id: string
  /** Null for a notice. */
  readonly head: number | null
  readonly runnable: 0 | 1
}

/**
 * Polling backs off after this many polls without a change, since waking up costs a hundred times
 * as much as polling. With 2 ms, the interval is 10 ms after a second and 50 ms after ten. Leases
 * are renewed more often than that, so it reaches 50 ms only if no process runs anything.
 */
const backoff = [
  { polls: 1400, factor: 25 },
  { polls: 500, factor: 5 },
]

/**
 * SQLite has no notifications, but `PRAGMA data_version` only reads shared memory, and changes with
 * every commit of another connection (not with ours). Watching the file instead would report a
 * commit before it can be read.
 */
export function changePoller(
  statements: Statements,
  { pollMs, watchers }: { readonly pollMs: number; readonly watchers: Watchers },
): ChangePoller {
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  let seen = 0
  let wrote = false
  let quietPolls = 0

  const dataVersion = () => (statements.dataVersion.get() as { data_version: number }).data_version
  const lastPlace = () => (statements.lastPlace.get() as { place: number }).place

  function poll() {
    try {
      // Read before the version: if the version is still the same, everything up to this place is
      // ours or was seen.
      const last = wrote ? lastPlace() : seen
      const current = dataVersion()
      if (current === version) {
        seen = last
        wrote = false
        quietPolls++
        return
      }
      quietPolls = 0
      const changed = statements.changedSince.all({ seen }) as unknown as ChangedRow[]
      version = current
      for (const { place, id, head, runnable } of changed) {
        seen = Math.max(seen, place)
        watchers.changed(fromColumn(id), head ?? undefined)
        if (runnable === 1) watchers.runnable()
      }
    } catch {
      // Locked for a moment, or worse. The next poll tries again.
    }
  }

  function schedulePoll() {
    timer = setTimeout(
      () => {
        schedulePoll()
        poll()
      },
      pollMs * (backoff.find(({ polls }) => quietPolls >= polls)?.factor ?? 1),
    )
    timer.unref()
  }

  return {
    start() {
      if (timer) return
      version = undefined
      try {
        // In this order, so that a change in between is reported twice rather than never.
        version = dataVersion()
        seen = lastPlace()
      } catch {
        // The first poll that succeeds then reports more than needed.
        version = undefined
      }
      quietPolls = 0
      schedulePoll()
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
    ownWrite() {
      wrote = true
      quietPolls = 0
    },
  }
}
