import type { WatchListener } from '../store.ts'
import { fromColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/** Looks for what other connections have written. Never throws: a file that cannot be read is told to whoever reads it. */
export interface Changes {
  start(): void
  stop(): void
  /** We have written something ourselves: nobody needs to be told of that again. */
  wrote(): void
}

interface ChangedRow {
  readonly place: number
  readonly id: string
  /** Null for a notice. */
  readonly head: number | null
}

/**
 * After so many looks in vain, so much more seldom: waking up costs a hundred times what looking does. With 2 ms that is 10 ms after a
 * second, and 50 ms after ten. Leases are renewed more often than that, so it takes 50 only if no process runs anything.
 */
const pauses = [
  { looks: 1400, factor: 25 },
  { looks: 500, factor: 5 },
]

/**
 * SQLite has no notifications, but `PRAGMA data_version` costs a look into shared memory and changes with every commit of somebody
 * else (not with ours). Watching the file instead tells of a commit before it can be read.
 */
export function changes(
  statements: Statements,
  { pollMs, onChange }: { readonly pollMs: number; readonly onChange: WatchListener },
): Changes {
  let timer: NodeJS.Timeout | undefined
  let version: unknown
  let seen = 0
  let wrote = false
  let quiet = 0

  const dataVersion = () => (statements.dataVersion.get() as { data_version: number }).data_version
  const lastPlace = () => (statements.lastPlace.get() as { place: number }).place

  function look() {
    try {
      // Before the version is looked at: if that is still the same, all up to this place is ours or was seen.
      const last = wrote ? lastPlace() : seen
      const current = dataVersion()
      if (current === version) {
        seen = last
        wrote = false
        quiet++
        return
      }
      quiet = 0
      const changed = statements.changedSince.all({ seen }) as unknown as ChangedRow[]
      version = current
      for (const { place, id, head } of changed) {
        seen = Math.max(seen, place)
        onChange(fromColumn(id), head ?? undefined)
      }
    } catch {
      // Locked for a moment, or worse; the next look will tell.
    }
  }

  function lookLater() {
    timer = setTimeout(
      () => {
        lookLater()
        look()
      },
      pollMs * (pauses.find(({ looks }) => quiet >= looks)?.factor ?? 1),
    )
    timer.unref()
  }

  return {
    start() {
      if (timer) return
      version = undefined
      try {
        // In this order: what comes in between is then looked at once more, instead of never.
        version = dataVersion()
        seen = lastPlace()
      } catch {
        // The first look that succeeds then tells of more than is needed.
        version = undefined
      }
      quiet = 0
      lookLater()
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
    wrote() {
      wrote = true
      quiet = 0
    },
  }
}
