import type { StatementSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { CallerRows } from './callers.ts'
import type { Commits, Reads } from './commits.ts'
import type { Statements } from './statements.ts'

// Deleted threads are removed in slices, each in its own commit, by any process that finds them.
// What a process leaves when it ends or is killed, the next one to open the file removes. The part
// of a thread that forks share is kept until the last of them is removed.

/** How many rows, or how much text, one commit removes. That takes a few milliseconds. */
const sliceLength = 500
const sliceBytes = 512 * 1024

interface CountedThread {
  readonly n: number
  readonly caller: number | null
  readonly bytes: number
  readonly queued: number
}

interface HiddenThread extends CountedThread {
  readonly base: number | null
  readonly shared: number | null
}

export interface Sweeper {
  /**
   * Hides a thread, within the caller's transaction, and returns what it used of its caller's
   * quotas.
   */
  hide(thread: CountedThread): void
  /** Removes hidden threads in the background. */
  start(): void
}

export function sweeper({
  statements,
  callers,
  read,
  writeLater,
  now,
}: Pick<Reads, 'read'> &
  Pick<Commits, 'writeLater'> & {
    readonly statements: Statements
    readonly callers: CallerRows
    readonly now: () => number
  }): Sweeper {
  const op = 'store.delete'
  let sweeping = false

  function hide({ n, caller, bytes, queued }: CountedThread): void {
    callers.count(caller, { bytes: -bytes, waiting: -queued }, now())
    statements.hideThread.run(n)
  }

  function find(): HiddenThread | undefined {
    return statements.findHidden.get() as unknown as HiddenThread | undefined
  }

  /** Returns false when nothing is left to remove. */
  function removeSlice(): boolean {
    const thread = find()
    if (!thread) return false
    const { n, base, shared } = thread
    // A fork left behind by an older version still counts for its caller.
    hide(thread)
    if (removeRows(statements.entrySizes, statements.deleteEntries, n, shared ?? 0)) return true
    if (removeRows(statements.textSizes, statements.deleteTexts, n, shared ?? 0)) return true
    if (statements.deleteSignals.run({ n, most: sliceLength }).changes > 0) return true
    if (shared !== null) {
      statements.keepHidden.run(n)
      return true
    }
    if (statements.deleteSnapshots.run(n).changes > 0) return true
    statements.deleteTools.run(n)
    statements.deleteSearch.run(n)
    statements.deleteThread.run(n)
    if (base !== null) statements.releaseHidden.run(base)
    return true
  }

  /** Removes a slice of the rows after a number. Returns false if there are none. */
  function removeRows(sizes: StatementSync, remove: StatementSync, n: number, after: number): boolean {
    let [from, last, bytes] = [0, 0, 0]
    for (const row of sizes.iterate({ thread: n, after, most: sliceLength })) {
      const { seq, size } = row as { seq: number; size: number }
      from ||= seq
      last = seq
      bytes += size
      if (bytes >= sliceBytes) break
    }
    if (last === 0) return false
    remove.run({ thread: n, from, last })
    return true
  }

  async function sweep() {
    while ((await read(op, find)) && (await writeLater(op, removeSlice)))
      // Does not keep a process alive that has nothing else to do.
      await delay(1, undefined, { ref: false })
  }

  function start() {
    if (sweeping) return
    sweeping = true
    sweep()
      // The file is closed, or cannot be written: the next process to open it continues.
      .catch(() => {})
      .finally(() => {
        sweeping = false
      })
  }

  return { hide, start }
}
