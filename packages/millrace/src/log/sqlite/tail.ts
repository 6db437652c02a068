import type { Commits } from './commits.ts'
import type { Statements } from './statements.ts'

// New entries are written to `tail` and moved from there to `entries`: see schema.ts.

/** How many entries one commit moves at least, and for each thread that writes. */
const sliceLength = 1024
const sliceOfThread = 16

export interface TailMover {
  /** Moves entries in the background if there are many. `threads` is how many wrote the last ones. */
  moveIfLong(threads: number): void
  /** Resolves when the table is empty, or cannot be written. */
  moveAll(): Promise<void>
}

export function tailMover(sql: Statements, writeLater: Commits['writeLater']): TailMover {
  let moving: Promise<void> | undefined

  const length = () => (sql.tailLength.get() as { length: number }).length

  /** Moves the oldest entries. */
  function moveSlice(most: number) {
    const { place } = sql.lastOfSlice.get(most) as { place: number | null }
    if (place === null) return
    sql.copyTail.run(place)
    sql.deleteTail.run(place)
  }

  async function move(most: number, least: number) {
    while (length() > least) await writeLater('store.append', () => moveSlice(most))
  }

  function start(most: number, least: number) {
    // What cannot be moved now can be read where it is, and is moved later.
    moving ??= move(most, least)
      .catch(() => {})
      .finally(() => {
        moving = undefined
      })
    return moving
  }

  return {
    moveIfLong(threads) {
      const most = Math.max(sliceLength, threads * sliceOfThread)
      if (!moving && length() >= most) void start(most, most - 1)
    },
    async moveAll() {
      await moving
      await start(sliceLength, 0)
    },
  }
}

/** Moves all entries of a thread, within a transaction. */
export function moveTailOf(sql: Statements, thread: number): void {
  if (sql.copyTailOf.run({ thread }).changes > 0) sql.deleteTailOf.run({ thread })
}
