import type { FSWatcher } from 'node:fs'
import { watch } from 'node:fs'
import type { Watchers } from '../watchers.ts'
import { fromColumn } from './rows.ts'
import type { Statements } from './statements.ts'

/**
 * Polls for what other connections have written. Never throws: a file that cannot be read fails in
 * the next call that reads it.
 */
export interface ChangePoller {
  /** Reports what was written after this place, or from now on. */
  start(after?: number): void
  stop(): void
  /** Called after a write by this connection, which is not reported. */
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
 * as much as polling. With 2 ms, the interval is 10 ms after a second. A second after that, the file
 * rests: the first write to it starts frequent polling again. Own writes keep it at 10 ms.
 */
const slowAfter = 500
const restAfter = 600
const slowFactor = 5
/** While the file rests, in case a write is not reported. */
const restFactor = 250
/** The same if the file cannot be watched. */
const unwatchedFactor = 25
/** After a write, until its commit can be read. */
const burst = 100

/**
 * SQLite has no notifications, but `PRAGMA data_version` only reads shared memory, and changes with
 * every commit of another connection (not with ours). Watching the file alone would report a commit
 * before it can be read.
 */
export function changePoller(
  statements: Statements,
  {
    path,
    pollMs,
    watchers,
  }: {
    readonly path: string
    readonly pollMs: number
    readonly watchers: Pick<Watchers, 'changed' | 'runnable'>
  },
): ChangePoller {
  let timer: NodeJS.Timeout | undefined
  /** Set while the file rests. */
  let fileWatcher: FSWatcher | undefined
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
    timer = setTimeout(pollAgain, pollMs * factor())
    timer.unref()
  }

  function pollAgain() {
    schedulePoll()
    const polls = quietPolls
    poll()
    if (quietPolls < polls && timer && fileWatcher) wakeUp()
  }

  function factor(): number {
    if (quietPolls < slowAfter) return 1
    if (quietPolls < restAfter) return slowFactor
    return watchFile() ? restFactor : unwatchedFactor
  }

  /** What was written before is found by the poll that follows. Returns whether the file is watched. */
  function watchFile(): boolean {
    try {
      fileWatcher ??= watch(`${path}-wal`, { persistent: false }, onFileChange).on('error', stopWatching)
    } catch {
      // The system cannot watch it, or no more files.
    }
    return fileWatcher !== undefined
  }

  function stopWatching() {
    fileWatcher?.close()
    fileWatcher = undefined
  }

  function onFileChange() {
    quietPolls = wrote ? slowAfter : slowAfter - burst
    wakeUp()
  }

  function wakeUp() {
    stopWatching()
    clearTimeout(timer)
    pollAgain()
  }

  return {
    start(after) {
      if (timer) return
      version = undefined
      if (after !== undefined) seen = after
      else
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
      stopWatching()
    },
    ownWrite() {
      wrote = true
      quietPolls = Math.min(quietPolls, slowAfter)
    },
  }
}
