import type { CallView, Row } from 'millrace/view'
import { failureText, isFinal, repeatsOf } from './call-state.ts'

/** What the list shows as one: a row, or finished calls in a row. */
export interface Item {
  readonly key: string
  /** The row, or the first call of the group. */
  readonly row: Row
  /** The calls of a group, in order. Absent if it is a single row. */
  readonly calls?: readonly [CallView, CallView, ...CallView[]]
}

/** A longer group is split, since an open group renders all its calls. */
const maxGroup = 100

/**
 * Turns the rows of a log into items. Called for every frame: only rows that can still be grouped in
 * another way are read again, so the cost does not depend on the length of the log.
 *
 * A call joins a group once something follows its round. A finished line is then replaced by the
 * line of its group when a new row appears anyway, and nothing else moves.
 */
export function createItems(): (rows: readonly Row[]) => readonly Item[] {
  const items: Item[] = []
  /** Everything before these is final. */
  let doneItems = 0
  let doneRows = 0
  let lastDone: Row | undefined

  function startOver(): void {
    doneItems = doneRows = 0
    lastDone = undefined
  }

  return (rows) => {
    // Rows were replaced: a rewind, or a retracted round.
    if (doneRows > 0 && rows[doneRows - 1] !== lastDone) startOver()
    items.length = doneItems
    const folded = trailingCalls(rows)
    let group: CallView[] = []
    let isStable = true
    const close = () => {
      const [row, second, ...rest] = group
      if (row) items.push({ key: row.key, row, ...(second && { calls: [row, second, ...rest] }) })
      group = []
    }
    for (let index = doneRows; index < rows.length; index++) {
      const row = rows[index] as Row
      const before = rows[index - 1]
      if (!before || !canJoin(before, row) || group.length === maxGroup) {
        close()
        if (isStable && index <= folded) {
          doneItems = items.length
          doneRows = index
          lastDone = before
        }
      }
      isStable &&= row.kind !== 'call' || isFinal(row)
      if (row.kind === 'call' && index < folded && groupOf(row) && !isRepeat(row)) {
        group.push(row)
        continue
      }
      close()
      if (!isRepeat(row)) items.push({ key: row.key, row })
    }
    close()
    return items
  }
}

/** The index of the first of the last rows, if those are calls of one round. */
function trailingCalls(rows: readonly Row[]): number {
  const last = rows.at(-1)
  let from = rows.length
  if (last?.kind !== 'call') return from
  for (let row = rows[from - 1]; row?.kind === 'call' && row.round === last.round; row = rows[from - 1])
    from--
  return from
}

/**
 * What the calls of a group have in common: they succeeded, or were blocked for the same reason.
 * Failed calls are always visible, and so are images.
 */
function groupOf(call: CallView): string | undefined {
  const { state, budget, result } = call
  if (budget || result?.output.some(({ type }) => type === 'image')) return undefined
  return state === 'ok' ? state : state === 'blocked' ? failureText(call) || state : undefined
}

/** Whether two rows may be in one group, now or later. */
function canJoin(before: Row, row: Row): boolean {
  if (before.kind !== 'call' || row.kind !== 'call') return false
  const [one, other] = [before, row].map((call) => (isFinal(call) ? groupOf(call) : 'any'))
  return one !== undefined && other !== undefined && (one === other || one === 'any' || other === 'any')
}

/** Repeats of a denied call are counted in the first one. */
function isRepeat(row: Row): boolean {
  return (
    row.kind === 'call' && (row.state === 'denied' || row.state === 'blocked') && repeatsOf(row)[0] !== row
  )
}
