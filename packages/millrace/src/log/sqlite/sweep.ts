import { setTimeout as delay } from 'node:timers/promises'
import type { CallerRows } from './callers.ts'
import type { Commits } from './commits.ts'
import type { Statements } from './statements.ts'

// Deleted threads are removed in slices, each in a commit of its own, by any process that finds them: what one leaves when it
// ends, or is killed, the next one to open the file removes. What forks share of a thread stays until the last of them is removed.

/** So many rows, or so much text, are removed in one commit, which takes a few milliseconds. */
const sliceLength = 500
const sliceBytes = 512 * 1024

interface Held {
  readonly n: number
  readonly caller: number | null
  readonly bytes: number
  readonly queued: number
}

interface Hidden extends Held {
  readonly base: number | null
  readonly shared: number | null
}

export interface Sweeper {
  /** Makes a thread invisible, within a transaction of the caller's. What it held of its caller's quotas is given back. */
  hide(thread: Held): void
  /** Removes what is invisible, in the background. */
  start(): void
}

export function sweeper({
  statements,
  callers,
  read,
  writeLater,
  now,
}: Pick<Commits, 'read' | 'writeLater'> & {
  readonly statements: Statements
  readonly callers: CallerRows
  readonly now: () => number
}): Sweeper {
  const op = 'store.delete'
  let sweeping = false

  function hide({ n, caller, bytes, queued }: Held): void {
    callers.count(caller, { bytes: -bytes, waiting: -queued }, now())
    statements.hideThread.run(n)
  }

  function find(): Hidden | undefined {
    return statements.findHidden.get() as unknown as Hidden | undefined
  }

  /** Gives false when nothing is left to remove. */
  function removeSlice(): boolean {
    const thread = find()
    if (!thread) return false
    const { n, base, shared } = thread
    // A fork that an older version left behind still counts for its caller.
    hide(thread)
    if (removeEntries(n, shared ?? 0)) return true
    if (statements.deleteSignals.run({ n, most: sliceLength }).changes > 0) return true
    if (shared !== null) {
      statements.keepHidden.run(n)
      return true
    }
    if (statements.deleteSnapshots.run(n).changes > 0) return true
    statements.deleteSearch.run(n)
    statements.deleteThread.run(n)
    if (base !== null) statements.releaseHidden.run(base)
    return true
  }

  /** Those after a number. */
  function removeEntries(n: number, after: number): boolean {
    let [from, last, bytes] = [0, 0, 0]
    for (const row of statements.entrySizes.iterate({ thread: n, after, most: sliceLength })) {
      const { seq, size } = row as { seq: number; size: number }
      from ||= seq
      last = seq
      bytes += size
      if (bytes >= sliceBytes) break
    }
    if (last === 0) return false
    statements.deleteEntries.run({ thread: n, from, last })
    return true
  }

  async function sweep() {
    while ((await read(op, find)) && (await writeLater(op, removeSlice)))
      // A process that has nothing else to do ends here.
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
