import { setTimeout as delay } from 'node:timers/promises'
import type { CallerRows } from './callers.ts'
import type { Commits } from './commits.ts'
import type { Statements } from './statements.ts'

// Invisible threads are removed in slices, each in a commit of its own, by any process that finds them: what one leaves when it
// ends, or is killed, the next one to open the file removes. A fork that grows is left alone.

/** So many rows, or so much text, are removed in one commit, which takes a few milliseconds. */
const sliceLength = 500
const sliceBytes = 512 * 1024

/** A fork that has not grown for so long was left behind by a process that is gone. */
const abandonedMs = 60_000

interface Held {
  readonly n: number
  readonly caller: number | null
  readonly bytes: number
  readonly queued: number
}

export interface Sweeper {
  /** Makes a thread invisible, within a transaction of the caller's. What it held of its caller's quotas is given back. */
  hide(thread: Held): void
  /** Removes what is invisible, in the background. */
  start(): void
  /** The same for what other processes have left, now and when a fork of theirs counts as abandoned. */
  open(): void
  close(): void
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
  let later: NodeJS.Timeout | undefined

  function hide({ n, caller, bytes, queued }: Held): void {
    callers.count(caller, { bytes: -bytes, waiting: -queued }, now())
    statements.hideThread.run(n)
  }

  function find(): Held | undefined {
    return statements.findHidden.get({ now: now(), abandonedMs }) as unknown as Held | undefined
  }

  /** Gives false when nothing is left to remove. */
  function removeSlice(): boolean {
    const thread = find()
    if (!thread) return false
    const { n } = thread
    // A fork that was left behind still counts for its caller.
    hide(thread)
    if (removeEntries(n) || statements.deleteSignals.run({ n, most: sliceLength }).changes > 0) return true
    if (statements.deleteSnapshots.run(n).changes > 0) return true
    statements.deleteSearch.run(n)
    statements.deleteThread.run(n)
    return true
  }

  function removeEntries(n: number): boolean {
    let last: number | undefined
    let bytes = 0
    for (const row of statements.entrySizes.iterate({ thread: n, most: sliceLength })) {
      const { seq, size } = row as { seq: number; size: number }
      last = seq
      bytes += size
      if (bytes >= sliceBytes) break
    }
    if (last === undefined) return false
    statements.deleteEntries.run({ thread: n, last })
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

  return {
    hide,
    start,
    open() {
      start()
      later = setTimeout(start, abandonedMs + 1000)
      later.unref()
    },
    close: () => clearTimeout(later),
  }
}
